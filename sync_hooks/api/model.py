"""What every model of the API shares: camelCase outside, snake_case inside, docstrings that become CRD descriptions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from sync_hooks.api.limits import DURATION_PATTERN

GROUP = "cre.nvidia.com"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

LONGEST_MESSAGE = 32768  # characters of a condition's message, as in metav1.Condition

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""RFC 3339, UTC, whole seconds, as `time.rfc3339` writes it."""

Duration = Annotated[str, Field(json_schema_extra={"maxLength": 64, "pattern": DURATION_PATTERN})]
"""A Go duration: ``90s``, ``1h30m``; `duration.parse_duration` reads it, admission says what is wrong with it."""

Int32 = Annotated[int, Field(strict=True, ge=-(2**31), le=2**31 - 1, json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(strict=True, json_schema_extra={"format": "int64"})]
Bool = Annotated[bool, Field(strict=True)]
Float = Annotated[float, Field(json_schema_extra={"format": "double"})]

CoreObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})]
"""An object of Kubernetes' own (EnvVar, Volume, Container): open in the schema, checked in admission."""


class ApiModel(BaseModel):
    """Base of all API types: frozen, strict about types, closed to unknown fields.

    The docstring under a field becomes its CRD description: `schema` takes it from the source, because pydantic would
    read every source at import. Validators are built when first used: a command that validates needs few of them.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        defer_build=True,
    )

    def to_dict(self) -> dict[str, Any]:
        """Write the object as the API stores it: camelCase, only fields that are set, no nulls, 300 and not 300.0."""
        written: dict[str, Any] = _whole_floats_as_ints(self.model_dump(mode="json", by_alias=True, exclude_none=True))
        return written


_LEAVES = frozenset({str, int, bool})
"""Most of a status, for which no call is worth its while."""


def _whole_floats_as_ints(value: Any) -> Any:
    """Do what the API server does when it stores JSON, so that a status read back equals the one that was sent."""
    if isinstance(value, dict):
        return {key: part if type(part) in _LEAVES else _whole_floats_as_ints(part) for key, part in value.items()}
    if isinstance(value, list):
        return [part if type(part) in _LEAVES else _whole_floats_as_ints(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Condition(ApiModel):
    """One observation of the object's state, as Kubernetes' metav1.Condition."""

    type: str = Field(max_length=316)
    """Kind of the condition, for example Succeeded."""
    status: str = Field(pattern="^(True|False|Unknown)$")
    """Whether it holds: True, False or Unknown."""
    reason: str = Field(min_length=1, max_length=1024)
    """Why, as one CamelCase word that programs may compare."""
    message: str = Field(max_length=LONGEST_MESSAGE)
    """Why, as a sentence for people."""
    last_transition_time: Timestamp
    """When the status last changed."""
    observed_generation: Int64 | None = None
    """The generation of the spec that this was observed of."""


class LocalObjectReference(ApiModel):
    """Names an object in the same namespace."""

    name: str = Field(min_length=1, max_length=253)
    """Name of the object."""


class TypedLocalObjectReference(ApiModel):
    """Names an object of a given kind in the same namespace."""

    api_group: str | None = None
    """Group of the kind; absent for the core group."""
    kind: str
    """Kind of the object."""
    name: str
    """Name of the object."""


class ObjectReference(ApiModel):
    """Names one particular object: its UID tells it from a later one of the same name."""

    api_version: str
    """Group and version of the kind."""
    kind: str
    """Kind of the object."""
    name: str
    """Name of the object."""
    namespace: str | None = None
    """Namespace of the object."""
    uid: str | None = None
    """UID of the object."""
