"""The product's own hooks and admission, called in this process: what the simulator and offline commands run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from cli.simulator.entry import Object
from cli.simulator.protocol import HookCaller, HookResponse
from cli.simulator.simulation import HookContext
from sync_hooks.admission.admit import admit
from sync_hooks.api.errors import FieldError
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
