"""From a request's bytes to an answer's bytes: decode, ask the pure hook, read what it wants, encode what may leave.

The encoder is the last guard: children of undeclared kinds and of other namespaces never leave, whatever a user's
override asked for. A request that no hook can understand ends with a reason in the status, never with an error that
Metacontroller would repeat for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from sync_hooks import bandwidth, goodput, job, workflow, workloadrun
from sync_hooks.api.conditions import INVALID_SPEC
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import CHILD_TYPES, Child, Request, decode
from sync_hooks.api.sync import Answer, Busy, Event, Observed, Read, Reads, Result, Unreadable
from sync_hooks.execution.answers import STALE_RESYNC_SECONDS, is_current, keep, own_read, stub
from sync_hooks.execution.refusal import refused

MOST_ROUNDS = 6  # a hook asks, looks and asks again; more means it never ends

PARENTS: Mapping[str, str] = {
    "cre-workloadruns": "WorkloadRun",
    "cre-workflows": "Workflow",
    "cre-jobs": "Job",
    "cre-jobs-devices": "Job",
    "cre-bandwidthmeasurements": "BandwidthMeasurement",
    "cre-goodputmeasurements": "GoodputMeasurement",
}

Hook = Callable[[Request, Observed, datetime], Answer]
Reader = Callable[[Read], Any]

HOOKS: Mapping[tuple[str, str], Hook] = {
    ("cre-workloadruns", "sync"): workloadrun.sync,
    ("cre-workflows", "sync"): workflow.sync,
    ("cre-jobs", "sync"): job.sync,
    ("cre-jobs-devices", "sync"): job.sync,
    ("cre-jobs-devices", "finalize"): job.finalize,
    ("cre-bandwidthmeasurements", "sync"): bandwidth.sync,
    ("cre-goodputmeasurements", "sync"): goodput.sync,
}


@dataclass(frozen=True, slots=True)
class HookResponse:
    """What goes back to Metacontroller, and what is to be told about the parent."""

    status: int
    body: bytes
    retry_after: int | None = None
    parent: LiveObject | None = None
    events: tuple[Event, ...] = ()
    pressing: bool | None = None
    """Whether the parent's next request is a step that nothing should hold up; None where the answer says nothing."""
    fault: str = ""
    """A fault of our own that the answer tells of, with its traceback."""
    passing: bool = False
    """What is in the way is being written at this moment: to ask again a moment later may bring another answer."""


# Where the CPU of a call goes, measured with the calls of a whole run: about half is HTTP (TLS, gunicorn, Flask), an
# eighth reads, the rest in small parts the decoder, models, conditions and the encoder. What grows with a run is read
# in one pass, and what is only sometimes looked at is not built (`sync_hooks.api.request`). Not taken, because each is
# a few hundredths of a millisecond: a memory of parsed objects by resourceVersion, which would have to be right; the
# parent without its spec, which the live read brings again; JobSets without theirs, where measurements find the roles.
# What counts is the number of calls.


def answer(controller: str, hook: str, body: bytes, read: Reader, now: datetime) -> HookResponse:
    """Answer one hook call; raises KeyError for no hook, msgspec.DecodeError for a body that is no JSON."""
    function = HOOKS[controller, hook]
    try:
        request = _with_status(decode(body))
    except msgspec.ValidationError as error:
        return _refuse(body, str(error), read, now)
    if request.parent.kind != PARENTS[controller]:
        return HookResponse(400, _text(f"the parent of {controller} is a {PARENTS[controller]}"))
    result = _ask(function, request, read, now)
    if isinstance(result, Busy):
        return HookResponse(429, _text(result.reason), result.retry_after, passing=result.passing)
    body = _encode(request, result, hook)
    return HookResponse(
        200, body, parent=request.parent, events=result.events, pressing=result.pressing, fault=result.fault
    )


def _with_status(request: Request) -> Request:
    """Give a parent that has no status yet an empty one: the hooks look at fields of it, not at whether it is there."""
    if request.parent.status is not None:
        return request
    return replace(request, parent=msgspec.structs.replace(request.parent, status={}))


def _ask(function: Hook, request: Request, read: Reader, now: datetime) -> Result | Busy:
    """Ask the hook, about the parent as it is.

    Metacontroller puts the answer's status in the place of the live one, and asks from a cache that is often older than
    its own last write: a status that was true for an older parent would turn back time. So the parent is read live
    first, at every call. Where the request was older its children may be too: then nothing is made, dropped or told.
    """
    own = own_read(request.parent)
    live = read(own)
    if isinstance(live, Unreadable):
        return _refuse_spec(function(request, {own: live}, now)) or Busy(f"the parent cannot be read: {live.reason}")
    if live is None or live.metadata.uid != request.parent.metadata.uid:
        return Busy("the parent is not there, or is not this one")  # an invented one must not read others' logs
    about = _with_status(replace(request, parent=live))  # of one version there is one spec, whoever the caller is
    result = _follow(function, about, {own: live}, read, now)
    if is_current(request.parent, live) or isinstance(result, Busy) or _is_harmless(about, result):
        return result
    return replace(keep(about, STALE_RESYNC_SECONDS), pressing=None)  # the next request is newer


