"""What is generated is what its sources say; what is stale, edited or left over is named."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cli.inputs import shipped_profiles
from tools.generate import HEADER, PROFILES, ROOT, generated, main


def test_the_chart_installs_the_log_profiles_of_the_package() -> None:
    files = sorted((ROOT / PROFILES).glob("*.yaml"))
    assert [yaml.safe_load(file.read_text("utf-8")) for file in files] == list(shipped_profiles())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that is generated."""
    folder = tmp_path_factory.mktemp("generated")
    assert main([str(folder)]) == 0
    return folder


def test_what_was_written_is_up_to_date(written: Path) -> None:
    assert main(["--verify", str(written)]) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("nccl-bandwidth.yaml", "edited: by hand\n", id="an edited copy"),
        pytest.param("gone.yaml", HEADER, id="a copy of what is no more"),
    ],
)
def test_a_stale_log_profile_of_the_chart_is_named(
    written: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    (written / PROFILES / name).write_text(text, "utf-8")
    assert main(["--verify", str(written)]) == 1
    assert f"stale: {PROFILES}/{name}" in capsys.readouterr().err
    assert main([str(written)]) == 0
    assert (written / PROFILES / name).exists() == (f"{PROFILES}/{name}" in generated())
