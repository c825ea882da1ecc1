"""A parent's children as Metacontroller handles them: claimed by owner and label, deleted when undesired, else made.

What exists already is updated only where its kind's rule says InPlace; under OnDelete a stub of apiVersion, kind and
name keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from cli.simulator.api import Api, Informers
from cli.simulator.apply import LAST_APPLIED, ApplyError, updated
from cli.simulator.entry import Entry, Object, encode_sorted, owned_by, with_metadata
from cli.simulator.errors import AlreadyExists, ApiError, Conflict, NotFound
from cli.simulator.informer import CONTROLLER_UID
from cli.simulator.kinds import Kind

CONFLICT_RETRIES = 4

Observed = dict[Kind, dict[str, Entry]]
"""Children by kind and qualified name; every declared kind has its key."""
Desired = dict[tuple[str, str], dict[str, Object]]
"""Children of an answer by (apiVersion, kind) and qualified name."""


class ManageErrors(Exception):
    """What went wrong while children were created and deleted, all of it."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        text = self.problems[0] if len(self.problems) == 1 else f"[{', '.join(self.problems)}]"
        super().__init__(text)


def claim(api: Api, informers: Informers, parent: Entry, kinds: Iterable[Kind]) -> Observed:
    """Find the children of a parent, adopt orphans with its label, release children that lost it.

    Raises ManageErrors; objects of other namespaces than a namespaced parent's are never looked at.
    """
    claimant = _Claimant(api, parent)
    observed = {kind: claimant.claim(informers, kind) for kind in kinds}
    if claimant.problems:
        raise ManageErrors(claimant.problems)
    return observed


@dataclass(slots=True)
class _Claimant:
    api: Api
    parent: Entry
    problems: list[str] = field(default_factory=list)
    _refusal: str | None = None
    _asked: bool = False

    def claim(self, informers: Informers, kind: Kind) -> dict[str, Entry]:
        cache, uid = informers.of(kind), self.parent.uid
        near = [child for child in cache.controlled(uid) if self._near(child)]
        claimed = {child.qualified_name: child for child in near if child.labels.get(CONTROLLER_UID) == uid}
        if self.parent.deleting:
            return claimed
        if len(claimed) < len(near):
            for child in near:
                if child.qualified_name not in claimed:
                    self._try(self._release, child)
        for child in list(cache.orphans(uid)):
            if self._near(child) and not child.deleting and self._try(self._adopt, child):
                claimed[child.qualified_name] = child
        return claimed

    def _near(self, child: Entry) -> bool:
        return not self.parent.namespace or child.namespace == self.parent.namespace

    def _try(self, action: Callable[[Entry], None], child: Entry) -> bool:
        try:
            action(child)
        except NotFound:
            return False
        except ApiError as error:
            self.problems.append(str(error))
            return False
        return True

    def _adopt(self, child: Entry) -> None:
        refusal = self._refuses_adoption()
        if refusal is not None:
            raise ApiError(f"can't adopt {describe(child)} ({child.uid}): {refusal}")
        reference = owned_by(self.parent)
        change_live(self.api, child, lambda obj: _with_owners(obj, [*_references(obj), reference]))

    def _release(self, child: Entry) -> None:
        uid = self.parent.uid
        change_live(self.api, child, lambda obj: _with_owners(obj, [r for r in _references(obj) if r["uid"] != uid]))

    def _refuses_adoption(self) -> str | None:
        if self._asked:
            return self._refusal
        self._asked = True
        parent = self.parent
        live = self.api.get(parent.kind, parent.namespace, parent.name)["metadata"]
        if live["uid"] != parent.uid:
            self._refusal = f"original {describe(parent)} is gone: got uid {live['uid']}, wanted {parent.uid}"
        elif "deletionTimestamp" in live:
            self._refusal = f"{parent.namespace}/{parent.name} has just been deleted at {live['deletionTimestamp']}"
        return self._refusal


def desired(parent: Entry, children: Iterable[Object]) -> Desired:
    """Sort the children of an answer by kind and name; the last of two with one name counts.

    Raises ManageErrors for a child whose ``controller-uid`` is somebody else's: it would be orphaned at once.
    """
    result: Desired = {}
    for child in children:
        get = (child.get("metadata") or {}).get
        labels = get("labels")  # stubs, of which there are thousands, have none
        if labels and labels.get(CONTROLLER_UID, parent.uid) != parent.uid:
            raise ManageErrors([f"labels on desired child {_wanted_name(parent, child)} don't match parent selector"])
        namespace, type_ = get("namespace") or parent.namespace, (child.get("apiVersion", ""), child["kind"])
        if type_ not in result:
            result[type_] = {}
        result[type_][f"{namespace}/{get('name', '')}" if namespace else get("name", "")] = child
    return result


