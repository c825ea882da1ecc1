"""The Dockerfile is followed as a whole: whatever is not understood is refused, never skipped."""

from __future__ import annotations

import pytest

from tests.e2e.archive import PATH
from tests.e2e.dockerfile import Copy, NotUnderstood, Run, parse
from tests.e2e.product_image import DOCKERFILE


def test_every_step_of_ours_is_a_step_here() -> None:
    first, last = parse(DOCKERFILE.read_text(), PATH)
    lines = [line.partition(" ")[0] for line in DOCKERFILE.read_text().splitlines()]
    assert sum(isinstance(step, Run) for step in first.steps) == lines.count("RUN")
    assert sum(isinstance(step, Copy) for stage in (first, last) for step in stage.steps) == lines.count("COPY")
    assert last.entrypoint[0] == "gunicorn"
    assert last.environment["PATH"] == f"/opt/workloadrun/bin:{PATH}"
    assert (last.user, last.directory) == ("65532:65532", "/tmp")


def test_a_step_has_the_variables_and_the_directory_that_were_set_before_it() -> None:
    text = "FROM a AS b\nENV X=1 Y='two words'\nWORKDIR /src\n# a comment\nRUN one \\\n && two\nENV X=$X:2\nRUN three\n"
    [stage] = parse(text, "/bin")
    assert stage.steps == [
        Run("one   && two", "/src", {"PATH": "/bin", "X": "1", "Y": "two words"}),
        Run("three", "/src", {"PATH": "/bin", "X": "1:2", "Y": "two words"}),
    ]
    assert (stage.base, stage.name) == ("a", "b")


@pytest.mark.parametrize(
    ("step", "copy"),
    [
        pytest.param("COPY a b ./", Copy(("a", "b"), "/src/"), id="into the directory"),
        pytest.param("COPY a a", Copy(("a",), "/src/a"), id="beside it"),
        pytest.param("COPY --from=build /x /y", Copy(("/x",), "/y", "build"), id="of another stage"),
    ],
)
def test_files_are_taken_over_to_where_it_says(step: str, copy: Copy) -> None:
    [stage] = parse(f"FROM a\nWORKDIR /src\n{step}\n", "/bin")
    assert stage.steps == [copy]


@pytest.mark.parametrize("text", ["RUN a", "FROM a\nADD b c", "FROM a\nCOPY --chown=1 b c", "FROM a\nHEALTHCHECK NONE"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse(text, "/bin")
