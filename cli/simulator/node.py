"""One Node as people write it or kubectl prints it, made to what the API has.

Refuses what planning or the simulated cluster would not understand, and names node and field.
"""

from __future__ import annotations

from typing import Any

import msgspec

from cli.simulator import rules
from cli.simulator.entry import Object
from cli.simulator.errors import Invalid
from cli.simulator.kinds import CORE, Kind
from sync_hooks.api.errors import cut
from sync_hooks.api.observed import Node
from sync_hooks.api.quantity import parse_quantity

KEPT_METADATA = ("name", "labels", "annotations")
AMOUNTS = ("allocatable", "capacity")
REQUIRED = (("spec", "taints", ("key", "effect")), ("status", "conditions", ("type", "status")))
"""What each element of a list must have; the cluster of the simulator reads it."""
NODE = Kind(CORE, "Node", "nodes", namespaced=False, generation=False)


class InventoryError(Exception):
    """The nodes cannot be read or made; the text is one line."""


def node_of(item: Object) -> Object:
    """Return the parts of a node that count; what nobody says is left out. Raises InventoryError."""
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise InventoryError("a node has no metadata.name")
    name = metadata["name"]
    kept = {key: metadata[key] for key in KEPT_METADATA if metadata.get(key)}
    body = {key: _without_nulls(name, key, item[key]) for key in ("spec", "status") if item.get(key) is not None}
    if status := body.get("status"):
        body["status"] = {**status, **{key: _amounts_of(name, key, status[key]) for key in AMOUNTS if key in status}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": kept, **body}
    _check(name, node)
    return node


def _without_nulls(node: str, path: str, value: Any) -> Object:
    if not isinstance(value, dict):
        raise _refused(node, path, value, "must be a mapping")
    return {key: part for key, part in value.items() if part is not None}


def _amounts_of(node: str, key: str, amounts: Any) -> Object:
    """Write quantities as text, as the API does; people write `nvidia.com/gpu: 8` without quotes."""
    path = f"status.{key}"
    written: Object = {}
    for name, amount in _without_nulls(node, path, amounts).items():
        if parse_quantity(amount) is None:
            raise _refused(node, f"{path}[{name}]", amount, 'must be a quantity such as "8" or "2000Gi"')
        written[name] = str(amount)
    return written


def _check(name: str, node: Object) -> None:
    """Make sure that planning and the simulated cluster understand a node. Raises InventoryError."""
    for key in ("labels", "annotations"):
        texts = node["metadata"].get(key, {})
        if not isinstance(texts, dict):
            raise _refused(name, f"metadata.{key}", texts, "must be a mapping of text to text")
        for label, value in texts.items():
            if not isinstance(label, str) or not isinstance(value, str):
                raise _refused(name, f"metadata.{key}[{label}]", value, "must be text: put it in quotes")
    try:
        rules.check(NODE, node)
        msgspec.convert(node, Node)
    except Invalid as error:
        raise InventoryError(str(error)) from error
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        raise InventoryError(f"node {name}: {path.rstrip('`')}: {problem}") from error
    _check_required(name, node)


def _check_required(name: str, node: Object) -> None:
    for part, field, wanted in REQUIRED:
        for number, element in enumerate(node.get(part, {}).get(field, ())):
            for key in wanted:
                if not element.get(key):
                    where = f"{part}.{field}[{number}].{key}"
                    raise InventoryError(f"node {name}: {where}: Required value: must be given")


def _refused(node: str, path: str, value: Any, message: str) -> InventoryError:
    return InventoryError(f'node {node}: {path}: Invalid value: "{cut(value)}": {message}')