def _follow(function: Hook, request: Request, observed: dict[Read, Any], read: Reader, now: datetime) -> Result | Busy:
    """Ask, look, and ask again, until there is an answer."""
    for _ in range(MOST_ROUNDS):
        result = function(request, observed, now)
        if not isinstance(result, Reads):
            return result
        observed.update({wanted: read(wanted) for wanted in result.reads if wanted not in observed})
    return Busy("the hook asked for more and more")


def _is_harmless(request: Request, result: Result) -> bool:
    """Tell whether an answer only adds what was seen: the children are those there are, no event is told of.

    What is known already stays, but for what is waited for, which may have come.
    """
    before = {(child.kind, child.name) for child in request.all_children()}
    after = {(child["kind"], child["metadata"]["name"]) for child in result.children}
    kept = (request.parent.status.keys() - {"waiting"}) <= result.status.keys()
    return before == after and kept and not (result.events or result.finalized)


def _refuse_spec(answer: Answer) -> Result | None:
    """Let through that a spec is refused: specs never change, so that is true of every version of the parent."""
    conditions = answer.status.get("conditions") or () if isinstance(answer, Result) else ()
    refused = any(item["status"] == "True" and item["reason"] == INVALID_SPEC for item in conditions)
    return answer if refused and isinstance(answer, Result) else None


def _encode(request: Request, result: Result, hook: str) -> bytes:
    declared = frozenset(tuple(kind.split(".", 1)) for kind in request.children)
    own = request.parent.metadata.namespace
    body: dict[str, Any] = {
        "status": result.status,
        "children": [child for child in result.children if _may_leave(child, declared, own)],
    }
    if result.resync_after > 0:
        body["resyncAfterSeconds"] = result.resync_after
    if hook == "finalize":
        body["finalized"] = result.finalized
    return msgspec.json.encode(body)


def _may_leave(child: Mapping[str, Any], declared: Set[tuple[str, ...]], own: str) -> bool:
    """Tell whether a child is of a declared kind and version, and in the parent's own namespace."""
    known = (child.get("kind"), child.get("apiVersion")) in declared
    return known and child.get("metadata", {}).get("namespace", own) == own


def _refuse(body: bytes, reason: str, read: Reader, now: datetime) -> HookResponse:
    """Answer a request whose objects have shapes that the API server should not have let in: keep all, say why."""
    request = _map(msgspec.json.decode(body))
    parent = _map(request.get("parent"))
    status = _status_now(parent, read)
    if isinstance(status, Unreadable):
        busy = Busy(f"the parent cannot be read: {status.reason}")
        return HookResponse(429, _text(busy.reason), busy.retry_after)
    children = (child for objects in _maps(request.get("children")) for child in _maps(objects))
    kept = [child for found in children if (child := _raw_stub(found))]
    written = refused(str(parent.get("kind")), status, reason, now)
    return HookResponse(200, msgspec.json.encode({"status": written, "children": kept}))


def _status_now(parent: Mapping[str, Any], read: Reader) -> Any:
    """Return the live status of a parent, whatever it is; the request's, where it is the parent that is broken."""
    try:
        known = msgspec.convert(parent, LiveObject)
    except msgspec.ValidationError:
        return parent.get("status")
    live = read(own_read(known))
    if isinstance(live, Unreadable):
        return live
    return live.status if live and live.metadata.uid == known.metadata.uid else known.status


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: Any) -> list[Any]:
    return list(_map(value).values())


def _raw_stub(child: Any) -> dict[str, Any] | None:
    if not isinstance(child, dict) or not isinstance(child.get("metadata"), dict):
        return None
    try:
        type_ = CHILD_TYPES.get(f"{child.get('kind')}.{child.get('apiVersion')}", Child)
        return stub(msgspec.json.decode(msgspec.json.encode(child), type=type_))
    except msgspec.ValidationError:
        name = child["metadata"].get("name")
        return {"apiVersion": child.get("apiVersion"), "kind": child.get("kind"), "metadata": {"name": name}}


def _text(message: str) -> bytes:
    return msgspec.json.encode({"error": {"message": message}})
