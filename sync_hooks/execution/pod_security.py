"""Which pods a namespace's PodSecurity level would refuse; the parts of the standards that workloads run into."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sync_hooks.api.trainer import JsonObject
from sync_hooks.execution.pods_of_plan import containers_of

ENFORCE = "pod-security.kubernetes.io/enforce"
BASELINE = "baseline"
RESTRICTED = "restricted"

BASELINE_CAPABILITIES = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
RESTRICTED_CAPABILITIES = frozenset({"NET_BIND_SERVICE"})
HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
CONFINED = ("RuntimeDefault", "Localhost")


def violations(level: str, pods: Sequence[JsonObject]) -> list[str]:
    """Say what a level refuses about pods, each thing once; nothing for a level that is not enforced or not known."""
    if level not in (BASELINE, RESTRICTED):
        return []
    found = [problem for pod in pods for problem in _baseline(pod, level)]
    if level == RESTRICTED:
        found += [problem for pod in pods for problem in _restricted(pod)]
    return list(dict.fromkeys(found))


def _baseline(pod: JsonObject, level: str) -> Iterable[str]:
    allowed = RESTRICTED_CAPABILITIES if level == RESTRICTED else BASELINE_CAPABILITIES
    yield from (f"{name}" for name in HOST_NAMESPACES if pod.get(name))
    yield from (f"hostPath volume {item.get('name')}" for item in pod.get("volumes") or () if item.get("hostPath"))
    for container in containers_of(pod):
        context = container.get("securityContext") or {}
        name = container.get("name")
        if context.get("privileged"):
            yield f"privileged container {name}"
        added = sorted(set((context.get("capabilities") or {}).get("add") or ()) - allowed)
        if added:
            yield f"capabilities {', '.join(added)} of container {name}"
        if any(port.get("hostPort") for port in container.get("ports") or ()):
            yield f"host ports of container {name}"


def _restricted(pod: JsonObject) -> Iterable[str]:
    of_pod = pod.get("securityContext") or {}
    for container in containers_of(pod):
        context: dict[str, Any] = {**of_pod, **(container.get("securityContext") or {})}
        name = container.get("name")
        if context.get("runAsNonRoot") is not True:
            yield f"container {name} may run as root"
        if context.get("allowPrivilegeEscalation") is not False:
            yield f"container {name} allows privilege escalation"
        if "ALL" not in ((context.get("capabilities") or {}).get("drop") or ()):
            yield f"container {name} does not drop all capabilities"
        if (context.get("seccompProfile") or {}).get("type") not in CONFINED:
            yield f"container {name} has no seccomp profile"
