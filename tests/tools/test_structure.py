"""The check of lengths names what is long and fails on what is too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.structure import findings, main


def function(lines: int, docstring: str = "") -> str:
    body = [f"    {docstring}"] if docstring else []
    return "\n".join(["def long():", *body, *["    pass"] * (lines - 1)]) + "\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param(function(40), [], id="a function of 40 lines is fine"),
        pytest.param(function(41), ["over 40, fails over 60"], id="one of 41 is named"),
        pytest.param(function(61), ["more than 60"], id="one of 61 fails"),
        pytest.param(function(40, '"""One."""'), [], id="a docstring does not count"),
        pytest.param("pass\n" * 201, ["over 200, fails over 400"], id="a file of 201 lines is named"),
        pytest.param("pass\n" * 401, ["more than 400"], id="one of 401 fails"),
    ],
)
def test_what_is_long_is_found(source: str, said: list[str]) -> None:
    assert [str(finding).rpartition(": ")[2] for finding in findings("a.py", source)] == said


def test_a_folder_with_something_too_long_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(function(61))
    assert main([str(tmp_path)]) == 1
    assert "a.py:1: long has 61 lines: more than 60" in capsys.readouterr().out


def test_a_folder_without_files_is_no_success(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 1
