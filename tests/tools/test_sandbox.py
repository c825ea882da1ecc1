"""What runs in the sandbox of the real nodes leaves nothing behind, and they are only prepared where they can run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e import packages, sandbox

UNTIDY = """
mount -t tmpfs "$WORKLOADRUN_E2E_GROUP" "$WORKLOADRUN_E2E_FOLDER" && ip link add left type dummy
for root in /sys/fs/cgroup/*/"$WORKLOADRUN_E2E_GROUP" /sys/fs/cgroup/"$WORKLOADRUN_E2E_GROUP"; do
  if [ -d "$root" ]; then mkdir "$root/inner"; fi
done
setsid sleep "$LEFT" &
exit "$CODE"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def commands() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_text())
        except OSError:
            continue  # it has just ended
    return found


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux and root")
@pytest.mark.parametrize("code", [0, 3])
def test_nothing_of_a_command_stays(cache: Path, capfd: pytest.CaptureFixture[str], code: int) -> None:
    left = f"3600.{os.getpid()}"
    handler = signal.getsignal(signal.SIGTERM)
    environment = {**os.environ, "LEFT": left, "CODE": str(code)}
    assert sandbox.run(["sh", "-c", UNTIDY], environment) == code, capfd.readouterr().err
    assert not [command for command in commands() if left in command]
    assert sandbox.PREFIX not in Path("/proc/mounts").read_text()
    assert not Path("/sys/class/net/left").exists()
    assert list(sandbox.GROUPS.glob(f"**/{sandbox.PREFIX}*-*")) == []
    assert signal.getsignal(signal.SIGTERM) == handler
    kept = list(sandbox.runs().iterdir())
    assert len(kept) == (1 if code else 0)  # with the logs of a run that failed


@pytest.mark.parametrize(
    ("platform", "user", "message"),
    [("darwin", 0, "need Linux"), ("linux", 1000, "need root")],
    ids=["another system", "not root"],
)
def test_where_nodes_cannot_run_it_is_said(
    monkeypatch: pytest.MonkeyPatch, platform: str, user: int, message: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("os.geteuid", lambda: user)
    with pytest.raises(packages.CannotRun, match=message):
        packages.require_machine()


def test_what_is_installed_is_said_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = tmp_path / "told"
    installer = tmp_path / "apt-get"
    installer.write_text(f'#!/bin/sh\n[ -s {told} ] || exit 1\necho "$@" >>{tmp_path}/called\n')
    installer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(packages, "PACKAGES", {"there": "sh", "absent": "no-such-program"})

    def say(line: str) -> None:
        told.write_text(line)

    packages.ensure(say)
    assert told.read_text() == "installing Debian packages: absent"
    calls = (tmp_path / "called").read_text().splitlines()
    assert calls == ["update", "install --yes --no-install-recommends absent"]
