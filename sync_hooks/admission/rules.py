"""What is asked of one kind: its model, its rules, its warnings, its defaults. Holds no rule itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from sync_hooks.admission.defaulting import Default
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import OBJECT_NAMES, NameRule
from sync_hooks.api.model import API_VERSION, ApiModel

Rule = Callable[[Value], Iterable[FieldError]]
"""Looks at a spec, or a whole object, and yields what is wrong with it, whatever shape it has."""

Advice = Callable[[Value], Iterable[str]]
"""Looks at a spec and yields what is accepted but probably not meant: the field, a colon, a sentence."""


@dataclass(frozen=True, slots=True)
class KindRules:
    """Everything that admission asks of a kind."""

    model: type[ApiModel]
    """Model of the spec."""
    rules: Mapping[str, tuple[Rule, ...]]
    """Rules about the spec, by the field whose presence calls for them."""
    object_rules: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict)
    """Rules that set the spec against the object's name and namespace, likewise."""
    advice: Mapping[str, tuple[Advice, ...]] = field(default_factory=dict)
    """Warnings about the spec, likewise."""
    defaults: tuple[Default, ...] = ()
    immutable: bool = False
    names: NameRule = OBJECT_NAMES


_MODULES = {
    "BandwidthMeasurement": "measurement",
    "GoodputMeasurement": "measurement",
    "Job": "job",
    "LogProfile": "logprofile",
    "Workflow": "workflow",
    "WorkloadRun": "workloadrun",
}


def kind_rules(api_version: object, kind: object) -> KindRules | None:
    """Return the rules of a kind, None where it is none of ours. Imports the kind's models when first asked for it."""
    return _rules(kind) if api_version == API_VERSION and isinstance(kind, str) and kind in _MODULES else None


@cache
def _rules(kind: str) -> KindRules:
    rules: dict[str, KindRules] = import_module(f"sync_hooks.admission.kinds.{_MODULES[kind]}").RULES
    return rules[kind]


def known_kinds() -> tuple[str, ...]:
    """Name our kinds."""
    return tuple(_MODULES)
