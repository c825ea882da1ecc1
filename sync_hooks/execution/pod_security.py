"""Which pods a namespace's PodSecurity level would refuse: Kubernetes' Pod Security Standards, a row a control.

Where supported versions of Kubernetes differ the most lenient counts, because a refusal ends planning: probes and hooks
of a lifecycle may name a host, and what user namespaces excuse is excused. Annotations of AppArmor are not looked at,
since the API server copies them into the fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sync_hooks.api.trainer import JsonObject
from sync_hooks.planning.pods import containers_of

ENFORCE = "pod-security.kubernetes.io/enforce"
BASELINE = "baseline"
RESTRICTED = "restricted"
LEVELS = {BASELINE: (BASELINE,), RESTRICTED: (BASELINE, RESTRICTED)}
"""The controls of which levels a level enforces."""

POD = ("pod",)
CONTAINERS = ("container",)
EVERYWHERE = ("pod", "container")


@dataclass(frozen=True, slots=True)
class Control:
    """What a field of a pod spec, of its containers, or of both may be; a field that is not set is allowed."""

    level: str
    where: tuple[str, ...]
    path: str
    """Steps from there: ``[]`` goes through a list, ``*`` means the names of an object's fields but for ``name``."""
    problem: str
    """What is wrong, behind who it is about; ``{}`` are the values."""
    allowed: tuple[Any, ...] = ()
    refused: tuple[Any, ...] = ()
    """Where it is not empty, every other value is allowed."""
    required: bool = False
    """One of the allowed values must be there; a container that has none has the pod's."""
    excused: bool = False
    """Says nothing of pods with a user namespace of their own."""


CONTROLS = (
    Control(
        *(BASELINE, EVERYWHERE, "securityContext.windowsOptions.hostProcess", "is a process of the host"),
        allowed=(False,),
    ),
    Control(BASELINE, POD, "hostNetwork", "shares the host's network", allowed=(False,)),
    Control(BASELINE, POD, "hostPID", "shares the host's processes", allowed=(False,)),
    Control(BASELINE, POD, "hostIPC", "shares the host's IPC", allowed=(False,)),
    Control(BASELINE, CONTAINERS, "securityContext.privileged", "is privileged", allowed=(False,)),
    Control(
        *(BASELINE, CONTAINERS, "securityContext.capabilities.add[]", "adds capabilities {}"),
        allowed=(
            *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
            *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
        ),
    ),
    Control(BASELINE, POD, "volumes[].*", "has volumes of type {}", refused=("hostPath",)),
    Control(BASELINE, CONTAINERS, "ports[].hostPort", "has host ports {}", allowed=(0,)),
    Control(
        *(BASELINE, EVERYWHERE, "securityContext.appArmorProfile.type", "has AppArmor profile {}"),
        allowed=("RuntimeDefault", "Localhost"),
    ),
    Control(
        *(BASELINE, EVERYWHERE, "securityContext.seLinuxOptions.type", "has SELinux type {}"),
        allowed=("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"),
    ),
    Control(BASELINE, EVERYWHERE, "securityContext.seLinuxOptions.user", "has SELinux user {}", allowed=("",)),
    Control(BASELINE, EVERYWHERE, "securityContext.seLinuxOptions.role", "has SELinux role {}", allowed=("",)),
    Control(
        *(BASELINE, CONTAINERS, "securityContext.procMount", "mounts /proc {}"),
        allowed=("Default",),
        excused=True,
    ),
    Control(
        *(BASELINE, EVERYWHERE, "securityContext.seccompProfile.type", "has seccomp profile {}"),
        allowed=("RuntimeDefault", "Localhost"),
    ),
    Control(
        *(BASELINE, POD, "securityContext.sysctls[].name", "sets sysctls {}"),
        allowed=(
            *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports"),
            *("net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout"),
            *("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time"),
            *("net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem"),
        ),
    ),
    Control(
        *(RESTRICTED, POD, "volumes[].*", "has volumes of type {}"),
        allowed=(
            *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim"),
            *("projected", "secret"),
        ),
    ),
    Control(
        *(RESTRICTED, CONTAINERS, "securityContext.allowPrivilegeEscalation", "allows privilege escalation"),
        allowed=(False,),
        required=True,
    ),
    Control(
        *(RESTRICTED, EVERYWHERE, "securityContext.runAsNonRoot", "may run as root"),
        allowed=(True,),
        required=True,
        excused=True,
    ),
    Control(
        *(RESTRICTED, EVERYWHERE, "securityContext.runAsUser", "runs as user {}"),
        refused=(0,),
        excused=True,
    ),
    Control(
        *(RESTRICTED, EVERYWHERE, "securityContext.seccompProfile.type", "has no allowed seccomp profile"),
        allowed=("RuntimeDefault", "Localhost"),
        required=True,
    ),
    Control(
        *(RESTRICTED, CONTAINERS, "securityContext.capabilities.drop[]", "does not drop all capabilities"),
        allowed=("ALL",),
        required=True,
    ),
    Control(
        *(RESTRICTED, CONTAINERS, "securityContext.capabilities.add[]", "adds capabilities {}"),
        allowed=("NET_BIND_SERVICE",),
    ),
)
"""A stricter row takes the place of one with the same path: https://kubernetes.io/docs/concepts/security/pod-security-standards/."""


def violations(level: str, pods: Sequence[JsonObject]) -> list[str]:
    """Say what a level refuses about pods, each thing once; nothing for a level that is not enforced or not known."""
    controls = {control.path: control for control in CONTROLS if control.level in LEVELS.get(level, ())}
    found = [problem for pod in pods for control in controls.values() for problem in _problems(control, pod)]
    return list(dict.fromkeys(found))


def _problems(control: Control, pod: JsonObject) -> Iterator[str]:
    if control.excused and pod.get("hostUsers") is False:
        return
    of_pod = list(_values(pod, control.path)) if "pod" in control.where else []
    if of_pod and (problem := _problem(control, of_pod)):
        yield f"the pod {problem}"
    if "container" not in control.where:
        return
    for container in containers_of(pod):
        own = list(_values(container, control.path))
        if problem := _problem(control, own or (of_pod if control.required else [])):
            yield f"container {container.get('name')} {problem}"


def _problem(control: Control, values: Sequence[Any]) -> str:
    """Return what is wrong with the values of a field, empty where nothing is."""
    if control.required:
        return "" if any(value in control.allowed for value in values) else control.problem
    bad = {str(value) for value in values if _is_refused(control, value)}
    return control.problem.format(", ".join(sorted(bad))) if bad else ""


def _is_refused(control: Control, value: Any) -> bool:
    return value in control.refused if control.refused else value not in control.allowed


def _values(found: Any, path: str) -> Iterator[Any]:
    """Yield what stands at a path; what is null or of another shape stands nowhere."""
    step, _, rest = path.partition(".")
    values: Sequence[Any] = ()
    if isinstance(found, Mapping):
        value = found.get(step.removesuffix("[]"))
        listed = value if isinstance(value, list) else ()
        values = [key for key in found if key != "name"] if step == "*" else listed if step.endswith("[]") else [value]
    for value in values:
        if rest:
            yield from _values(value, rest)
        elif value is not None:
            yield value
