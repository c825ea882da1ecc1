"""The scripts of MPI pods, run for real in a folder that stands for the pod's file system."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sync_hooks.execution.mpirun import named_by_mpirun
from sync_hooks.runtimes import ssh

KEYS = ("id_rsa", "id_rsa.pub", "authorized_keys")
TOOLS = ("cat", "chmod", "cp", "cut", "date", "grep", "ls", "mkdir", "sh", "timeout")
PACKAGE_MANAGERS = ("apt", "apt-get", "yum", "dnf", "apk", "microdnf", "zypper", "curl", "wget")


class Pod:
    """A folder with the tools of an image; a tool that is not linked is not in the image."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in (
            "bin",
            "root",
            "tmp/mpi-ssh-raw",
            "etc/mpi",
            "etc/ssh",
            "usr/sbin",
            "var/run",
            "dev",
            "proc/net",
        ):
            (root / folder).mkdir(parents=True)
        for key in KEYS:
            (root / "tmp/mpi-ssh-raw" / key).write_text(key)
        for tool in TOOLS:
            (root / "bin" / tool).symlink_to(
                next(path for path in (Path("/bin", tool), Path("/usr/bin", tool)) if path.exists())
            )
        self.tool("hostname", "echo demo-launcher-0-0")
        self.tool("sleep", f'echo "$1" >>{root}/slept')
        for manager in PACKAGE_MANAGERS:
            self.tool(manager, f"echo {manager} >>{root}/installed; exit 1")

    def tool(self, name: str, body: str, folder: str = "bin") -> None:
        path = self.root / folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def hostfile(self, *hosts: str) -> None:
        (self.root / "etc/mpi/hostfile").write_text("".join(f"{host} slots=8\n" for host in hosts))

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        for path in ("/root", "/tmp/mpi-ssh-raw", "/etc/", "/usr/sbin", "/var/run", "/dev/termination-log", "/proc/"):
            script = script.replace(path, f"{self.root}{path}")
        environment = {"PATH": str(self.root / "bin")}
        return subprocess.run(
            ["/bin/sh", "-c", script], capture_output=True, text=True, env=environment, timeout=30, check=False
        )

    def termination_log(self) -> str:
        path = self.root / "dev/termination-log"
        return path.read_text() if path.exists() else ""

    def installed(self) -> bool:
        return (self.root / "installed").exists()


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_a_worker_prepares_its_keys_and_becomes_sshd(pod: Pod):
    pod.tool("sshd", "echo started $@", "usr/sbin")
    pod.tool("ssh-keygen", f"echo $@ >{pod.root}/etc/ssh/made")
    result = pod.run(ssh.WORKER_START)
    assert (result.returncode, result.stdout) == (0, "started -De\n")
    modes = {key: oct((pod.root / "root/.ssh" / key).stat().st_mode & 0o777) for key in KEYS}
    assert modes == {"id_rsa": "0o600", "id_rsa.pub": "0o644", "authorized_keys": "0o644"}
    assert (pod.root / "root/.ssh").stat().st_mode & 0o777 == 0o700
    assert (pod.root / "etc/ssh/made").read_text() == "-A\n"
    assert not pod.installed()


def test_a_worker_keeps_the_host_keys_of_its_image(pod: Pod):
    pod.tool("sshd", "true", "usr/sbin")
    pod.tool("ssh-keygen", "exit 1")
    (pod.root / "etc/ssh/ssh_host_ed25519_key").write_text("key")
    assert pod.run(ssh.WORKER_START).returncode == 0


def test_a_worker_without_sshd_fails_at_once_and_says_so(pod: Pod):
    result = pod.run(ssh.WORKER_START)
    assert result.returncode == 1
    assert "/usr/sbin/sshd is missing" in pod.termination_log()
    assert not pod.installed()


def test_a_worker_without_keys_fails(pod: Pod):
    pod.tool("sshd", "true", "usr/sbin")
    (pod.root / "tmp/mpi-ssh-raw/id_rsa").unlink()
    assert pod.run(ssh.WORKER_START).returncode != 0


