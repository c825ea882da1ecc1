"""On a real terminal: colours unless they are unwanted, a picture of progress, and Ctrl-C that ends it politely."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.served import simulated

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "nccl-all-reduce-bandwidth.yaml")
COLOUR = "\x1b[1;32m"


def on_terminal(
    *words: str, environment: dict[str, str] | None = None, until: Callable[[str], bool] | None = None
) -> tuple[int, str]:
    """Run the program on a terminal of its own; ``until`` tells when to press Ctrl-C."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **(environment or {})}
    command = [sys.executable, "-m", "cli.main", *words]
    with _heeding_ctrl_c():
        process = subprocess.Popen(command, stdout=secondary, stderr=secondary, cwd=ROOT, env=environment)
    os.close(secondary)
    seen, deadline = "", time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([primary], [], [], 0.2)
        if ready:
            try:
                content = os.read(primary, 65536)
            except OSError:  # what Linux says of a terminal that nobody holds any more
                break
            seen += content.decode(errors="replace")
        if until is not None and until(seen):
            process.send_signal(signal.SIGINT)
            until = None
    os.close(primary)
    return process.wait(60), seen


@contextmanager
def _heeding_ctrl_c() -> Iterator[None]:
    """Start programs as a terminal does: what a shell starts in the background, these tests too, ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def without_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_a_terminal_gets_colours_unless_they_are_unwanted() -> None:
    words = ("simulate", EXAMPLE, "--nodes", "aws/h100x8")
    assert COLOUR in on_terminal(*words)[1]
    assert COLOUR not in on_terminal(*words, "--no-color")[1]
    assert COLOUR not in on_terminal(*words, environment={"NO_COLOR": "1"})[1]


def test_ctrl_c_takes_the_picture_away_and_leaves_the_run_alone(tmp_path: Path) -> None:
    with simulated(tmp_path) as served:
        environment = {"KUBECONFIG": str(served.kubeconfig)}
        code, seen = on_terminal(
            "run", EXAMPLE, "--wait", environment=environment, until=lambda text: "pending" in text
        )
        assert code == 130, seen
        assert "2 pending" in seen
        assert "workloadrun status nccl-all-reduce-bandwidth --wait" in seen
        assert "Traceback" not in seen
        assert served.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", "nccl-all-reduce-bandwidth")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m cli.main explain spec --recursive | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("workloadrun.spec <Object>")


def test_a_locale_without_unicode_breaks_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "simulate", EXAMPLE, "--nodes", "aws/h100x4", "-o", "markdown"],
        cwd=ROOT,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "✅".encode() in done.stdout


def test_help_needs_no_cluster_and_names_every_command() -> None:
    called = call("--help")
    assert called.code == 0
    for name in (
        "cancel",
        "completion",
        "explain",
        "init",
        "render",
        "report",
        "run",
        "simulate",
        "status",
        "validate",
    ):
        assert f"  {name} " in called.out
        assert call(name, "--help").code == 0
