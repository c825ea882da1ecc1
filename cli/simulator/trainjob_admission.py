"""What Trainer 2.3 does to a TrainJob at admission: schema defaults, and refusals that look at its runtime."""

from __future__ import annotations

import re
from typing import Literal

from cli.simulator.clock import Clock
from cli.simulator.entry import Entry, Object, encode
from cli.simulator.errors import Forbidden
from cli.simulator.kinds import TRAINER, Kind
from cli.simulator.rules import invalid
from cli.simulator.store import Store
from cli.simulator.template import NODE

MANAGED_BY = "trainer.kubeflow.org/trainjob-controller"
WEBHOOK = 'admission webhook "validator.trainjob.trainer.kubeflow.org" denied the request'
NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
MAX_NAME_LENGTH = 63
TRAIN_JOB = Kind(TRAINER, "TrainJob", "trainjobs", custom=True)


class TrainJobAdmission:
    """The webhooks and schema of TrainJobs. An update needs the runtime too, even one that only frees a finalizer."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def __call__(self, operation: Literal["CREATE", "UPDATE"], obj: Object, old: Entry | None) -> Object:
        """Return the TrainJob with its defaults; raises Invalid or Forbidden."""
        obj = _defaulted(obj, self._clock.stamp()) if operation == "CREATE" else obj
        name = obj["metadata"].get("name", "")
        if NAME.fullmatch(name) is None or len(name) > MAX_NAME_LENGTH:
            problem = "metadata.name must match RFC 1035 DNS label format of no more than 63 characters"
            raise invalid(TRAIN_JOB, name, [f'<nil>: Invalid value: "object": {problem}'])
        if old is not None and _fixed(obj) != _fixed(old.obj):
            raise invalid(TRAIN_JOB, name, ["spec: Invalid value: field is immutable"])
        runtime = runtime_of(self._store, obj)
        if runtime is None:
            raise Forbidden(f"{WEBHOOK}: {_missing(obj['spec']['runtimeRef'])}")
        if problems := _patch_problems(obj, runtime.obj):
            raise Forbidden(f"{WEBHOOK}: {problems[0] if len(problems) == 1 else '[' + ', '.join(problems) + ']'}")
        return obj


def runtime_of(store: Store, train_job: Object) -> Entry | None:
    """Find the TrainingRuntime or ClusterTrainingRuntime that a TrainJob names."""
    reference = train_job["spec"]["runtimeRef"]
    namespace = train_job["metadata"].get("namespace", "") if reference["kind"] == "TrainingRuntime" else ""
    return store.find(TRAINER, reference["kind"], namespace, reference["name"])


def _missing(reference: Object) -> str:
    return (
        f'spec.runtimeRef: Invalid value: {encode(reference).decode()}: {reference["kind"]} "{reference["name"]}" not '
        "found: specified trainingRuntime must be created before the TrainJob is created"
    )


def _defaulted(obj: Object, now: str) -> Object:
    spec = dict(obj.get("spec") or {})
    reference = {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", **(spec.get("runtimeRef") or {})}
    spec = {"managedBy": MANAGED_BY, "suspend": False, **spec, "runtimeRef": reference}
    if spec.get("runtimePatches"):
        spec["runtimePatches"] = [{"time": now, **patch} for patch in spec["runtimePatches"]]
    return {**obj, "spec": spec}


def _fixed(obj: Object) -> list[object]:
    return [obj["spec"].get(name) for name in ("runtimeRef", "initializer", "trainer", "managedBy")]


def _patch_problems(obj: Object, runtime: Object) -> list[str]:
    known = {
        job["name"]: {item["name"] for item in job["template"]["spec"]["template"]["spec"].get("containers") or ()}
        for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]
    }
    problems = []
    for patch in obj["spec"].get("runtimePatches") or ():
        if "/" not in patch.get("manager", ""):
            problems.append("spec.runtimePatches.manager: Invalid value: must be a domain-prefixed path")
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        for job in (template.get("spec") or {}).get("replicatedJobs") or ():
            problems += _job_patch_problems(job, known)
    return problems


def _job_patch_problems(job: Object, known: dict[str, set[str]]) -> list[str]:
    if job["name"] not in known:
        return [
            f'spec.runtimePatches: Invalid value: "{job["name"]}": must not have replicated job that doesn\'t exist '
            "in the runtime job template"
        ]
    pod = ((job.get("template") or {}).get("spec") or {}).get("template") or {}
    problems = []
    for container in (pod.get("spec") or {}).get("containers") or ():
        if container["name"] not in known[job["name"]]:
            problems.append(
                f"spec.runtimePatches: Invalid value: must not have container that doesn't exist in the runtime job "
                f"{job['name']}"
            )
        elif container.get("env") and container["name"] == NODE:
            problems.append(f"spec.runtimePatches: Invalid value: must not have envs for the {NODE} container")
    return problems