def test_the_launcher_waits_until_every_worker_answers(pod: Pod):
    pod.hostfile("demo-node-0-0.demo", "demo-node-0-1.demo")
    pod.tool("getent", "true")
    count = f"$(grep -c 0-1 {pod.root}/calls)"
    pod.tool("ssh", f'echo $@ >>{pod.root}/calls; case "$*" in *0-1*) [ "{count}" -gt 2 ] || exit 255;; esac')
    result = pod.run(ssh.LAUNCHER_INIT)
    assert result.returncode == 0, result.stderr
    calls = (pod.root / "calls").read_text().splitlines()
    assert sum("demo-node-0-0.demo" in call for call in calls) == 1
    assert sum("demo-node-0-1.demo" in call for call in calls) == 3
    assert (pod.root / "slept").read_text() == "5\n5\n"
    assert (pod.root / "root/.ssh/id_rsa").stat().st_mode & 0o777 == 0o600
    assert not pod.installed()


def test_the_launcher_gives_up_in_time_and_names_who_is_silent(pod: Pod):
    pod.hostfile("demo-node-0-0.demo", "demo-node-0-1.demo")
    pod.tool("getent", "true")
    pod.tool("ssh", 'case "$*" in *0-1*) echo "Connection refused"; exit 255;; esac')
    (pod.root / "bin/date").unlink()
    pod.tool("date", f"echo x >>{pod.root}/ticks; echo $(( $(grep -c x {pod.root}/ticks) * 300 ))")
    result = pod.run(ssh.LAUNCHER_INIT)
    assert result.returncode == 1
    assert "no answer from demo-node-0-1.demo: Connection refused" in pod.termination_log()
    assert list(named_by_mpirun({"demo-node-0-0": "n0", "demo-node-0-1": "n1"}, result.stderr)) == ["n1"]
    assert "demo-node-0-0" not in pod.termination_log()


def test_the_launcher_waits_for_its_own_name_too(pod: Pod):
    pod.hostfile("demo-node-0-0.demo")
    pod.tool("ssh", "true")
    pod.tool("getent", f'echo $2 >>{pod.root}/asked; [ "$(grep -c demo {pod.root}/asked)" -gt 3 ]')
    assert pod.run(ssh.LAUNCHER_INIT).returncode == 0
    assert (pod.root / "asked").read_text().split()[:2] == ["demo-launcher-0-0", "demo-launcher-0-0.demo"]
    assert (pod.root / "slept").read_text() == "5\n"


@pytest.mark.parametrize("hostfile", [None, ()], ids=["missing", "empty"])
def test_a_hostfile_without_workers_fails(pod: Pod, hostfile):
    pod.tool("ssh", "true")
    if hostfile is not None:
        pod.hostfile(*hostfile)
    assert pod.run(ssh.LAUNCHER_INIT).returncode == 1
    assert "hostfile" in pod.termination_log()


def test_the_launcher_does_not_wait_for_itself(pod: Pod):
    pod.hostfile("demo-launcher-0-0.demo")
    pod.tool("ssh", "exit 255")
    assert pod.run(ssh.LAUNCHER_INIT).returncode == 0


def test_a_launcher_without_ssh_fails_at_once_and_says_so(pod: Pod):
    pod.hostfile("demo-node-0-0.demo")
    assert pod.run(ssh.LAUNCHER_INIT).returncode == 1
    assert "ssh is missing" in pod.termination_log()


PROBE = ssh.readiness_probe()["exec"]["command"][2]
LISTEN = "   0: 00000000:0016 00000000:0000 0A 00000000:00000000\n"
ESTABLISHED = "   0: 0100007F:0016 0100007F:A3B2 01 00000000:00000000\n"


@pytest.mark.parametrize(("code", "ready"), [(0, True), (255, False)])
def test_a_worker_is_ready_when_a_session_to_itself_works(pod: Pod, code, ready):
    pod.tool("ssh", f"echo $@ >{pod.root}/called; exit {code}")
    assert (pod.run(PROBE).returncode == 0) is ready
    assert (pod.root / "called").read_text().strip().endswith("127.0.0.1 true")


@pytest.mark.parametrize(
    ("tcp", "tcp6", "ready"),
    [
        (LISTEN, "", True),
        ("", "   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A\n", True),
        (ESTABLISHED, "", False),
        ("", "", False),
    ],
)
def test_without_a_client_a_listener_on_port_22_counts(pod: Pod, tcp, tcp6, ready):
    (pod.root / "proc/net/tcp").write_text(tcp)
    (pod.root / "proc/net/tcp6").write_text(tcp6)
    assert (pod.run(PROBE).returncode == 0) is ready
