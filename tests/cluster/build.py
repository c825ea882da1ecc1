"""Build the real components of versions.py from Go modules into one cache folder, once a version, and say so.

Usage: python -m tests.cluster.build [PURPOSE...]           build what these lack (default: test)
       python -m tests.cluster.build pin                    write modules/*/go.mod and go.sum from versions.py

Order: lock the folder, so that two builds at once share one; build a module's programs beside their place; move them.
Reads no version from the network: modules/ pins every dependency by hash. Needs no root and writes nothing else.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.versions import GO, KUBERNETES_MODULE, MODULES, Module, Program, Purpose

PINS = Path(__file__).parent / "modules"
PURPOSES: tuple[Purpose, ...] = ("test", "node", "chart", "kind", "claim")

Say = Callable[[str], None]


class ToolsMissing(Exception):
    """The components cannot be had here; the text names what is missing and what would supply it."""


def cache_folder() -> Path:
    """Return the one folder outside the tree that builds and control planes write to."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "workloadrun"


def tools_folder() -> Path:
    """Return where the programs of exactly these versions and pins are kept: ``bin/`` and ``manifests/`` below it."""
    table = [(module.version, module.link_flags, module.manifests, module.programs) for module in MODULES]
    digest = hashlib.sha256(repr(table).encode())
    for pin in sorted(PINS.glob("*/go.*")):
        digest.update(pin.read_bytes())
    return cache_folder() / f"tools-{digest.hexdigest()[:12]}"


def ensure(purposes: Iterable[Purpose] = ("test",), say: Say = print) -> Path:
    """Build whatever is missing for these purposes and return the tools folder. Raises ToolsMissing."""
    wanted = set(purposes)
    folder = tools_folder()
    if not _missing(folder, wanted):
        return folder
    _require_go()
    with _locked(folder, say):
        work = [(module, programs) for module, programs in _missing(folder, wanted)]
        _announce(folder, work, say)
        for module, programs in work:
            _build(folder, module, programs, say)
    return folder


def _missing(folder: Path, purposes: set[Purpose]) -> list[tuple[Module, list[Program]]]:
    found = []
    for module in MODULES:
        wanted = [program for program in module.programs if program.purpose in purposes]
        absent = [program for program in wanted if not (folder / "bin" / program.name).exists()]
        if absent:
            found.append((module, absent))
    return found


def _require_go() -> None:
    need = f"Go {GO[0]}.{GO[1]} or newer is needed to build the control plane"
    if not shutil.which("go"):
        raise ToolsMissing(f"{need}: there is no `go` on PATH")
    version = _go("version", cwd=Path.home()).stdout
    match = re.search(r"go(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < GO:
        raise ToolsMissing(f"{need}: found {version.strip()}")


@contextmanager
def _locked(folder: Path, say: Say) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another build of {folder}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _announce(folder: Path, work: Sequence[tuple[Module, list[Program]]], say: Say) -> None:
    names = ", ".join(program.name for _, programs in work for program in programs)
    say(f"building from Go modules, once a version: {names}")
    say(f"  into {folder} (about 15 minutes in all on two cores with cold caches, seconds with warm ones)")


def _build(folder: Path, module: Module, programs: Sequence[Program], say: Say) -> None:
    started = time.monotonic()
    say(f"  {module.path} {module.version}: {module.why}")
    pin = PINS / module.name
    (folder / "bin").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        packages = [program.package for program in programs]
        _go("build", "-o", f"{scratch}/", "-ldflags", module.link_flags, *packages, cwd=pin)
        _keep_manifests(folder, module, pin)
        for program in programs:
            (Path(scratch) / _executable(program.package)).replace(folder / "bin" / program.name)
    say(f"    done in {time.monotonic() - started:.0f} s")


def _keep_manifests(folder: Path, module: Module, pin: Path) -> None:
    if not module.manifests:
        return
    source = Path(_go("list", "-m", "-f", "{{.Dir}}", module.path, cwd=pin).stdout.strip())
    for path in sorted(found for pattern in module.manifests for found in source.glob(pattern)):
        target = folder / "manifests" / module.name / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())  # not copied with its mode: the module cache is read-only


def _executable(package: str) -> str:
    """Return the name `go build` gives an executable: the last part of the path that is not a major version."""
    parts = [part for part in package.split("/") if not re.fullmatch(r"v\d+", part)]
    return parts[-1]


def _go(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    if arguments[:2] == ("mod", "tidy"):
        environment["GOFLAGS"] = ""
    done = subprocess.run(["go", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolsMissing(f"go {' '.join(arguments)} failed in {cwd}:\n{done.stderr[-4000:]}")
    return done


def pin(module: Module, say: Say = print) -> None:
    """Write a module's go.mod and go.sum anew from its row; needs the module proxy."""
    folder = PINS / module.name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"module cluster/{module.name}", f"go {GO[0]}.{GO[1]}.0", f"require {module.path} {module.version}"]
    lines += [f"tool {program.package}" for program in module.programs]
    if module.path == KUBERNETES_MODULE:
        lines += _staging_replacements(module.version)
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    (folder / "go.sum").unlink(missing_ok=True)
    _go("mod", "tidy", cwd=folder)
    say(f"pinned {module.name}")


def _staging_replacements(version: str) -> list[str]:
    """Point Kubernetes' staging modules, which its go.mod takes from its own tree, at their published v0 versions."""
    with tempfile.TemporaryDirectory() as scratch:
        answer = _go("mod", "download", "-json", f"{KUBERNETES_MODULE}@{version}", cwd=Path(scratch)).stdout
    go_mod = Path(re.search(r'"GoMod": "(.*?)"', answer)[1]).read_text()  # type: ignore[index]
    names = sorted(set(re.findall(r"(k8s\.io/[a-z-]+) => \./staging", go_mod)))
    published = f"v0.{version.partition('.')[2]}"
    return [f"replace {name} => {name} {published}" for name in names]


def main(arguments: Sequence[str]) -> int:
    """Build, or pin; print the tools folder last."""
    if list(arguments) == ["pin"]:
        for module in MODULES:
            pin(module)
        return 0
    purposes = [purpose for purpose in PURPOSES if purpose in arguments]
    if len(purposes) != len(set(arguments)):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(ensure(purposes or ["test"]))
    except ToolsMissing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
