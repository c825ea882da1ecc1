"""`workloadrun explain`: what a field means, from the same sentences as the CRD and the reference; needs no cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import click

from cli.errors import CliError
from cli.exits import DONE
from cli.options import output_option
from cli.output import print_json, print_line
from sync_hooks.api.crd import object_schema
from sync_hooks.api.kinds import KINDS, Kind
from sync_hooks.api.limits import MEANINGS
from sync_hooks.api.model import API_VERSION

WIDTH = 88  # columns of running text
PLAIN_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "maxProperties": "at most {} entries",
}


@click.command(name="explain")
@click.argument("field", default="workloadrun", metavar="[FIELD]")
@click.option("-r", "--recursive", is_flag=True, help="List all fields below, without their sentences.")
@output_option("text", "json")
def command(field: str, recursive: bool, output: str) -> int:  # noqa: FBT001 - click's flags
    """Say what FIELD means, what it may be and which fields are below it.

    FIELD is a path as in errors and in kubectl explain: spec.framework.mpi, workloadrun.spec, job.status.figures.
    Without a kind it is the WorkloadRun's.
    """
    kind, path = find_kind(field)
    node, needed = find_field(kind, path)
    if output == "json":
        print_json(_document(kind, path, node, needed=needed))
        return DONE
    for line in _lines(kind, path, node, needed=needed, recursive=recursive):
        print_line(line)
    return DONE


def find_kind(text: str) -> tuple[Kind, tuple[str, ...]]:
    """Read a kind, by any of its names, and a path; a path alone is the WorkloadRun's."""
    words = tuple(word for word in text.replace("[", ".").replace("]", "").split(".") if word and not word.isdigit())
    named = {name: kind for kind in KINDS for name in (kind.kind.lower(), kind.plural, kind.short)}
    if words and words[0].lower() in named:
        return named[words[0].lower()], words[1:]
    run = KINDS[0]
    if words and words[0] not in _schema(run)["properties"] and words[0] in _below(_schema(run), "spec"):
        words = ("spec", *words)  # fields of the spec are what people ask for
    return run, words


@cache
def _schema(kind: Kind) -> Mapping[str, Any]:
    return object_schema(kind)


def _below(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = schema["properties"][name].get("properties", {})
    return fields


def find_field(kind: Kind, path: tuple[str, ...]) -> tuple[Mapping[str, Any], bool]:
    """Follow a path to its schema, and tell whether the field must be given. Raises CliError, naming what is near."""
    node: Mapping[str, Any] = _schema(kind)
    needed = False
    for place, word in enumerate(path):
        fields = _fields(node)
        if word not in fields:
            raise CliError(_unknown(kind, path[:place], word, node))
        node, needed = fields[word], word in _object(node).get("required", ())
    return node, needed


def _object(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object inside a list or a map, the node itself where it is neither."""
    inner: Mapping[str, Any] | None = node.get("items") or node.get("additionalProperties")
    return _object(inner) if inner else node


def _fields(node: Mapping[str, Any]) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = _object(node).get("properties", {})
    return fields


def _unknown(kind: Kind, path: tuple[str, ...], word: str, node: Mapping[str, Any]) -> str:
    where = ".".join((kind.kind.lower(), *path))
    fields = sorted(_fields(node))
    if not fields:
        return f"{where} has no fields of its own: {'Kubernetes explains it' if _is_open(node) else 'it is a value'}"
    near = get_close_matches(word, fields, n=3, cutoff=0.5)
    elsewhere = [path for path, _ in _all(_schema(kind), ()) if path[-1] == word][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(fields)}"
    also = f"; there is {' and '.join('.'.join(path) for path in elsewhere)}" if elsewhere else ""
    return f"{where} has no field {word!r}; {hint}{also}"


def _is_open(node: Mapping[str, Any]) -> bool:
    return bool(_object(node).get("x-kubernetes-preserve-unknown-fields"))


def _all(node: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    for name, field in _fields(node).items():
        yield (*path, name), field
        yield from _all(field, (*path, name))


def _lines(
    kind: Kind, path: tuple[str, ...], node: Mapping[str, Any], *, needed: bool, recursive: bool
) -> Iterator[str]:
    required = ", required" if needed else ""
    yield f"{'.'.join((kind.kind.lower(), *path))} <{type_of(node)}>{required}   ({API_VERSION})"
    yield ""
    yield from _wrapped(node.get("description", ""), "  ")
    for bound in bounds_of(node):
        yield from _wrapped(bound, "  ")
    fields = _fields(node)
    if fields:
        yield ""
        yield "FIELDS"
        yield from _tree(node, 1) if recursive else _listed(node)
    elif _is_open(node):
        yield ""
        yield "  Kubernetes' own type: admission checks it, kubectl explain pod.spec describes its fields."


def _listed(node: Mapping[str, Any]) -> Iterator[str]:
    for name, field in _fields(node).items():
        required = ", required" if name in _object(node).get("required", ()) else ""
        yield f"  {name} <{type_of(field)}>{required}"
        yield from _wrapped(" ".join((field.get("description", ""), *bounds_of(field))), "      ")


def _tree(node: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name, field in _fields(node).items():
        required = ", required" if name in _object(node).get("required", ()) else ""
        yield f"{'  ' * depth}{name} <{type_of(field)}>{required}"
        yield from _tree(field, depth + 1)


def type_of(node: Mapping[str, Any]) -> str:
    """Write a type as kubectl does: string, []Object, map[string]string."""
    if "items" in node:
        return f"[]{type_of(node['items'])}"
    if "additionalProperties" in node:
        return f"map[string]{type_of(node['additionalProperties'])}"
    named = str(node.get("type", "any"))
    return "Object" if named == "object" else named


def bounds_of(node: Mapping[str, Any]) -> Iterator[str]:
    """Say in sentences what a value may be."""
    for part in (node, node.get("items") or {}, node.get("additionalProperties") or {}):
        if "enum" in part:
            yield f"One of {', '.join(word or 'empty' for word in part['enum'])}."
        if part.get("pattern") in MEANINGS:
            yield f"It {MEANINGS[part['pattern']]}."
        told = [text.format(part[key]) for key, text in PLAIN_BOUNDS.items() if key in part]
        if told:
            yield f"{', '.join(told).capitalize()}."
        for rule in part.get("x-kubernetes-validations", ()):
            yield f"Rule: {rule['message']}."


def _wrapped(text: str, indent: str) -> Iterator[str]:
    line = indent
    for word in text.split():
        if len(line) + len(word) > WIDTH and line.strip():
            yield line.rstrip()
            line = indent
        line += f"{word} "
    if line.strip():
        yield line.rstrip()


def _document(kind: Kind, path: tuple[str, ...], node: Mapping[str, Any], *, needed: bool) -> dict[str, Any]:
    required = _object(node).get("required", ())
    return {
        "kind": kind.kind,
        "apiVersion": API_VERSION,
        "field": ".".join(path),
        "type": type_of(node),
        "required": needed,
        "description": node.get("description", ""),
        "bounds": list(bounds_of(node)),
        "fields": [
            {
                "name": name,
                "type": type_of(field),
                "required": name in required,
                "description": field.get("description", ""),
            }
            for name, field in _fields(node).items()
        ],
    }
