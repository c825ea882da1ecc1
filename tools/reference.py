"""The reference pages: one a kind, fields with types, bounds and sentences as in its CRD. Invents no sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from platforms import DESCRIPTION, FILE, TITLE

from sync_hooks.api.crd import object_schema
from sync_hooks.api.kinds import KINDS, Column, Kind
from sync_hooks.api.limits import MEANINGS
from sync_hooks.api.model import API_VERSION

NOTICE = "<!-- Made by tools/generate.py; change the models, not this page. -->\n"


def pages() -> Mapping[str, str]:
    """Return the text of every page by file name."""
    listed = "".join(f"- [{kind.kind}]({kind.kind.lower()}.md): {kind.description}\n" for kind in KINDS)
    listed += f"- [{TITLE}]({FILE}): {DESCRIPTION}\n"
    index = f"# API reference\n\n{NOTICE}\nGroup and version: `{API_VERSION}`.\n\n{listed}"
    return {"README.md": index} | {f"{kind.kind.lower()}.md": _page(kind) for kind in KINDS}


def _page(kind: Kind) -> str:
    schema = object_schema(kind)
    scope = "cluster-scoped" if kind.cluster_scoped else "namespaced"
    parts = [
        f"# {kind.kind}\n\n{NOTICE}\n{kind.description}\n",
        f"`{API_VERSION}`, short name `{kind.short}`, {scope}.\n",
        *_name(kind),
        f"## Spec\n\n{_table(schema['properties']['spec'])}",
    ]
    if kind.status is not None:
        parts.append(f"## Status\n\n{_table(schema['properties']['status'])}")
    parts.append(f"## Columns\n\n{_columns(kind.columns)}")
    return "\n".join(parts)


def _name(kind: Kind) -> Iterator[str]:
    yield f"A name {kind.names.meaning}; at most {kind.names.longest} characters.\n"
    if kind.immutable:
        yield "The spec is immutable after creation.\n"


def _table(schema: Mapping[str, Any]) -> str:
    rows = "".join(
        f"| `{path}` | {_type(node)} | {'yes' if needed else ''} | {_cell(_sentence(node))} |\n"
        for path, node, needed in _fields(schema, "")
    )
    return f"| field | type | required | meaning |\n| --- | --- | --- | --- |\n{rows}"


def _fields(schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    for name, node in schema.get("properties", {}).items():
        yield f"{prefix}{name}", node, name in schema.get("required", [])
        yield from _fields(node.get("items", {}), f"{prefix}{name}[].")
        yield from _fields(node, f"{prefix}{name}.")


def _type(node: Mapping[str, Any]) -> str:
    if "items" in node:
        return f"list of {_type(node['items'])}"
    if "additionalProperties" in node:
        return f"map of {_type(node['additionalProperties'])}"
    return str(node.get("type", "any"))


def _sentence(node: Mapping[str, Any]) -> str:
    inner = node.get("items") or node.get("additionalProperties") or {}
    return " ".join([node.get("description", ""), *_bounds(node), *_bounds(inner)])


def _bounds(node: Mapping[str, Any]) -> Iterator[str]:
    if "enum" in node:
        yield f"One of {', '.join(f'`{word}`' if word else 'empty' for word in node['enum'])}."
    if "pattern" in node and node["pattern"] in MEANINGS:
        yield f"It {MEANINGS[node['pattern']]}."
    for key, text in _BOUNDS.items():
        if key in node and (key, node[key]) != ("minLength", 1):
            yield text.format(node[key])


_BOUNDS = {
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "minItems": "At least {} entries.",
    "maxItems": "At most {} entries.",
}


def _columns(columns: tuple[Column, ...]) -> str:
    rows = "".join(
        f"| {column.name.upper()} | {column.description}{' Shown with `-o wide`.' if column.wide else ''} |\n"
        for column in columns
    )
    return f"| column | meaning |\n| --- | --- |\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip()
