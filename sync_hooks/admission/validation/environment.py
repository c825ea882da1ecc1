"""Environment variables: each name once, each with one value, none that is set already."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden
from sync_hooks.admission.validation.framework import UNSEEN_RESTARTS
from sync_hooks.admission.validation.pods import variable_use_errors
from sync_hooks.admission.validation.reserved import reserved_variables
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

SAME_IN_ALL_PODS = ("metadata.namespace", "spec.serviceAccountName")
MAX_RESTARTS = "PET_MAX_RESTARTS"  # torchrun's --max-restarts


def environment_errors(spec: Value) -> Iterator[FieldError]:
    """Check the variables of the workload."""
    yield from variable_errors(spec.field("env"))
    yield from variable_use_errors(spec)
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
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)
