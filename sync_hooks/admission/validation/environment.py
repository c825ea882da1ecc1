"""Environment variables: each name once, each with one value, none that is set already."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, invalid, not_supported, required
from sync_hooks.admission.validation.framework import UNSEEN_RESTARTS
from sync_hooks.admission.validation.grammar import check, config_key, dns_subdomain, env_name
from sync_hooks.admission.validation.reserved import reserved_variables
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

SOURCES = ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")
FIELD_PATHS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
SAME_IN_ALL_PODS = ("metadata.namespace", "spec.serviceAccountName")
MAX_RESTARTS = "PET_MAX_RESTARTS"  # torchrun's --max-restarts
_RESOURCE = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.*)")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['[^']+'\]")


def environment_errors(spec: Value) -> Iterator[FieldError]:
    """Check the variables of the workload."""
    yield from variable_errors(spec.field("env"))
    taken = reserved_variables(spec)
    for variable in spec.field("env").elements():
        if (name := variable.field("name")).text in taken:
            yield forbidden(name, f"{name.text} is set by Kubeflow Trainer")


def environment_advice(spec: Value) -> Iterator[str]:
    """Point at values that are another pod's where a rank reads them, and at restarts that nobody sees."""
    mpi = spec.field("framework", "mpi").present
    for variable in spec.field("env").elements():
        if mpi:
            yield from _pod_advice(variable.field("valueFrom"))
        elif variable.field("name").text == MAX_RESTARTS and variable.field("value").json not in (None, "", "0"):
            yield f"{variable}: {UNSEEN_RESTARTS}"


def _pod_advice(source: Value) -> Iterator[str]:
    """Point at what is a pod's own: ssh strips the environment, and mpirun forwards what its own pod has."""
    for kind in ("fieldRef", "resourceFieldRef"):
        reference = source.field(kind)
        if reference.present and reference.field("fieldPath").text not in SAME_IN_ALL_PODS:
            yield f"{reference}: every rank gets the value of the launcher's pod, not of its own"


def variable_errors(variables: Value) -> Iterator[FieldError]:
    """Check a list of variables, wherever it stands."""
    seen: set[str] = set()
    for variable in variables.elements():
        name = variable.field("name")
        yield from check(name, env_name)
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)
        yield from _value_errors(variable)


def _value_errors(variable: Value) -> Iterator[FieldError]:
    source = variable.field("valueFrom")
    if not isinstance(source.json, dict):
        return
    given = [name for name in SOURCES if source.field(name).present]
    if variable.field("value").text:
        yield invalid(source, "may not be given together with a value")
    if len(given) > 1:
        yield invalid(source, f"exactly one source may be given, not {' and '.join(given)}")
    elif not source.json:
        yield required(source, f"one of {', '.join(SOURCES)} must be given")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        yield from _key_errors(source.field(kind))
    yield from _field_errors(source.field("fieldRef", "fieldPath"))
    resource = source.field("resourceFieldRef", "resource")
    if resource.text and not _RESOURCE.fullmatch(resource.text):
        yield invalid(resource, "must be limits or requests of cpu, memory, ephemeral-storage or hugepages-<size>")


def _key_errors(reference: Value) -> Iterator[FieldError]:
    if isinstance(reference.json, dict) and not reference.field("name").present:
        yield required(reference.field("name"), "must be given")
    yield from check(reference.field("name"), dns_subdomain)
    yield from check(reference.field("key"), config_key)


def _field_errors(path: Value) -> Iterator[FieldError]:
    if path.text and path.text not in FIELD_PATHS and not _SUBSCRIPT.fullmatch(path.text):
        yield not_supported(path, (*FIELD_PATHS, "metadata.labels['KEY']", "metadata.annotations['KEY']"))
