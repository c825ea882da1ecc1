"""The Debian packages that real nodes are made of and reports are looked at with: which are missing, how they come.

Installs only what is missing, and only after saying so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "iproute2": "ip",
    "iptables": "iptables",
    "debootstrap": "debootstrap",
    "debian-archive-keyring": "/usr/share/keyrings/debian-archive-keyring.gpg",
    "chromium": "chromium",
    "fonts-dejavu-core": "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "libxml2-utils": "xmllint",
}
"""What shows that a package is there: a program on PATH, or a file."""

Say = Callable[[str], None]


class CannotRun(Exception):
    """Real nodes cannot be started here; the text says why, and what would help."""


def require_machine() -> None:
    """Make sure that this machine can hold nodes at all. Raises CannotRun."""
    if sys.platform != "linux":
        raise CannotRun("real nodes need Linux: namespaces, control groups, containerd")
    if os.geteuid() != 0:
        raise CannotRun("real nodes need root: they mount file systems and make network namespaces")


def missing() -> list[str]:
    """Return the packages that are not there, sorted."""
    return sorted(name for name, sign in PACKAGES.items() if not _present(sign))


def ensure(say: Say = print) -> None:
    """Install what is missing. Raises CannotRun."""
    wanted = missing()
    if not wanted:
        return
    if not shutil.which("apt-get"):
        raise CannotRun(f"missing, and there is no apt-get to install them: {', '.join(wanted)}")
    say(f"installing Debian packages: {', '.join(wanted)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # an archive of somebody else's that does not answer fails the update, and has nothing that is wanted here
    subprocess.run(["apt-get", "update"], env=environment, capture_output=True, check=False)
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *wanted]
    done = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(f"{' '.join(install)} failed:\n{done.stderr[-2000:]}")


def _present(sign: str) -> bool:
    return Path(sign).exists() if sign.startswith("/") else shutil.which(sign) is not None
