"""YAML and JSON as Kubernetes' own tools read them, and stricter where those are lax: no key may stand twice.

YAML 1.1 without its dates and base-60 numbers, which those tools take for text. Raises ValueError with line and reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml
from yaml.constructor import ConstructorError

MOST_VALUES = 1_000_000  # aliases included: a few lines of YAML can stand for more than memory holds
DEEPEST = 200  # levels
TAG = "tag:yaml.org,2002:"

_TRUE = re.compile("y|Y|yes|Yes|YES|on|On|ON|true|True|TRUE")
_FALSE = re.compile("n|N|no|No|NO|off|Off|OFF|false|False|FALSE")
_PLAIN = {
    "merge": (re.compile("<<"), "<"),
    "null": (re.compile("~|null|Null|NULL|"), "~nN"),
    "bool": (re.compile(f"{_TRUE.pattern}|{_FALSE.pattern}"), "yYnNtTfFoO"),
    "int": (re.compile("[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)"), "-+0123456789"),
    "float": (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), "-+.0123456789"),
}
"""What plain words stand for, tried in this order, each with the characters it can begin with."""


def load_documents(text: str) -> Iterator[Any]:
    """Yield every document of a text, with text for keys, as JSON has them. Raises ValueError."""
    try:
        for document in _loaded(text):
            _measure(document)
            yield document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ValueError(f"{f'line {mark.line + 1}: ' if mark else ''}{error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).splitlines()[0]) from error


def _loaded(text: str) -> Iterator[Any]:
    """Read JSON as JSON: its escapes for characters beyond 16 bits are none of YAML's."""
    if text.lstrip()[:1] == "{":
        try:
            return iter([json.loads(text, object_pairs_hook=_unique)])
        except json.JSONDecodeError:
            pass  # YAML's flow style begins with a brace too
    return iter(yaml.load_all(text, Loader=_Loader))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return result


def _measure(document: Any) -> None:
    """Refuse what only looks small: documents that contain themselves, or each other very often."""
    count, level = 0, [document]
    for _ in range(DEEPEST):
        count += len(level)
        if count > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES} values")
        level = [part for value in level for part in _parts(value)]
        if not level:
            break
    else:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    try:
        msgspec.json.encode(document)
    except UnicodeEncodeError as error:
        raise ValueError("half a character: a surrogate without its other half") from error


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes' tools read it."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[str, Any]:
    """Build a map; a key that stands twice in it is a mistake, not a choice, while one may override what is merged."""
    written: set[str] = set()
    for key, _ in node.value:
        if key.tag != f"{TAG}merge":
            if _key(key) in written:
                raise ConstructorError(None, None, f"the key {key.value!r} stands twice", key.start_mark)
            written.add(_key(key))
    loader.flatten_mapping(node)
    return {_key(key): loader.construct_object(value, deep=True) for key, value in node.value}


def _key(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    raise ConstructorError(None, None, "a key must be text", node.start_mark)


def _bool(_: Any, node: yaml.ScalarNode) -> bool:
    return bool(_TRUE.fullmatch(node.value))


def _int(_: Any, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "")
    digits = text.lstrip("+-")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    return int(text, 8 if octal else 0)


def _float(_: Any, node: yaml.ScalarNode) -> float:
    return float(node.value)


def _unknown(_: Any, node: yaml.Node) -> None:
    raise ConstructorError(None, None, f"JSON has no type {node.tag.removeprefix(TAG)}", node.start_mark)


for _name, (_pattern, _first) in _PLAIN.items():
    _Loader.add_implicit_resolver(TAG + _name, re.compile(f"(?:{_pattern.pattern})$"), [*_first, ""])
_Loader.add_constructor(f"{TAG}map", _mapping)
_Loader.add_constructor(f"{TAG}bool", _bool)
_Loader.add_constructor(f"{TAG}int", _int)
_Loader.add_constructor(f"{TAG}float", _float)
for _name in ("binary", "omap", "pairs", "set", "timestamp"):
    _Loader.add_constructor(TAG + _name, _unknown)
