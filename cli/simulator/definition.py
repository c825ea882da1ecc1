"""A CompositeController as Metacontroller reads it; what this driver does not do is refused, never left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cli.simulator.api import Api
from cli.simulator.entry import Object
from cli.simulator.kinds import Kind
from cli.simulator.selector import Selector
from sync_hooks.api.duration import format_duration, parse_duration

FINALIZER_PREFIX = "metacontroller.io/compositecontroller-"
DEFAULT_HOOK_TIMEOUT_SECONDS = 10.0  # also for one that cannot be read


class DefinitionError(Exception):
    """The controller cannot be started; the text is what Metacontroller's event would say."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One CompositeController, its kinds resolved."""

    name: str
    obj: Object
    """The object as hooks see it: durations and strategies as a round trip through Go writes them."""
    parent: Kind
    children: tuple[Kind, ...]
    in_place: frozenset[Kind]
    """Kinds of children that are updated; the others are left as they are."""
    selector: Selector
    """Which parents are this controller's."""
    finalizes: bool
    ignores_status: bool
    resync_seconds: float | None
    timeout_seconds: float

    @property
    def finalizer(self) -> str:
        """The finalizer that parents carry when there is a finalize hook."""
        return FINALIZER_PREFIX + self.name


def parse(obj: Object, api: Api) -> Definition:
    """Read a stored CompositeController; raises DefinitionError for what is missing or not supported."""
    spec = obj["spec"]
    hooks = spec.get("hooks") or {}
    _refuse_unsupported(spec, hooks)
    parent = spec["parentResource"]
    selector = parent.get("labelSelector")
    timeout = parse_duration(hooks["sync"].get("webhook", {}).get("timeout", "")) or 0.0
    rules = {_resource(api, rule, "child"): _strategy(rule) for rule in spec.get("childResources") or ()}
    return Definition(
        name=obj["metadata"]["name"],
        obj=_as_sent(obj),
        parent=_resource(api, parent, "parent"),
        children=tuple(rules),
        in_place=frozenset(kind for kind, method in rules.items() if method == "InPlace"),
        selector=Selector.parse(selector) if selector is not None else Selector(),
        finalizes="finalize" in hooks,
        ignores_status=bool(parent.get("ignoreStatusChanges")),
        resync_seconds=_resync_seconds(spec.get("resyncPeriodSeconds")),
        timeout_seconds=timeout if timeout > 0 else DEFAULT_HOOK_TIMEOUT_SECONDS,
    )


def _resync_seconds(period: int | None) -> float | None:
    return None if period is None else max(1.0, float(period))


def _resource(api: Api, rule: Mapping[str, Any], role: str) -> Kind:
    kind = api.resource(rule["apiVersion"], rule["resource"])
    if kind is None:
        raise DefinitionError(
            f"can't create informer for {role} resource: discovery: can't find resource {rule['resource']} "
            f"in apiVersion {rule['apiVersion']}"
        )
    return kind


def _refuse_unsupported(spec: Object, hooks: Object) -> None:
    if "sync" not in hooks:
        raise DefinitionError("no sync hook defined")
    if "customize" in hooks:
        raise DefinitionError("customize hooks are not supported by this driver")
    for name, hook in hooks.items():
        if hook.get("version") != "v2":
            raise DefinitionError(f"hooks.{name}.version: only v2 is supported by this driver")
    if not spec.get("generateSelector"):
        raise DefinitionError("generateSelector: only true is supported by this driver")
    for rule in spec.get("childResources") or ():
        if _strategy(rule) not in ("OnDelete", "InPlace"):
            text = f"childResources[{rule['resource']}]: update strategy {_strategy(rule)} is not supported"
            raise DefinitionError(text)


def _strategy(rule: Object) -> str:
    return str((rule.get("updateStrategy") or {}).get("method", "OnDelete"))


def _as_sent(obj: Object) -> Object:
    spec = dict(obj["spec"])
    if "childResources" in spec:
        spec["childResources"] = [_rule_as_sent(rule) for rule in spec["childResources"]]
    spec["hooks"] = {name: _hook_as_sent(hook) for name, hook in spec["hooks"].items()}
    return {**obj, "spec": spec, "status": {}}


def _rule_as_sent(rule: Object) -> Object:
    if "updateStrategy" not in rule:
        return rule
    return {**rule, "updateStrategy": {"statusChecks": {}, **rule["updateStrategy"]}}


def _hook_as_sent(hook: Object) -> Object:
    webhook = hook.get("webhook", {})
    seconds = parse_duration(webhook.get("timeout", ""))
    if seconds is None:
        return hook
    return {**hook, "webhook": {**webhook, "timeout": format_duration(seconds)}}