def manage(
    api: Api,
    parent: Entry,
    observed: Observed,
    wanted: Desired,
    order: Callable[[list[Object]], list[Object]],
    in_place: Collection[Kind] = (),
) -> None:
    """Delete children that are not wanted, create those that are missing; raises ManageErrors after trying all.

    Children of the kinds ``in_place`` become what is wanted. Kinds go by group, version and kind; within a kind the
    order is anybody's guess, so ``order`` may draw it.
    """
    problems: list[str] = []
    by_type = {(kind.api_version, kind.kind): entries for kind, entries in observed.items()}
    for kind in sorted(observed, key=lambda kind: _kind_order((kind.api_version, kind.kind))):
        problems += _delete_undesired(api, observed[kind], wanted.get((kind.api_version, kind.kind), {}))
    for type_ in sorted(wanted, key=_kind_order):
        if api.kind_of(*type_) is None:
            problems.append(f"discovery: can't find kind {type_[1]} in apiVersion {type_[0]}")
            continue
        known = by_type.get(type_, {})
        if any((kind.api_version, kind.kind) == type_ for kind in in_place):
            problems += _update(api, parent, known, wanted[type_])
        missing = [child for name, child in wanted[type_].items() if name not in known]
        problems += _create(api, parent, order(missing))
    if problems:
        raise ManageErrors(problems)


def _kind_order(type_: tuple[str, str]) -> tuple[str, str, str]:
    group, _, version = type_[0].rpartition("/")
    return (group, version, type_[1])


def _delete_undesired(api: Api, known: Mapping[str, Entry], wanted: Mapping[str, Object]) -> list[str]:
    problems = []
    for name, child in known.items():
        if child.deleting or name in wanted:
            continue
        try:
            api.delete(child, "Background")
        except NotFound:
            continue
        except ApiError as error:
            problems.append(f"can't delete {describe(child)}: {error}")
    return problems


def _update(api: Api, parent: Entry, known: Mapping[str, Entry], wanted: Mapping[str, Object]) -> list[str]:
    problems = []
    for name, child in known.items():
        if name not in wanted or child.deleting:
            continue
        try:
            changed = updated(child.obj, _completed(parent, wanted[name]))
            if changed != child.obj:
                api.update(changed)
        except (NotFound, Conflict):
            continue  # gone, or somebody was faster, whose change is seen and answered
        except (ApiError, ApplyError) as error:
            problems.append(str(error))
    return problems


def _create(api: Api, parent: Entry, missing: Iterable[Object]) -> list[str]:
    problems = []
    for child in missing:
        try:
            api.create(_to_create(parent, child))
        except AlreadyExists:
            continue  # swallowed by Metacontroller too: whose it is is not looked at
        except ApiError as error:
            problems.append(str(error))
    return problems


def _completed(parent: Entry, child: Object) -> Object:
    """Put a child into its parent's namespace, with the label that makes it its child."""
    fields = dict(child.get("metadata") or {})
    if not fields.get("namespace") and parent.namespace:
        fields["namespace"] = parent.namespace
    fields["labels"] = {CONTROLLER_UID: parent.uid, **(fields.get("labels") or {})}
    return {**child, "metadata": fields}


def _to_create(parent: Entry, child: Object) -> Object:
    """Complete a child: the annotation that repeats it, and the parent behind its own owners."""
    child = _completed(parent, child)
    fields = child["metadata"]
    annotations = {**(fields.get("annotations") or {}), LAST_APPLIED: encode_sorted(child).decode()}
    owners = [*(fields.get("ownerReferences") or ()), owned_by(parent)]
    return with_metadata(child, annotations=annotations, ownerReferences=owners)


def _wanted_name(parent: Entry, child: Object) -> str:
    fields = child.get("metadata") or {}
    return f"{child['kind']} {fields.get('namespace') or parent.namespace}/{fields.get('name', '')}"


def change_live(api: Api, entry: Entry, change: Callable[[Object], Object | None]) -> Object:
    """Read an object live, change it, write it back, again when somebody was faster; None writes nothing.

    Raises NotFound when the name is free or has another UID, Conflict after four attempts.
    """
    for attempt in range(CONFLICT_RETRIES):
        live = api.get(entry.kind, entry.namespace, entry.name)
        if live["metadata"]["uid"] != entry.uid:
            raise NotFound(f'{entry.kind.group_resource} "{entry.name}" not found')
        changed = change(live)
        if changed is None:
            return live
        try:
            return api.update(changed)
        except Conflict:
            if attempt == CONFLICT_RETRIES - 1:
                raise
    raise AssertionError("unreachable")


def describe(entry: Entry) -> str:
    """Name an object in an error: kind, namespace and name."""
    return f"{entry.kind.kind} {entry.qualified_name}"


def _references(obj: Object) -> list[Object]:
    references: list[Object] = obj["metadata"].get("ownerReferences") or []
    return references


def _with_owners(obj: Object, references: list[Object]) -> Object:
    return with_metadata(obj, ownerReferences=references or None)
