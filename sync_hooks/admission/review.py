"""An admission request and its answer, for both faces: /mutate adds and refuses early, /validate has the last word.

Order: what is none of our business is allowed; an update is held against the stored object; a new object is admitted.
The API server calls /validate only if its own schema finds nothing, so a new object is refused by /mutate already:
then its author sees every error at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sync_hooks.admission.admit import Admitted, admit
from sync_hooks.admission.causes import invalid
from sync_hooks.admission.defaulting import carried_over
from sync_hooks.admission.patch import Operation, additions
from sync_hooks.admission.rules import KindRules, kind_rules
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError, cut
from sync_hooks.api.limits import IMMUTABLE
from sync_hooks.api.model import GROUP

MOST_WARNINGS = 16  # the API server shows 4 kB of them
LONGEST_NAMED = 5  # changed fields in one sentence


class Face(Enum):
    """Which of the two webhooks was called."""

    MUTATE = "mutate"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class Request:
    """What we look at of an AdmissionRequest. Objects are as JSON has them, None where the request has none."""

    operation: str
    group: str
    version: str
    kind: str
    name: str = ""
    sub_resource: str = ""
    object: Any = None
    old_object: Any = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an object is refused, as a metav1.Status says it."""

    code: int
    reason: str
    message: str
    causes: tuple[FieldError, ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """The answer: allowed unless there is a refusal, with what is to be added."""

    refusal: Refusal | None = None
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.refusal is None


ALLOWED = Response()


def review(request: Request, face: Face) -> Response:
    """Answer one request. Has no effect but its answer, so that a dry run is like any other."""
    if request.group != GROUP or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return ALLOWED
    api_version = f"{request.group}/{request.version}"
    rules = kind_rules(api_version, request.kind)
    if rules is None:
        return Response(Refusal(400, "BadRequest", f"there are no rules for {cut(request.kind)} of {cut(api_version)}"))
    if request.operation == "UPDATE":
        return _updated(request, rules, face)
    return _created(request, face)


def _created(request: Request, face: Face) -> Response:
    admitted = admit(request.object)
    if admitted.errors:
        return _refused(request, admitted.errors, admitted.warnings)
    patch = tuple(additions(request.object, admitted.object)) if face is Face.MUTATE else ()
    return Response(patch=patch, warnings=admitted.warnings[:MOST_WARNINGS])


def _updated(request: Request, rules: KindRules, face: Face) -> Response:
    """Answer an update: the spec of a run stays as it was stored; metadata and status are not our business."""
    if face is Face.MUTATE:
        carried = carried_over(request.object, request.old_object, rules.defaults)
        return Response(patch=tuple(additions(request.object, carried)))
    spec, old = Value(request.object).field("spec"), Value(request.old_object).field("spec")
    if spec.json == old.json:
        return ALLOWED
    if rules.immutable:
        return _refused(request, [_changed(spec, old)], ())
    admitted: Admitted = admit(request.object)
    if admitted.errors:
        return _refused(request, admitted.errors, admitted.warnings)
    return Response(warnings=admitted.warnings[:MOST_WARNINGS])


def _changed(spec: Value, old: Value) -> FieldError:
    names = sorted(spec.fields.keys() | old.fields.keys())
    changed = [name for name in names if spec.fields.get(name) != old.fields.get(name)]
    listed = ", ".join(cut(name) for name in changed[:LONGEST_NAMED])
    more = f" and {len(changed) - LONGEST_NAMED} more" if len(changed) > LONGEST_NAMED else ""
    told = f" ({listed}{more} would change)" if listed else ""
    return invalid(spec, f"{IMMUTABLE['message']}{told}: create an object of another name")


def _refused(request: Request, errors: Sequence[FieldError], warnings: Sequence[str]) -> Response:
    """Refuse as the API server refuses an invalid object of a built-in kind."""
    listed = [f"{error.field}: {error.message}" for error in errors]
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    message = f'{request.kind}.{GROUP} "{_name(request)}" is invalid: {text}'
    return Response(Refusal(422, "Invalid", message, tuple(errors)), warnings=tuple(warnings)[:MOST_WARNINGS])


def _name(request: Request) -> str:
    """Name the object as its author knows it; with generateName it has no name yet."""
    metadata = Value(request.object).field("metadata")
    return cut(request.name or metadata.field("name").text or metadata.field("generateName").text, 253)
