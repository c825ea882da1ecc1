"""Make .venv with every locked package and the project itself in it; does nothing where that is so already.

Runs on the Python that the environment shall have, before anything is installed. Every package is checked against the
hashes of the lock files; the project is built with the locked build tools, so that no other version is ever fetched.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "made-from"
OLDEST = (3, 11)
LOCKS = ("requirements-build.lock", "requirements.lock")


def main() -> int:
    """Make the environment anew unless it was made from exactly these files; return the exit code."""
    if sys.version_info < OLDEST:
        print(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return 0
    print(f"making {ENVIRONMENT.name} with Python {sys.version.split()[0]}: about a minute")
    STAMP.unlink(missing_ok=True)
    if not usable():
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        venv.create(ENVIRONMENT, with_pip=True)
    for arguments in installs():
        done = subprocess.run(
            [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet", *arguments], check=False
        )
        if done.returncode:
            return done.returncode
    STAMP.write_text(wanted)
    return 0


def fingerprint() -> str:
    """Return a digest of all that the environment is made from: this Python, the locks, the project's metadata."""
    digest = hashlib.sha256(f"{sys.version_info[:3]} {sys.base_prefix} {ROOT}".encode())
    for name in (*LOCKS, "pyproject.toml", "tools/setup.py"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def usable() -> bool:
    """Tell whether there is an environment already whose Python is this one."""
    configuration = ENVIRONMENT / "pyvenv.cfg"
    version = ".".join(str(part) for part in sys.version_info[:3])
    return configuration.is_file() and f"version = {version}\n" in configuration.read_text()


def installs() -> list[list[str]]:
    """Return the arguments of pip, one list a run, in order."""
    locked = [f"--requirement={ROOT / name}" for name in LOCKS]
    return [
        ["--require-hashes", *locked],
        ["--no-deps", "--no-build-isolation", f"--editable={ROOT}"],
    ]


if __name__ == "__main__":
    sys.exit(main())
