"""The product's own hooks and admission, called in this process: what the simulator and offline commands run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from cli.simulator.entry import Entry, Object
from cli.simulator.errors import Invalid
from cli.simulator.protocol import HookCaller, HookResponse
from cli.simulator.simulation import HookContext
from cli.simulator.store import Store
from sync_hooks.admission.admit import admit
from sync_hooks.admission.review import Face, Request, review
from sync_hooks.admission.rules import known_kinds
from sync_hooks.api.errors import FieldError
from sync_hooks.api.model import API_VERSION, GROUP, VERSION
from sync_hooks.overrides.jsonpatch import apply_json_patch
from webhook.answering import answer
from webhook.events import event_object


def hooks(context: HookContext) -> HookCaller:
    """Answer hook calls from a cluster's reads and clock, bytes in and bytes out as over HTTP."""

    def call(controller: str, hook: str, body: bytes) -> HookResponse:
        now = context.now()
        answered = answer(controller, hook, body, context.read, now)
        if answered.parent is not None:
            for event in answered.events:
                context.record(event_object(answered.parent, event, now))
        return HookResponse(answered.status, answered.body, answered.retry_after)

    return call


def admission(operation: Literal["CREATE"], obj: Object) -> Object | Sequence[FieldError]:  # noqa: ARG001 - a simulated user only creates
    """Admit objects of our own kinds as the server would; others pass."""
    if not str(obj.get("apiVersion", "")).startswith("cre.nvidia.com/"):
        return obj
    admitted = admit(obj)
    stored: dict[str, Any] = admitted.object
    return admitted.errors or stored


def install_admission(store: Store) -> None:
    """Have every object of our kinds reviewed as by the webhook, whoever writes it: the hooks' children too."""
    for kind in known_kinds():
        store.admit(API_VERSION, kind, _reviewed)


def _reviewed(operation: Literal["CREATE", "UPDATE"], obj: Object, old: Entry | None) -> Object:
    """Call both webhooks, as the API server does, but for what is being deleted; raises Invalid."""
    if old is not None and old.deleting:
        return obj
    for face in Face:
        stored = None if old is None else old.obj
        name = obj["metadata"].get("name", "")
        request = Request(operation, GROUP, VERSION, obj["kind"], name, object=obj, old_object=stored)
        response = review(request, face)
        if response.refusal is not None:
            raise Invalid(f'admission webhook "{face.value}.{GROUP}" denied the request: {response.refusal.message}')
        patched: Any = apply_json_patch(obj, list(response.patch)) if response.patch else obj
        obj = patched
    return obj
