"""From a TrainingRuntime and a TrainJob to the spec of a JobSet, as Trainer 2.3 merges them.

Left out: what only containers see (PET_* and OMPI_* variables, volumes of the MPI plugin).
"""

from __future__ import annotations

from collections.abc import Mapping

from cli.simulator.entry import Object

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER = "trainer"
NODE = "node"
LAUNCHER = "launcher"

MERGE_KEYS: Mapping[str, str] = {
    "replicatedJobs": "name",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "env": "name",
    "volumeMounts": "mountPath",
}
"""Lists that a strategic merge joins by a key; every other list is replaced."""


def job_set_spec(runtime: Object, train_job: Object) -> Object:
    """Build the JobSet's spec: patches first, then counts, then what the TrainJob's trainer says, then defaults."""
    template = runtime["spec"]["template"]["spec"]
    for patch in train_job["spec"].get("runtimePatches") or ():
        template = strategic_merge(template, _patch_template(patch).get("spec") or {})
    policy = runtime["spec"].get("mlPolicy") or {}
    trainer = train_job["spec"].get("trainer") or {}
    jobs = [_replicated_job(job, policy, trainer) for job in template["replicatedJobs"]]
    return {
        **template,
        "successPolicy": template.get("successPolicy") or {"operator": "All"},
        "replicatedJobs": jobs,
        "suspend": bool(train_job["spec"].get("suspend")),
    }


def job_set_labels(runtime: Object, train_job: Object) -> dict[str, str]:
    """Collect the labels that the JobSet gets from the runtime's template and from the patches."""
    labels = dict((runtime["spec"]["template"].get("metadata") or {}).get("labels") or {})
    for patch in train_job["spec"].get("runtimePatches") or ():
        labels |= (_patch_template(patch).get("metadata") or {}).get("labels") or {}
    return labels


def strategic_merge(target: Object, patch: Object) -> Object:
    """Merge a patch: maps recurse, null deletes, lists of `MERGE_KEYS` join by their key, other lists replace."""
    result = dict(target)
    for name, value in patch.items():
        before = result.get(name)
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(before, dict):
            result[name] = strategic_merge(before, value)
        elif isinstance(value, list) and isinstance(before, list) and name in MERGE_KEYS:
            result[name] = _joined(before, value, MERGE_KEYS[name])
        else:
            result[name] = value
    return result


def _joined(before: list[Object], patch: list[Object], key: str) -> list[Object]:
    changes = {item[key]: item for item in patch}
    kept = [strategic_merge(item, changes.pop(item[key])) if item[key] in changes else item for item in before]
    return [*kept, *changes.values()]


def _patch_template(patch: Object) -> Object:
    template: Object = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
    return template


def _replicated_job(job: Object, policy: Object, trainer: Object) -> Object:
    spec = dict(job["template"]["spec"])
    is_trainer = ((job["template"].get("metadata") or {}).get("labels") or {}).get(ANCESTOR) == TRAINER
    count = _count(job["name"], spec.get("parallelism", 1), policy, trainer, is_trainer=is_trainer)
    pod = spec["template"]
    if is_trainer:
        containers = [_with_trainer(container, trainer) for container in pod["spec"]["containers"]]
        pod = {**pod, "spec": {**pod["spec"], "containers": containers}}
    spec |= {"parallelism": count, "completions": count, "completionMode": "Indexed", "template": pod}
    return {**job, "replicas": job.get("replicas", 1), "template": {**job["template"], "spec": spec}}


def _count(name: str, parallelism: int, policy: Object, trainer: Object, *, is_trainer: bool) -> int:
    """Count the pods: with MPI the TrainJob sizes the nodes and the runtime the launcher, else the trainer's pods."""
    wanted = trainer.get("numNodes")
    if "mpi" in policy:
        if name == NODE and wanted is not None:
            return int(wanted)
        return int(policy.get("numNodes", 1)) if is_trainer else parallelism
    if not is_trainer:
        return parallelism
    return int(policy.get("numNodes", 1) if wanted is None else wanted)


def _with_trainer(container: Object, trainer: Object) -> Object:
    if container["name"] != NODE:
        return container
    given: Object = {name: trainer[name] for name in ("image", "command", "args") if name in trainer}
    if trainer.get("env"):
        given["env"] = _joined(container.get("env") or [], trainer["env"], "name")
    return {**container, **given}
