"""Components are stopped by their own pid: politely, then by force, and never anybody else's process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.processes import StartFailed, free_ports, listens, running, start, stop, wait_until

OBEDIENT = "import signal; signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
BROKEN = "raise SystemExit('no such flag')"


def python(run: Path, code: str) -> list[str]:
    return [sys.executable, "-c", code, str(run)]


def test_a_component_that_obeys_is_gone_after_stop(tmp_path: Path) -> None:
    start(tmp_path, "one", python(tmp_path, OBEDIENT))
    assert running(tmp_path, "one")
    stop(tmp_path, ["one"])
    assert running(tmp_path, "one") is None


def test_a_component_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    start(tmp_path, "one", python(tmp_path, STUBBORN))
    wait_until(lambda: "up" in (tmp_path / "one.log").read_text(), tmp_path, "one", 10)
    stop(tmp_path, ["one"], grace=0.2)
    assert running(tmp_path, "one") is None


def test_a_component_that_ends_while_starting_is_reported_with_its_log(tmp_path: Path) -> None:
    start(tmp_path, "one", python(tmp_path, BROKEN))
    with pytest.raises(StartFailed, match="one ended while starting:\nno such flag"):
        wait_until(lambda: False, tmp_path, "one", 10)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", OBEDIENT])
    yield process
    process.kill()
    process.wait()


def test_a_process_that_took_over_a_stale_pid_is_left_alone(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    (tmp_path / "one.pid").write_text(str(stranger.pid))
    stop(tmp_path, ["one"])
    assert stranger.poll() is None


def test_free_ports_are_different_and_nobody_listens_there() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert not any(listens("127.0.0.1", port) for port in ports)
