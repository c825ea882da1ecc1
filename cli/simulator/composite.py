"""One CompositeController: what Metacontroller does between a parent's key in the queue and its new status.

A sync has three steps: `begin` reads the caches and makes the request, `apply_children` and `write_status` apply the
answer. Time passes between them, in which others write and watch events arrive; nothing here looks at the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cli.simulator import children
from cli.simulator.api import Api, Informers
from cli.simulator.children import Desired, ManageErrors, Observed
from cli.simulator.definition import Definition
from cli.simulator.entry import FOREGROUND, ORPHAN, Change, Entry, Object, encode, encode_sorted, with_metadata
from cli.simulator.errors import ApiError, Conflict, NotFound
from cli.simulator.protocol import Answer, HookFailed, HookName, HookResponse, read_answer, request_body

Key = tuple[str, str]
"""A parent by namespace and name."""


class SyncError(Exception):
    """A sync that failed: it is retried, and its text becomes a SyncError event on the parent."""


@dataclass(frozen=True, slots=True)
class Call:
    """One hook call, and everything that it was made of."""

    parent: Entry
    observed: Observed
    hook: HookName
    body: bytes


@dataclass(frozen=True, slots=True)
class Applied:
    """An answer whose children were dealt with; what is left is the status."""

    parent: Entry
    answer: Answer
    problem: ManageErrors | None


class Controller:
    """A started CompositeController; ``enqueue`` is told which parents to sync.

    ``order`` draws the order in which the missing children of one kind are created: Metacontroller's own is random.
    """

    def __init__(
        self,
        definition: Definition,
        api: Api,
        informers: Informers,
        enqueue: Callable[[Key], None],
        order: Callable[[list[Object]], list[Object]] = list,
    ) -> None:
        self.definition = definition
        self._api = api
        self._informers = informers
        self._enqueue = enqueue
        self._order = order
        self._controller = encode(definition.obj)
        self._parents = informers.of(definition.parent)

    def start(self) -> None:
        """Subscribe to parents and children; what is there already is enqueued."""
        self._parents.subscribe(self._on_parent)
        for kind in self.definition.children:
            self._informers.of(kind).subscribe(self._on_child)

    def resync(self) -> None:
        """Enqueue every parent, as the informer's periodic resync does; ``ignoreStatusChanges`` lets it pass."""
        for parent in list(self._parents.entries()):
            self._enqueue_parent(parent)

    # Events

    def _on_parent(self, change: Change) -> None:
        if change.type == "MODIFIED" and change.old is not None and self._is_status_only(change.old, change.entry):
            return
        self._enqueue_parent(change.entry)

    def _is_status_only(self, old: Entry, new: Entry) -> bool:
        return (
            self.definition.ignores_status
            and old is not new
            and old.metadata.get("generation") == new.metadata.get("generation")
            and old.labels == new.labels
            and (old.metadata.get("annotations") or {}) == (new.metadata.get("annotations") or {})
            and not new.deleting
        )

    def _enqueue_parent(self, parent: Entry) -> None:
        if self._is_ours(parent):
            self._enqueue(parent.key)

    def _is_ours(self, parent: Entry) -> bool:
        definition = self.definition
        return definition.selector.matches(parent.labels) or definition.finalizer in parent.finalizers

    def _on_child(self, change: Change) -> None:
        child = change.entry
        if change.type == "MODIFIED" and change.old is not None and change.old.version == child.version:
            return  # a relist; parents have a resync of their own
        if child.controller is not None:
            self._enqueue_owner(child)
        elif change.type != "DELETED" and not child.deleting:
            self._enqueue_adopters(child)

    def _enqueue_owner(self, child: Entry) -> None:
        kind = self.definition.parent
        references = child.metadata["ownerReferences"]
        reference = next(item for item in references if item.get("controller"))
        if reference["apiVersion"].rpartition("/")[0] != kind.group or reference["kind"] != kind.kind:
            return
        parent = self._parents.find(child.namespace if kind.namespaced else "", reference["name"])
        if parent is not None and parent.uid == reference["uid"]:
            self._enqueue_parent(parent)

    def _enqueue_adopters(self, child: Entry) -> None:
        uid = child.labels.get("controller-uid")
        for parent in list(self._parents.entries()) if uid else ():
            if parent.uid == uid and parent.namespace in ("", child.namespace):
                self._enqueue_parent(parent)

    # A sync

    def begin(self, key: Key) -> Call | None:
        """Read the caches and make the request; None where there is nothing to do. Raises SyncError."""
        parent = self._parents.find(*key)
        if parent is None or not self._is_ours(parent):
            return None
        parent = self._with_finalizer(parent)
        if not self._is_ours(parent):
            return None
        try:
            observed = children.claim(self._api, self._informers, parent, self.definition.children)
        except ManageErrors as error:
            raise SyncError(f"can't claim children: {error}") from error
        hook = self._hook(parent)
        body = request_body(
            self._controller,
            parent,
            {kind.key: entries.values() for kind, entries in observed.items()},
            finalizing=hook == "finalize",
        )
        return Call(parent, observed, hook, body)

    def apply_children(self, call: Call, response: HookResponse, plan: Callable[[float], None]) -> Applied:
        """Delete and create children; ``plan`` is told of a delayed resync. Raises SyncError and TooManyRequests.

        ``plan`` is called before anything can fail, so a resync that was asked for survives errors.
        """
        name = children.describe(call.parent)
        try:
            answer = read_answer(call.hook, response)
        except HookFailed as error:
            raise SyncError(f"sync hook failed for {name}: {error}") from error
        if answer.resync_after_seconds > 0:
            plan(answer.resync_after_seconds)
        parent = self._finalized(call.parent) if answer.finalized else call.parent
        try:
            wanted = children.desired(parent, answer.children or ())
        except ManageErrors as error:
            raise SyncError(str(error)) from error
        return Applied(parent, answer, self._manage(parent, call.observed, wanted))

    def write_status(self, applied: Applied) -> None:
        """Replace the live status. Raises SyncError, also for what went wrong with the children before."""
        name, problem = children.describe(applied.parent), applied.problem
        if self._replace_status(applied.parent, applied.answer) and problem is not None:
            raise SyncError(f"can't reconcile children for {name}: {problem}") from problem

    def _hook(self, parent: Entry) -> HookName:
        leaving = parent.deleting or not self.definition.selector.matches(parent.labels)
        return "finalize" if self.definition.finalizes and leaving else "sync"

    def _with_finalizer(self, parent: Entry) -> Entry:
        definition = self.definition
        if (definition.finalizer in parent.finalizers) == definition.finalizes:
            return parent
        if definition.finalizes and parent.deleting:
            return parent
        return self._change_finalizer(parent, "sync", present=definition.finalizes)

    def _finalized(self, parent: Entry) -> Entry:
        return self._change_finalizer(parent, "remove", present=False)

    def _change_finalizer(self, parent: Entry, verb: str, *, present: bool) -> Entry:
        name = self.definition.finalizer

        def change(obj: Object) -> Object | None:
            before = obj["metadata"].get("finalizers") or []
            if (name in before) == present:
                return None
            after = [*before, name] if present else [item for item in before if item != name]
            return with_metadata(obj, finalizers=after or None)

        try:
            return Entry(parent.kind, children.change_live(self._api, parent, change))
        except ApiError as error:
            raise SyncError(f"can't {verb} finalizer for {children.describe(parent)}: {error}") from error

    def _manage(self, parent: Entry, observed: Observed, wanted: Desired) -> ManageErrors | None:
        if parent.deleting and not self._may_finalize(parent):
            return None
        try:
            children.manage(self._api, parent, observed, wanted, self._order, self.definition.in_place)
        except ManageErrors as error:
            return error
        return None

    def _may_finalize(self, parent: Entry) -> bool:
        """Under the collector's own finalizers children are left alone, as they are once our finalizer is gone."""
        held = set(parent.finalizers)
        return self.definition.finalizes and self.definition.finalizer in held and not held & {FOREGROUND, ORPHAN}

    def _replace_status(self, parent: Entry, answer: Answer) -> bool:
        """Replace the live status; False when the parent is gone or changes too often, which both are swallowed."""
        status = {**(answer.status or {}), "observedGeneration": parent.metadata.get("generation", 0)}
        try:
            for _ in range(children.CONFLICT_RETRIES):
                live = self._api.get(parent.kind, parent.namespace, parent.name)
                if live["metadata"]["uid"] != parent.uid:
                    return False
                if _same(live.get("status"), status):
                    return True
                try:
                    self._api.update_status({**live, "status": status})
                except Conflict:
                    continue
                return True
        except NotFound:
            return False
        except ApiError as error:
            raise SyncError(f"can't update status for {children.describe(parent)}: {error}") from error
        return False


def _same(old: Object | None, new: Object) -> bool:
    """Compare as Go does: 300 and 300.0 differ, so a float that the API server stores whole is written at each sync."""
    return old is not None and old == new and encode_sorted(old) == encode_sorted(new)
