"""GPUs and fabric interfaces of a node where nobody says how many: a table of data, looked up by architecture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml
from pydantic import Field

from sync_hooks.api.model import ApiModel

UNKNOWN_GPUS = 4  # the smallest board that is sold: a wrong guess leaves GPUs idle, not pods unschedulable
UNKNOWN_NICS = 0  # requesting interfaces that may not exist would leave pods unschedulable


@dataclass(frozen=True, slots=True)
class NodeShape:
    """GPUs and fabric interfaces of one node; ``known`` tells whether the table has the architecture."""

    gpus: int
    nics: int
    known: bool = True


class PlatformShape(ApiModel):
    """What is different on one platform; a number that is absent is the architecture's."""

    gpus: int | None = Field(default=None, ge=1)
    nics: int | None = Field(default=None, ge=0)


class ShapeRow(ApiModel):
    """The usual node of some architectures, and why."""

    architectures: list[str]
    gpus: int = Field(ge=1)
    nics: int = Field(ge=0)
    platforms: dict[str, PlatformShape] = {}
    why: str = Field(min_length=1)


def node_shape(architecture: str, platform: str) -> NodeShape:
    """Look up the usual shape of a node."""
    row = _table().get(architecture)
    if row is None:
        return NodeShape(UNKNOWN_GPUS, UNKNOWN_NICS, known=False)
    special = row.platforms.get(platform, PlatformShape())
    return NodeShape(
        gpus=row.gpus if special.gpus is None else special.gpus,
        nics=row.nics if special.nics is None else special.nics,
    )


def known_architectures() -> tuple[str, ...]:
    """Return the architectures of the table, sorted."""
    return tuple(sorted(_table()))


@cache
def shape_rows() -> tuple[ShapeRow, ...]:
    """Return the rows of the table in its order."""
    text = resources.files("sync_hooks.cluster.data").joinpath("gpu-defaults.yaml").read_text(encoding="utf-8")
    return tuple(ShapeRow.model_validate(row) for row in yaml.safe_load(text))


@cache
def _table() -> dict[str, ShapeRow]:
    return {architecture: row for row in shape_rows() for architecture in row.architectures}
