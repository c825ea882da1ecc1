"""Image archives as containerd imports them (docker-archive form), from folders and files: no engine, no registry.

Several images may share layers: a layer is stored once.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Layer:
    """A tar file, known by its SHA-256."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Image:
    """A name, what lies in it, and what it runs where nobody says: without that no pod sandbox starts from it."""

    name: str
    layers: Sequence[Layer]
    command: Sequence[str] = ()
    entrypoint: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": PATH})
    user: str = ""
    directory: str = ""


def layer_of_folder(root: Path, out: Path, without: Sequence[str] = (), *, at: str = "") -> Layer:
    """Pack a folder as what lies ``at`` a path of the image, but for some paths below it and all below them."""

    top = at.strip("/") or "."

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        path = member.name.removeprefix(top).lstrip("/")
        return None if any(path == left or path.startswith(f"{left}/") for left in without) else member

    with tarfile.open(out, "w") as tar:
        tar.add(root, arcname=top, filter=kept)
    return _layer(out)


def layer_of_files(files: Mapping[str, Path], out: Path) -> Layer:
    """Pack single files as executables, by their absolute paths in the image."""

    def executable(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mode, member.uid, member.gid, member.uname, member.gname = 0o755, 0, 0, "root", "root"
        return member

    with tarfile.open(out, "w") as tar:
        for target, source in sorted(files.items()):
            tar.add(source, arcname=target.lstrip("/"), filter=executable)
    return _layer(out)


def write(images: Sequence[Image], out: Path) -> None:
    """Write one archive of several images."""
    with tarfile.open(out, "w") as tar:
        for layer in {layer.digest: layer for image in images for layer in image.layers}.values():
            tar.add(layer.path, arcname=_name(layer))
        listed = [_add(tar, image) for image in images]
        _add_bytes(tar, "manifest.json", json.dumps(listed).encode())


def layers_of(archive: Path, name: str, folder: Path) -> list[Layer]:
    """Take an image's layers out of an archive, each as a file of ``folder``."""
    with tarfile.open(archive) as tar:
        manifest = tar.extractfile("manifest.json")
        assert manifest is not None
        [names] = [image["Layers"] for image in json.load(manifest) if name in image["RepoTags"]]
        found = []
        for layer in names:
            tar.extract(layer, folder, filter="data")
            found.append(Layer(folder / layer, layer.partition("/")[0]))
    return found


def unpack(layer: Layer, root: Path) -> None:
    """Unpack a layer into a root folder, over what is there."""
    with tarfile.open(layer.path) as tar:
        tar.extractall(root, filter="fully_trusted")


def _add(tar: tarfile.TarFile, image: Image) -> dict[str, Any]:
    config = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in image.layers]},
        "history": [{"created_by": "tests/e2e"} for _ in image.layers],
        "config": {
            "Cmd": list(image.command),
            "Entrypoint": list(image.entrypoint),
            "Env": [f"{name}={value}" for name, value in image.environment.items()],
            "User": image.user,
            "WorkingDir": image.directory,
        },
    }
    content = json.dumps(config).encode()
    name = f"{hashlib.sha256(content).hexdigest()}.json"
    _add_bytes(tar, name, content)
    return {"Config": name, "RepoTags": [image.name], "Layers": [_name(layer) for layer in image.layers]}


def _add_bytes(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def _layer(path: Path) -> Layer:
    with path.open("rb") as file:
        return Layer(path, hashlib.file_digest(file, "sha256").hexdigest())


def _name(layer: Layer) -> str:
    return f"{layer.digest}/layer.tar"
