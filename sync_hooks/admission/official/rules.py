"""What fields of an official type may say together: one function a type. Of single fields the table speaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from sync_hooks.admission.causes import forbidden, invalid, not_supported, required
from sync_hooks.admission.official.amounts import amount_errors, requirement_errors
from sync_hooks.admission.validation.grammar import annotation_key, label_key
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.quantity import parse_quantity

NAMES_OF_PODS = ("metadata.name", "metadata.namespace", "metadata.uid")
OF_VARIABLES = (
    *NAMES_OF_PODS,
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
OF_FILES = (*NAMES_OF_PODS, "metadata.annotations", "metadata.labels")
DIVISORS = {
    "cpu": ("1m", "1"),
    "": ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
}
"""What an amount is told in: of CPUs, and of bytes."""

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def _container_errors(container: Value) -> Iterator[FieldError]:
    for name in ("livenessProbe", "startupProbe"):
        threshold = container.field(name, "successThreshold")
        if (threshold.number or 0) > 1:
            yield invalid(threshold, "must be 1: one success is enough")


def _propagation_errors(container: Value) -> Iterator[FieldError]:
    if container.field("securityContext", "privileged").json is True:
        return
    for mount in container.field("volumeMounts").elements():
        propagation = mount.field("mountPropagation")
        if propagation.json == "Bidirectional":
            yield forbidden(propagation, "only containers with securityContext.privileged may mount for others")


def _security_errors(context: Value) -> Iterator[FieldError]:
    escalation = context.field("allowPrivilegeEscalation")
    if escalation.json is not False:
        return
    added = {capability.text for capability in context.field("capabilities", "add").elements()}
    if context.field("privileged").json is True or added & {"CAP_SYS_ADMIN", "SYS_ADMIN"}:
        yield invalid(escalation, "must be true, or left out, in a container that is privileged or has SYS_ADMIN")


def _profile_errors(profile: Value) -> Iterator[FieldError]:
    type_, local = profile.field("type"), profile.field("localhostProfile")
    if type_.text and type_.json != "Localhost" and local.present:
        yield invalid(local, "may only be given with type Localhost")


def _local_errors(profile: Value) -> Iterator[FieldError]:
    local = profile.field("localhostProfile")
    if profile.field("type").json == "Localhost" and not local.text:
        yield required(local, "must be given with type Localhost")


def _variable_errors(variable: Value) -> Iterator[FieldError]:
    if isinstance(variable.fields.get("valueFrom"), dict) and variable.field("value").text:
        yield invalid(variable.field("valueFrom"), "may not be given together with a value")


def _source_errors(source: Value) -> Iterator[FieldError]:
    return _field_path_errors(source.field("fieldRef", "fieldPath"), OF_VARIABLES)


def _file_errors(file: Value) -> Iterator[FieldError]:
    return _field_path_errors(file.field("fieldRef", "fieldPath"), OF_FILES)


def _field_path_errors(path: Value, known: tuple[str, ...]) -> Iterator[FieldError]:
    if not path.text or path.text in known:
        return
    subscript = _SUBSCRIPT.fullmatch(path.text)
    if subscript is None:
        yield not_supported(path, (*known, "metadata.labels['KEY']", "metadata.annotations['KEY']"))
    elif sentence := (label_key if subscript[1] == "labels" else annotation_key)(subscript[2]):
        yield invalid(path, f"KEY {sentence}")


def _amount_source_errors(reference: Value) -> Iterator[FieldError]:
    """Check the unit that an amount is told in."""
    resource, divisor = reference.field("resource").text, reference.field("divisor")
    known = DIVISORS["cpu" if resource.endswith(".cpu") else ""]
    unit = parse_quantity(divisor.json)
    if resource and unit and unit not in {parse_quantity(text) for text in known}:
        yield not_supported(divisor, known)


def _volume_errors(volume: Value) -> Iterator[FieldError]:
    if len(sources := _sources(volume)) > 1:
        yield invalid(volume, f"exactly one source may be given, not {' and '.join(sources)}")
    limit = volume.field("emptyDir", "sizeLimit")
    if (size := parse_quantity(limit.json)) is not None and size < 0:
        yield invalid(limit, "must not be negative")


def _sourceless_errors(volume: Value) -> Iterator[FieldError]:
    if not _sources(volume):
        yield required(volume, "a source must be given, for example emptyDir: {}")


def _sources(volume: Value) -> list[str]:
    return sorted(name for name in volume.fields if name != "name" and volume.field(name).present)


def _ephemeral_errors(source: Value) -> Iterator[FieldError]:
    claim = source.field("volumeClaimTemplate", "spec")
    storage = claim.field("resources", "requests").key("storage")
    if isinstance(claim.json, dict) and not storage.present:
        yield required(storage, "must be given")


def _mount_errors(mount: Value) -> Iterator[FieldError]:
    path = mount.field("mountPath")
    if ":" in path.text:
        yield invalid(path, "must be a path without ':', which separates paths where containers are made")
    plain, expanded = mount.field("subPath"), mount.field("subPathExpr")
    if plain.text and expanded.text:
        yield invalid(expanded, "may not be given together with subPath")
    for path in (plain, expanded):
        if path.text.startswith("/") or ".." in path.text.split("/"):
            yield invalid(path, "must be a relative path without '..'")


def _read_only_errors(mount: Value) -> Iterator[FieldError]:
    recursive = mount.field("recursiveReadOnly")
    if recursive.json == "Enabled" and mount.field("readOnly").json is not True:
        yield forbidden(recursive, "only a mount with readOnly: true may be so")


def _toleration_errors(toleration: Value) -> Iterator[FieldError]:
    operator, value = toleration.field("operator"), toleration.field("value")
    if operator.json == "Exists" and value.text:
        yield invalid(value, "must be empty with operator Exists, which takes any")


def _keyless_errors(toleration: Value) -> Iterator[FieldError]:
    operator = toleration.field("operator")
    if not toleration.field("key").text and operator.json != "Exists":
        yield invalid(operator, "must be Exists without a key: then every taint is tolerated")
    seconds = toleration.field("tolerationSeconds")
    if seconds.present and toleration.field("effect").json != "NoExecute":
        yield invalid(toleration.field("effect"), "must be NoExecute with tolerationSeconds")


def _selection_errors(requirement: Value) -> Iterator[FieldError]:
    operator, values = requirement.field("operator"), requirement.field("values")
    if operator.json in ("In", "NotIn") and not values.json:
        yield required(values, f"must name at least one value for {operator.json}")
    if operator.json in ("Exists", "DoesNotExist") and values.json:
        yield forbidden(values, f"{operator.json} takes no values")
    if operator.json in ("Gt", "Lt") and (not isinstance(values.json, list) or len(values.json) != 1):
        yield required(values, f"must be one number for {operator.json}")


Rules = Mapping[str, Callable[[Value], Iterator[FieldError]]]

RULES: Rules = MappingProxyType(
    {
        "AppArmorProfile": _profile_errors,
        "Container": _container_errors,
        "DownwardAPIVolumeFile": _file_errors,
        "EnvVar": _variable_errors,
        "EnvVarSource": _source_errors,
        "NodeSelectorRequirement": _selection_errors,
        "ResourceFieldSelector": _amount_source_errors,
        "ResourceRequirements": amount_errors,
        "SeccompProfile": _profile_errors,
        "SecurityContext": _security_errors,
        "Toleration": _toleration_errors,
        "Volume": _volume_errors,
        "VolumeMount": _mount_errors,
        "meta.LabelSelectorRequirement": _selection_errors,
    }
)
"""What holds of a part too: what is said against each other is all given here."""

WHOLE_RULES: Rules = MappingProxyType(
    {
        "AppArmorProfile": _local_errors,
        "Container": _propagation_errors,
        "EphemeralVolumeSource": _ephemeral_errors,
        "ResourceRequirements": requirement_errors,
        "SeccompProfile": _local_errors,
        "Volume": _sourceless_errors,
        "Toleration": _keyless_errors,
        "VolumeMount": _read_only_errors,
    }
)
"""What misses something, and so holds only where everything is given."""
