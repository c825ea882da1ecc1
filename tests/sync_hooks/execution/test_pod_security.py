"""The Pod Security Standards, control by control: what each level refuses about pods, and what it lets be."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.execution.pod_security import violations

KINDS = ["initContainers", "containers", "ephemeralContainers"]
CONFINED: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def context(**fields: Any) -> dict[str, Any]:
    return {"securityContext": fields}


def confined(**fields: Any) -> dict[str, Any]:
    """A container that restricted allows, but for these fields of its context; None takes one away."""
    return context(**{key: value for key, value in {**CONFINED, **fields}.items() if value is not None})


def pod_with(container: dict[str, Any], kind: str = "containers", **spec: Any) -> dict[str, Any]:
    """A pod that restricted allows, with one more container, and with these fields."""
    good = {"name": "good", **confined()}
    return {**spec, "containers": [good], kind: [good, {"name": "bad", **container}]}


OF_PODS = [
    pytest.param(
        "baseline", context(windowsOptions={"hostProcess": True}), "is a process of the host", id="hostProcess"
    ),
    pytest.param("baseline", {"hostNetwork": True}, "shares the host's network", id="hostNetwork"),
    pytest.param("baseline", {"hostPID": True}, "shares the host's processes", id="hostPID"),
    pytest.param("baseline", {"hostIPC": True}, "shares the host's IPC", id="hostIPC"),
    pytest.param(
        *("baseline", {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "d", "hostPath": {"path": "/"}}]}),
        "has volumes of type hostPath",
        id="hostPath",
    ),
    pytest.param(
        *("baseline", context(appArmorProfile={"type": "Unconfined"}), "has AppArmor profile Unconfined"), id="AppArmor"
    ),
    pytest.param(*("baseline", context(seLinuxOptions={"type": "spc_t"}), "has SELinux type spc_t"), id="SELinux type"),
    pytest.param("baseline", context(seLinuxOptions={"user": "root"}), "has SELinux user root", id="SELinux user"),
    pytest.param("baseline", context(seLinuxOptions={"role": "r"}), "has SELinux role r", id="SELinux role"),
    pytest.param(
        *("baseline", context(seccompProfile={"type": "Unconfined"}), "has seccomp profile Unconfined"), id="seccomp"
    ),
    pytest.param(
        *("baseline", context(sysctls=[{"name": "kernel.shm_rmid_forced"}, {"name": "net.core.somaxconn"}])),
        "sets sysctls net.core.somaxconn",
        id="sysctls",
    ),
    pytest.param("restricted", {"volumes": [{"name": "d", "nfs": {}}]}, "has volumes of type nfs", id="volume types"),
    pytest.param("restricted", context(runAsNonRoot=False), "may run as root", id="runAsNonRoot"),
    pytest.param("restricted", context(runAsUser=0), "runs as user 0", id="runAsUser"),
    pytest.param(
        *("restricted", context(seccompProfile={"type": "Unconfined"}), "has no allowed seccomp profile"),
        id="restricted seccomp",
    ),
]

OF_CONTAINERS = [
    pytest.param(
        *("baseline", confined(windowsOptions={"hostProcess": True}), "is a process of the host"), id="hostProcess"
    ),
    pytest.param("baseline", confined(privileged=True), "is privileged", id="privileged"),
    pytest.param(
        *("baseline", confined(capabilities={"add": ["SYS_ADMIN", "CHOWN", "IPC_LOCK"]})),
        "adds capabilities IPC_LOCK, SYS_ADMIN",
        id="capabilities",
    ),
    pytest.param(
        *("baseline", {**confined(), "ports": [{"containerPort": 1}, {"hostPort": 22}]}, "has host ports 22"),
        id="host ports",
    ),
    pytest.param(
        *("baseline", confined(appArmorProfile={"type": "Unconfined"}), "has AppArmor profile Unconfined"),
        id="AppArmor",
    ),
    pytest.param(
        *("baseline", confined(seLinuxOptions={"type": "spc_t"}), "has SELinux type spc_t"), id="SELinux type"
    ),
    pytest.param("baseline", confined(seLinuxOptions={"user": "root"}), "has SELinux user root", id="SELinux user"),
    pytest.param("baseline", confined(seLinuxOptions={"role": "r"}), "has SELinux role r", id="SELinux role"),
    pytest.param("baseline", confined(procMount="Unmasked"), "mounts /proc Unmasked", id="procMount"),
    pytest.param(
        *("baseline", confined(seccompProfile={"type": "Unconfined"}), "has seccomp profile Unconfined"), id="seccomp"
    ),
    pytest.param(
        *("restricted", confined(allowPrivilegeEscalation=None), "allows privilege escalation"),
        id="privilege escalation",
    ),
    pytest.param("restricted", confined(runAsNonRoot=None), "may run as root", id="runAsNonRoot"),
    pytest.param("restricted", confined(runAsUser=0), "runs as user 0", id="runAsUser"),
    pytest.param(
        *("restricted", confined(seccompProfile=None), "has no allowed seccomp profile"), id="restricted seccomp"
    ),
    pytest.param(
        *("restricted", confined(capabilities={"drop": ["NET_RAW"]}), "does not drop all capabilities"), id="drop"
    ),
    pytest.param(
        *("restricted", confined(capabilities={"drop": ["ALL"], "add": ["CHOWN"]}), "adds capabilities CHOWN"),
        id="restricted capabilities",
    ),
]


@pytest.mark.parametrize(("level", "spec", "problem"), OF_PODS)
def test_a_level_refuses_what_a_pod_may_not_have(level: str, spec: dict[str, Any], problem: str):
    assert violations(level, [pod_with(confined(), **spec)]) == [f"the pod {problem}"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("level", "container", "problem"), OF_CONTAINERS)
def test_a_level_refuses_what_a_container_of_any_kind_may_not_have(
    level: str, container: dict[str, Any], problem: str, kind: str
):
    assert violations(level, [pod_with(container, kind)]) == [f"container bad {problem}"]


@pytest.mark.parametrize(("level", "spec", "problem"), OF_PODS)
def test_restricted_refuses_all_that_baseline_refuses_of_a_pod(level: str, spec: dict[str, Any], problem: str):
    assert len(violations("restricted", [pod_with(confined(), **spec)])) == 1
    assert violations("baseline", [pod_with(confined(), **spec)]) == [] or level == "baseline" or "seccomp" in problem


@pytest.mark.parametrize(("level", "container", "problem"), OF_CONTAINERS)
def test_restricted_refuses_all_that_baseline_refuses_of_a_container(
    level: str, container: dict[str, Any], problem: str
):
    assert violations("restricted", [pod_with(container)])
    assert violations("baseline", [pod_with(container)]) == [] or level == "baseline"


CAPABILITIES = (
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT"
)
SYSCTLS = (
    "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports "
    "net.ipv4.ip_unprivileged_port_start net.ipv4.ping_group_range net.ipv4.tcp_fin_timeout "
    "net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes net.ipv4.tcp_keepalive_time net.ipv4.tcp_rmem "
    "net.ipv4.tcp_syncookies net.ipv4.tcp_wmem"
)
VOLUMES = "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret"
LINUX_TYPES = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]
ALLOWED = [
    *(("baseline", context(capabilities={"add": [name]}), {}) for name in CAPABILITIES.split()),
    *(("restricted", confined(), context(sysctls=[{"name": name, "value": "1"}])) for name in SYSCTLS.split()),
    *(("restricted", confined(), {"volumes": [{"name": "v", name: {}}]}) for name in VOLUMES.split()),
    *(("restricted", confined(seLinuxOptions={"type": name}), {}) for name in LINUX_TYPES),
    *(("restricted", confined(appArmorProfile={"type": name}), {}) for name in ("RuntimeDefault", "Localhost")),
    *(("restricted", confined(seccompProfile={"type": name}), {}) for name in ("RuntimeDefault", "Localhost")),
    *(("baseline", context(seccompProfile={"type": name}), {}) for name in ("RuntimeDefault", "Localhost")),
    ("restricted", confined(capabilities={"drop": ["NET_RAW", "ALL"], "add": ["NET_BIND_SERVICE"]}), {}),
    ("restricted", confined(runAsNonRoot=None, seccompProfile=None), context(**CONFINED)),
    ("restricted", confined(runAsNonRoot=None), {**context(runAsNonRoot=None, runAsUser=0), "hostUsers": False}),
    ("restricted", confined(procMount="Unmasked", runAsUser=0), {"hostUsers": False}),
    ("restricted", confined(procMount="Default", privileged=False, runAsUser=1), {"hostUsers": True, "hostPID": False}),
    ("restricted", {**confined(seLinuxOptions={"user": "", "role": ""}), "ports": [{"hostPort": 0}]}, {}),
    ("restricted", confined(windowsOptions={"hostProcess": False}), {"hostIPC": False, "hostNetwork": False}),
    ("restricted", {**confined(procMount=None), "ports": None}, {"volumes": None, "securityContext": None}),
    ("baseline", {"securityContext": None}, {"volumes": [{"name": "d", "nfs": {}}]}),
    ("privileged", context(privileged=True), {"hostPID": True}),
    ("", context(privileged=True), {"hostPID": True}),
]


@pytest.mark.parametrize(("level", "container", "spec"), ALLOWED)
def test_what_the_standards_allow_ends_no_planning(level: str, container: dict[str, Any], spec: dict[str, Any]):
    assert violations(level, [pod_with(container, **spec)]) == []


def test_what_only_one_of_several_pods_has_is_told_once():
    bad = pod_with(confined(privileged=True))
    assert violations("baseline", [pod_with(confined()), bad, bad]) == ["container bad is privileged"]


def test_a_user_namespace_excuses_no_privilege():
    pod = pod_with(confined(privileged=True), hostUsers=False, hostPID=True)
    assert violations("baseline", [pod]) == ["the pod shares the host's processes", "container bad is privileged"]
