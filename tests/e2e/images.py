"""The images of the real pods: Debian with Open MPI and OpenSSH, and the same without sshd. Made once a version.

The slow part is debootstrap, which needs Debian's package archive; everything after it needs no network.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.build import cache_folder
from tests.e2e.archive import Image, Layer, layer_of_files, layer_of_folder, write
from tests.e2e.packages import CannotRun, Say

HERE = Path(__file__).parent
RELEASE = "bookworm"
OF_THE_PRODUCT = ("python-is-python3", "python3-pip", "python3-venv")
CONTENTS = ("python3-minimal", "python3-mpi4py", "openmpi-bin", "openssh-server", "openssh-client", *OF_THE_PRODUCT)

MPI = "example.test/mpi:1"
WITHOUT_SSHD = "example.test/without-sshd:1"  # also what pod sandboxes are made of

SSHD = "usr/sbin/sshd"
LEFT_OUT = ("dev", "proc", "sys", "var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", SSHD)
IDLE = ("sleep", "infinity")


def archive() -> Path:
    """Return where the archive of this version of all images lies, or will."""
    digest = hashlib.sha256(repr((RELEASE, CONTENTS)).encode())
    for source in (Path(__file__), HERE / "archive.py", *sorted((HERE / "image").iterdir())):
        digest.update(source.read_bytes())
    return cache_folder() / "e2e" / f"images-{digest.hexdigest()[:12]}.tar"


def ensure(say: Say = print) -> Path:
    """Make the images unless they are there, and return their archive. Raises CannotRun."""
    out = archive()
    if out.exists():
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    say(f"making images of Debian {RELEASE} with {', '.join(CONTENTS)}, once a version: about 3 minutes")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        folder = Path(scratch)
        _debootstrap(folder / "root")
        _pack(folder / "root", folder).replace(out)
    for old in out.parent.glob("images-*.tar"):
        if old != out:
            old.unlink()
    say(f"  done in {time.monotonic() - started:.0f} s: {out}")
    return out


def _debootstrap(root: Path) -> None:
    """Fill a root folder; what debootstrap mounts into it goes with its own mount namespace, however it ends."""
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    words = ["debootstrap", "--variant=minbase", f"--include={','.join(CONTENTS)}", RELEASE, str(root)]
    done = subprocess.run([*apart, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _pack(root: Path, folder: Path) -> Path:
    base = layer_of_folder(root, folder / "base.tar", LEFT_OUT)
    stand_ins = layer_of_files(
        {f"/usr/local/bin/{path.name}": path for path in (HERE / "image").iterdir()}, folder / "own.tar"
    )
    sshd = layer_of_files({f"/{SSHD}": root / SSHD}, folder / "sshd.tar")
    out = folder / "images.tar"
    write(of_layers([base, stand_ins, sshd]), out)
    return out


def of_layers(layers: Sequence[Layer]) -> list[Image]:
    """Return the images that are made of these layers, the last of which is sshd."""
    return [Image(WITHOUT_SSHD, layers[:-1], IDLE), Image(MPI, layers, IDLE)]
