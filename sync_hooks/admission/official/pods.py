"""What the parts of a whole pod may say together. Every rule takes a pod spec of which nothing is missing.

The parts may also be those that a run gives to its pods: what is not given there says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sync_hooks.admission.causes import duplicate, forbidden, invalid, not_supported, required
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

GRACE_SECONDS = 30
"""What a pod has to end in where it does not say."""
KINDS = ("containers", "initContainers")
OF_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
ENDS = "an init container ends before others start, unless its restartPolicy is Always"
SETTINGS = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}
"""Settings of the kernel that are the host's where a pod shares its namespace."""
OF_PODS = ("cpu", "memory", "hugepages-<size>")
"""Resources that a pod can be given as a whole."""


def pod_errors(pod: Value) -> Iterator[FieldError]:
    """Check a pod by every rule."""
    for rule in (*OF_CONTAINERS, *OF_WHOLE):
        yield from rule(pod)


def own_errors(pod: Value) -> Iterator[FieldError]:
    """Check containers and volumes of a pod that is not put together yet."""
    for rule in OF_CONTAINERS:
        yield from rule(pod)


def _all_containers(pod: Value) -> Iterator[Value]:
    for kind in KINDS:
        yield from pod.field(kind).elements()


def _name_errors(pod: Value) -> Iterator[FieldError]:
    seen: set[str] = set()
    for container in _all_containers(pod):
        name = container.field("name")
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)
        if isinstance(container.json, dict) and container.field("image").json in (None, ""):
            yield required(container.field("image"), "must be given")


def init_errors(pod: Value) -> Iterator[FieldError]:
    """Check that init containers have nothing that only containers which stay can have."""
    for container in pod.field("initContainers").elements():
        if container.field("restartPolicy").json != "Always":
            yield from (forbidden(container.field(name), ENDS) for name in OF_SIDECARS if container.field(name).present)
            yield from _resize_errors(container, ENDS)


def _restart_errors(pod: Value) -> Iterator[FieldError]:
    """Check that nothing restarts a container in a pod of which none is restarted."""
    if pod.field("restartPolicy").json == "Never":
        for container in _all_containers(pod):
            yield from _resize_errors(container, "must be NotRequired in a pod with restartPolicy Never")


def _resize_errors(container: Value, why: str) -> Iterator[FieldError]:
    for policy in container.field("resizePolicy").elements():
        if (restart := policy.field("restartPolicy")).json == "RestartContainer":
            yield invalid(restart, why)


def _ending_errors(pod: Value) -> Iterator[FieldError]:
    given = pod.field("terminationGracePeriodSeconds").number
    grace = GRACE_SECONDS if given is None else given
    for container in _all_containers(pod):
        for hook in ("postStart", "preStop"):
            seconds = container.field("lifecycle", hook, "sleep", "seconds")
            if seconds.number is not None and seconds.number > max(grace, 0):
                yield invalid(seconds, f"must be at most {grace}, the pod's terminationGracePeriodSeconds")
        signal = container.field("lifecycle", "stopSignal")
        if signal.present and not pod.field("os", "name").text:
            yield forbidden(signal, "may only be given in a pod that says its os.name")


def _volume_errors(pod: Value) -> Iterator[FieldError]:
    volumes: dict[str, Value] = {}
    for volume in pod.field("volumes").elements():
        name = volume.field("name")
        if name.text and name.text in volumes:
            yield duplicate(name)
        volumes[name.text] = volume
    for container in _all_containers(pod):
        for device in container.field("volumeDevices").elements():
            yield from kind_errors(device.field("name"), volumes, ("ephemeral", "persistentVolumeClaim"))
        for variable in container.field("env").elements():
            file = variable.field("valueFrom", "fileKeyRef", "volumeName")
            yield from kind_errors(file, volumes, ("emptyDir",))


def kind_errors(name: Value, volumes: dict[str, Value], kinds: tuple[str, ...]) -> Iterator[FieldError]:
    """Check a volume that is there; one that is not is told elsewhere."""
    volume = volumes.get(name.text)
    if name.text and volume and not any(volume.field(kind).present for kind in kinds):
        yield invalid(name, f"must be a volume of {' or '.join(kinds)}")


def _claim_errors(pod: Value) -> Iterator[FieldError]:
    names = {claim.field("name").text for claim in pod.field("resourceClaims").elements()}
    for container in _all_containers(pod):
        seen: set[tuple[str, str]] = set()
        for claim in container.field("resources", "claims").elements():
            name, request = claim.field("name"), claim.field("request").text
            if name.text and name.text not in names:
                yield invalid(name, f"must be one of the pod's resourceClaims: {', '.join(sorted(names)) or 'none'}")
            elif {(name.text, request), (name.text, "")} & seen:
                yield duplicate(name)
            seen.add((name.text, request))


def _dns_errors(pod: Value) -> Iterator[FieldError]:
    servers = pod.field("dnsConfig", "nameservers")
    if pod.field("dnsPolicy").json == "None" and not servers.json:
        yield required(servers, "must be given with dnsPolicy None")


def _host_errors(pod: Value) -> Iterator[FieldError]:
    if pod.field("hostNetwork").json is True:
        for container in pod.field("containers").elements():
            yield from _host_port_errors(container)
    if pod.field("hostPID").json is True and pod.field("shareProcessNamespace").json is True:
        yield forbidden(pod.field("shareProcessNamespace"), "hostPID shares the host's")
    if pod.field("hostUsers").json is False:
        shared = (pod.field(name) for name in ("hostNetwork", "hostPID", "hostIPC"))
        yield from (forbidden(name, "may not be given with hostUsers: false") for name in shared if name.json is True)
    for sysctl in pod.field("securityContext", "sysctls").elements():
        for host, beginnings in SETTINGS.items():
            if pod.field(host).json is True and sysctl.field("name").text.replace("/", ".").startswith(beginnings):
                yield invalid(sysctl.field("name"), f"may not be given with {host}: it is the host's")


def _host_port_errors(container: Value) -> Iterator[FieldError]:
    for port in container.field("ports").elements():
        host = port.field("hostPort")
        if host.number and host.number != port.field("containerPort").number:
            yield invalid(host, "must be the containerPort, with hostNetwork")


def _user_errors(pod: Value) -> Iterator[FieldError]:
    """Check what only a pod with users of its own may have."""
    if pod.field("hostUsers").json is False:
        return
    for container in _all_containers(pod):
        mount = container.field("securityContext", "procMount")
        if mount.json == "Unmasked":
            yield invalid(mount, "may only be given in a pod with hostUsers: false")


def _hostname_errors(pod: Value) -> Iterator[FieldError]:
    name = pod.field("hostnameOverride")
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if name.present and pod.field(other).json is True:
            yield forbidden(name, f"may not be given with {other}")


def _resource_errors(pod: Value) -> Iterator[FieldError]:
    if pod.field("resources", "claims").json:
        yield forbidden(pod.field("resources", "claims"), "devices are claimed by containers")
    for part in ("limits", "requests"):
        for name, amount in pod.field("resources", part).entries():
            if name not in OF_PODS and not name.startswith("hugepages-"):
                yield not_supported(Value(name, amount.path), OF_PODS)


Rules = tuple[Callable[[Value], Iterator[FieldError]], ...]

OF_CONTAINERS: Rules = (init_errors, _restart_errors, _ending_errors, _volume_errors, _user_errors)
OF_WHOLE: Rules = (_name_errors, _claim_errors, _dns_errors, _host_errors, _hostname_errors, _resource_errors)
