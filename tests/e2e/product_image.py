"""The product's image for the real nodes: the Dockerfile's steps, on Debian's Python instead of the official image.

Order: fetch the locked packages (this alone needs the package index); run the first stage's steps in a root folder made
of the base image; pack what the last stage takes over from it, with all other images, so that nodes import one archive.
Made anew whenever something that goes into it changes.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.build import cache_folder
from tests.e2e import images
from tests.e2e.archive import PATH, Image, Layer, layer_of_folder, layers_of, unpack, write
from tests.e2e.dockerfile import Copy, NotUnderstood, Run, Stage, parse
from tests.e2e.packages import CannotRun, Say

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"
REPOSITORY = "example.test/workloadrun"
LOCKS = ("requirements-build.lock", "requirements-runtime.lock")
PYTHON = "3.11"  # Debian bookworm's
NEWEST_GLIBC = 36  # 2.36, Debian bookworm's
PACKAGES = "/mnt"  # where the fetched packages are seen while a step runs
IGNORED = ("__pycache__", "*.pyc")

_STEP = """\
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind "$2" "$1/mnt"
exec chroot "$1" env -i PIP_NO_INDEX=1 PIP_FIND_LINKS=/mnt PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore \
  "${@:5}" sh -c "cd '$3' && $4"
"""


def ensure(say: Say = print) -> Path:
    """Make the image unless it is there, and return its archive. Raises CannotRun or NotUnderstood."""
    out = _archive()
    if out.exists():
        return out
    packages = _packages(say)
    say(f"making {REPOSITORY}:{tag(out)} by the steps of the Dockerfile: about a minute")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        _make(Path(scratch), packages, tag(out)).replace(out)
    for old in out.parent.glob("product-*.tar"):
        if old != out:
            old.unlink()
    say(f"  done in {time.monotonic() - started:.0f} s: {out}")
    return out


def made() -> Path:
    """Return the archive that `ensure` has left."""
    [found] = _folder().glob("product-*.tar")
    return found


def tag(archive: Path) -> str:
    """Return the tag of the image in an archive: a digest of all that went into it."""
    return archive.stem.removeprefix("product-")


def _archive() -> Path:
    """Return where the archive of the tree as it is lies, or will."""
    digest = hashlib.sha256(images.archive().name.encode())
    for path in (Path(__file__), Path(__file__).with_name("dockerfile.py"), DOCKERFILE, *_context()):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return _folder() / f"product-{digest.hexdigest()[:12]}.tar"


def _make(folder: Path, packages: Path, tag: str) -> Path:
    shared = layers_of(images.archive(), images.MPI, folder)
    base = shared[:-1]
    root = folder / "root"
    for layer in base:
        unpack(layer, root)
    first, last = _stages()
    for step in first.steps:
        if isinstance(step, Run):
            _run(step, root, packages)
        else:
            _copy_from_context(step, root)
    layers = [*base, *_taken_over(last, first, root, folder)]
    image = Image(
        f"{REPOSITORY}:{tag}",
        layers,
        entrypoint=last.entrypoint,
        environment=last.environment,
        user=last.user,
        directory=last.directory,
    )
    out = folder / "product.tar"
    write([*images.of_layers(shared), image], out)
    return out


def _stages() -> tuple[Stage, Stage]:
    first, *others = parse(DOCKERFILE.read_text(), PATH)
    if len(others) != 1 or others[0].base != first.base or not first.base.startswith(f"python:{PYTHON}"):
        raise NotUnderstood(f"two stages of one base with Python {PYTHON} are followed here, not {first.base}, ...")
    return first, others[0]


def _context() -> list[Path]:
    """Name every file that the Dockerfile takes out of the tree."""
    sources = [ROOT / name for step in _stages()[0].steps if isinstance(step, Copy) for name in step.sources]
    return sorted(file for source in sources for file in _files(source))


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
        return
    for path in source.rglob("*"):
        if path.is_file() and not any(part == "__pycache__" or part.endswith(".pyc") for part in path.parts):
            yield path


def _copy_from_context(step: Copy, root: Path) -> None:
    target = root / step.target.lstrip("/")
    for name in step.sources:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*IGNORED))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def _run(step: Run, root: Path, packages: Path) -> None:
    """Run a step; what is mounted for it goes with its own mount namespace, however it ends."""
    for name in ("proc", "dev", "mnt", step.directory.lstrip("/")):
        (root / name).mkdir(parents=True, exist_ok=True)
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", _STEP, "step"]
    variables = [f"{name}={value}" for name, value in step.environment.items()]
    words = [*apart, str(root), str(packages), step.directory, step.command, *variables]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(f"RUN {step.command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _taken_over(last: Stage, first: Stage, root: Path, folder: Path) -> Iterator[Layer]:
    for number, step in enumerate(last.steps):
        if not isinstance(step, Copy) or step.stage != first.name or len(step.sources) != 1:
            raise NotUnderstood("the last stage may only take over what the first has made")
        source = root / step.sources[0].lstrip("/")
        yield layer_of_folder(source, folder / f"taken-{number}.tar", at=step.target)


def _folder() -> Path:
    return cache_folder() / "e2e"


def _packages(say: Say) -> Path:
    """Fetch the locked packages unless they are there; pip checks their hashes here and when they are installed."""
    digest = hashlib.sha256(b"".join((ROOT / lock).read_bytes() for lock in LOCKS)).hexdigest()[:12]
    folder = _folder() / f"packages-{digest}"
    if folder.exists():
        return folder
    say("fetching the packages of the image, once a version of the lock files")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        for lock in LOCKS:
            options = ["--quiet", "--require-hashes", f"--requirement={ROOT / lock}", f"--dest={scratch}/packages"]
            command = [sys.executable, "-m", "pip", "download", *options, *_for_the_image()]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotRun(f"pip download of {lock} failed:\n{done.stderr[-2000:]}")
        (Path(scratch) / "packages").replace(folder)
    for old in set(folder.parent.glob("packages-*")) - {folder}:
        shutil.rmtree(old)
    return folder


def _for_the_image() -> list[str]:
    """Tell pip to fetch for Debian's Python, whatever Python runs this."""
    machine = platform.machine()
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(NEWEST_GLIBC, 4, -1)]
    tags += [f"manylinux{year}_{machine}" for year in (2014, 2010, 1)]
    platforms = [f"--platform={name}" for name in tags]
    return ["--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp", *platforms]
