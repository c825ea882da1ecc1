"""What fields of an official type may say together: one function a type. Of single fields the table speaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from sync_hooks.admission.causes import duplicate, forbidden, invalid, not_supported, required
from sync_hooks.admission.official import jobs, placing, pods, volumes
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
    grace = container.field("readinessProbe", "terminationGracePeriodSeconds")
    if grace.present:
        yield forbidden(grace, "a container that is not ready is not ended")
    for name in ("livenessProbe", "startupProbe"):
        threshold = container.field(name, "successThreshold")
        if (threshold.number or 0) > 1:
            yield invalid(threshold, "must be 1: one success is enough")


def _whole_container_errors(container: Value) -> Iterator[FieldError]:
    yield from _propagation_errors(container)
    yield from _device_errors(container)
    if container.field("restartPolicyRules").json and not container.field("restartPolicy").text:
        yield required(container.field("restartPolicy"), "must be given with restartPolicyRules")


def _device_errors(container: Value) -> Iterator[FieldError]:
    mounts = list(container.field("volumeMounts").elements())
    names, places = ({mount.field(name).text for mount in mounts} for name in ("name", "mountPath"))
    for device in container.field("volumeDevices").elements():
        name, path = device.field("name"), device.field("devicePath")
        if name.text in names:
            yield invalid(name, "must be a device or a mount, not both")
        if path.text and path.text in places:
            yield duplicate(path)
        places.add(path.text)


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


def _windows_errors(options: Value) -> Iterator[FieldError]:
    process, user = options.field("hostProcess"), options.field("runAsUserName")
    if process.json is True:
        yield forbidden(process, "nodes with Linux have none")
    if user.json == "":
        yield invalid(user, "must not be empty")


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


Rules = Mapping[str, Callable[[Value], Iterator[FieldError]]]

RULES: Rules = MappingProxyType(
    {
        "AppArmorProfile": _profile_errors,
        "AzureDiskVolumeSource": volumes.azure_errors,
        "CSIVolumeSource": volumes.secret_errors,
        "Container": _container_errors,
        "DownwardAPIVolumeFile": _file_errors,
        "EnvVar": _variable_errors,
        "EnvVarSource": _source_errors,
        "FCVolumeSource": volumes.channel_errors,
        "NodeSelector": placing.label_values_errors,
        "NodeSelectorRequirement": placing.selection_errors,
        "NodeSelectorTerm": placing.node_field_errors,
        "PersistentVolumeClaimSpec": volumes.claim_errors,
        "PersistentVolumeClaimTemplate": volumes.claim_template_errors,
        "PodAffinityTerm": placing.label_key_errors,
        "PodSpec": placing.spread_errors,
        "ProjectedVolumeSource": volumes.projected_errors,
        "ResourceFieldSelector": _amount_source_errors,
        "ResourceRequirements": amount_errors,
        "SeccompProfile": _profile_errors,
        "SecurityContext": _security_errors,
        "Toleration": placing.toleration_errors,
        "TopologySpreadConstraint": placing.constraint_errors,
        "Volume": volumes.volume_errors,
        "VolumeMount": volumes.mount_errors,
        "WindowsSecurityContextOptions": _windows_errors,
        "batch.PodFailurePolicyOnExitCodesRequirement": jobs.exit_code_errors,
        "batch.SuccessPolicyRule": jobs.success_rule_errors,
        "device.ClaimTemplateSpec": volumes.claim_template_errors,
        "meta.LabelSelectorRequirement": placing.selection_errors,
        "trainer.PodSpecPatch": jobs.pod_patch_errors,
    }
)
"""What holds of a part too: what is said against each other is all given here."""

WHOLE_RULES: Rules = MappingProxyType(
    {
        "AppArmorProfile": _local_errors,
        "Container": _whole_container_errors,
        "DownwardAPIVolumeFile": volumes.file_source_errors,
        "PersistentVolumeClaimSpec": volumes.storageless_errors,
        "PodCertificateProjection": volumes.certificate_errors,
        "PodSpec": pods.pod_errors,
        "ResourceRequirements": requirement_errors,
        "SeccompProfile": _local_errors,
        "Toleration": placing.keyless_errors,
        "Volume": volumes.sourceless_errors,
        "VolumeMount": volumes.read_only_errors,
        "batch.JobSpec": jobs.job_errors,
        "jobset.JobSetSpec": jobs.job_set_errors,
        "trainer.MLPolicy": jobs.policy_errors,
    }
)
"""What misses something, and so holds only where everything is given."""
