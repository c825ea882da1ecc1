"""The reference page of the platform table: every row with its reason, and what its settings mean. Invents no sentence.

Reads the same data as planning: sync_hooks/overrides/data and sync_hooks/cluster/data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from sync_hooks.api.model import ApiModel
from sync_hooks.api.schema import field_descriptions
from sync_hooks.cluster.defaults import UNKNOWN_GPUS, UNKNOWN_NICS, shape_rows
from sync_hooks.overrides.table import ANY_PLATFORM, Claim, Fabric, Row, rows_of, table_platforms

FILE = "platforms.md"
TITLE = "Platform table"
DESCRIPTION = "What each platform and GPU architecture needs, row by row, and why."

NOTICE = "<!-- Made by tools/generate.py; change sync_hooks/overrides/data, not this page. -->\n"
SAID = ("name", "why")
CONDITIONS = {
    "architectures": "GPU architecture",
    "frameworks": "framework",
    "gpusPerNode": "GPUs a node",
    "mnnvl": "multi-node NVLink",
    "needsFabric": "fabric not opted out of by `mlnxPerNode: 0`",
}
INTRODUCTION = f"""\
# {TITLE}

{NOTICE}
{DESCRIPTION}

The rows of all platforms come first, then those of the nodes' own platform, in this order; all that
apply are laid over what the framework brings, and the run's own `env` and `overrides` over them. `status` of the
Workflow lists which rows applied and what each changed; so does `workloadrun render`, for nodes that need not exist.

A platform without a section of its own (oci, forge) gets the rows of all platforms and no others.
"""


class _Dumper(yaml.SafeDumper):
    """Writes a list of words as the data does, in one go."""


def _listed(dumper: _Dumper, items: list[Any]) -> yaml.Node:
    plain = all(isinstance(item, str) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=plain)


_Dumper.add_representer(list, _listed)


def page() -> str:
    """Return the text of the page."""
    sections = "\n".join(_platform(platform) for platform in (ANY_PLATFORM, *table_platforms()))
    return "\n".join((INTRODUCTION, _settings(), _shapes(), sections))


def _settings() -> str:
    rows = "".join(
        f"| `{name}` | {meaning} |\n" for model, prefix in _MODELS for name, meaning in _fields(model, prefix)
    )
    return f"## Settings of a row\n\n| setting | meaning |\n| --- | --- |\n{rows}"


_MODELS: tuple[tuple[type[ApiModel], str], ...] = ((Row, ""), (Fabric, "fabric."), (Claim, "fabric.claims[]."))


def _fields(model: type[ApiModel], prefix: str) -> Iterator[tuple[str, str]]:
    meanings = field_descriptions(model)
    for name, field in model.model_fields.items():
        yield f"{prefix}{field.alias}", " ".join(meanings[name].replace("``", "`").split())


def _shapes() -> str:
    rows = "".join(
        f"| {', '.join(row.architectures)} | {row.gpus} | {row.nics} | {_exceptions(row.platforms)} | {row.why} |\n"
        for row in shape_rows()
    )
    return (
        "## GPUs and fabric interfaces of a node\n\n"
        "Used where neither the run (`gpusPerNode`, `mlnxPerNode`) nor, for GPUs, the nodes say how many. "
        f"An architecture that is not listed counts as {UNKNOWN_GPUS} GPUs and {UNKNOWN_NICS} interfaces.\n\n"
        f"| architecture | GPUs | interfaces | but on | why |\n| --- | --- | --- | --- | --- |\n{rows}"
    )


def _exceptions(platforms: Mapping[str, ApiModel]) -> str:
    written = {name: shape.to_dict() for name, shape in platforms.items()}
    words = {"gpus": "GPUs", "nics": "interfaces"}
    return "; ".join(
        f"{name}: {', '.join(f'{count} {words[key]}' for key, count in shape.items())}"
        for name, shape in written.items()
    )


def _platform(platform: str) -> str:
    own = [row for source, row in rows_of(platform) if source.startswith(f"{platform}/")]
    title = "All platforms" if platform == ANY_PLATFORM else platform
    return f"## {title}\n\n" + "\n".join(_row(platform, row) for row in own)


def _row(platform: str, row: Row) -> str:
    given = row.model_dump(mode="json", by_alias=True, exclude_unset=True)
    effects = {key: value for key, value in given.items() if key not in SAID and key not in CONDITIONS}
    shown = yaml.dump(effects, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
    return f"### {platform}/{row.name}\n\n{row.why}\n\nWhere: {_where(given)}.\n\n```yaml\n{shown}```\n"


def _where(given: Mapping[str, Any]) -> str:
    found = [_condition(words, given[key]) for key, words in CONDITIONS.items() if key in given]
    return "; ".join(found) or "everywhere"


def _condition(words: str, value: Any) -> str:
    if isinstance(value, list):
        return f"{words} {' or '.join(str(one) for one in value)}"
    return words if value else f"no {words}"
