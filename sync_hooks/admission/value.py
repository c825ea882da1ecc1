"""A JSON value and its place in the object. Never raises: what is not there, or of another shape, is absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sync_hooks.api.errors import Key, Path, field_path

DEEPEST = 64  # levels that a search goes down; our own types end at 9, and Python's recursion at about 1,000

MAPS = frozenset(
    {
        "annotations",
        "binaryData",
        "data",
        "inline",
        "labels",
        "limits",
        "matchLabels",
        "nodeSelector",
        "requests",
        "thresholds",
        "units",
    }
)
"""Fields whose members are keys of a map, not fields."""


class Value(NamedTuple):
    """A place in an object and the JSON value found there; None where there is none.

    Rules read through it, so that one broken part keeps no rule from looking at the others: the shape of each part is
    judged elsewhere, once. A tuple, because a hundred of them are made for every object.
    """

    json: Any
    path: Path = ()

    def field(self, *names: str) -> Value:
        """Go down to a field, through further fields."""
        json = self.json
        for name in names:
            json = json.get(name) if isinstance(json, dict) else None
        return tuple.__new__(Value, (json, self.path + names))  # what Value() does too, after one call more

    def key(self, key: str) -> Value:
        """Go to the value of one key of a map."""
        return Value(self.json.get(key) if isinstance(self.json, dict) else None, (*self.path, Key(key)))

    def member(self, name: str) -> Value:
        """Go to a member of which only its place tells whether it is a field or a key."""
        return self.key(name) if self.path and self.path[-1] in MAPS else self.field(name)

    def children(self) -> Iterator[Value]:
        """Go through everything that is directly below, whatever it is."""
        for name in self.fields:
            yield self.member(name)
        yield from self.elements()

    def elements(self) -> Iterator[Value]:
        """Go through the elements of a list; nothing where there is no list."""
        if isinstance(self.json, list):
            for index, element in enumerate(self.json):
                yield Value(element, (*self.path, index))

    def entries(self) -> Iterator[tuple[str, Value]]:
        """Go through the entries of a map, keys in order; nothing where there is no map."""
        if isinstance(self.json, dict):
            for key in sorted(self.json):
                yield key, Value(self.json[key], (*self.path, Key(key)))

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return self.json is not None

    @property
    def text(self) -> str:
        """The value where it is text, else empty."""
        return self.json if isinstance(self.json, str) else ""

    @property
    def number(self) -> int | None:
        """The value where it is a whole number, else None."""
        return self.json if isinstance(self.json, int) and not isinstance(self.json, bool) else None

    @property
    def fields(self) -> dict[str, Any]:
        """The value where it is an object, else an empty one."""
        return self.json if isinstance(self.json, dict) else {}

    def __str__(self) -> str:
        return field_path(self.path)
