"""PyTorch under torchrun, and the shape of a single replicatedJob that any command shares with it."""

from __future__ import annotations

from sync_hooks.api.trainer import WORKER, JsonObject
from sync_hooks.runtimes.env import base_env, merge_env
from sync_hooks.runtimes.pods import (
    SHARED_MEMORY,
    SHARED_MEMORY_MOUNT,
    init_containers,
    mounts,
    replicated_job,
    volumes,
    worker_resources,
)
from sync_hooks.runtimes.workload import Rendered, Workload

GRACE_SECONDS = 30


def render(workload: Workload) -> Rendered:
    """Render torchrun; Trainer brings its rendezvous as PET_ variables.

    The number of processes stands in the TrainJob (trainer.numProcPerNode): the policy's own field is gone in
    Trainer 2.3, and without it 2.2 takes the TrainJob's too.
    """
    torch = workload.framework.torch
    assert torch is not None  # noqa: S101 - the registry chose by this
    program = ("-m", torch.module) if torch.module else (torch.script or "",)
    return Rendered(
        runtime_spec=single_job_spec(workload, {"numNodes": workload.nodes, "torch": {}}),
        replicated_jobs=(WORKER,),
        command=("torchrun",),
        args=(*program, *(torch.args or ())),
    )


def single_job_spec(workload: Workload, policy: JsonObject) -> JsonObject:
    """Return the TrainingRuntime spec of one replicatedJob, a pod a node."""
    container: JsonObject = {
        "name": WORKER,
        "image": workload.image,
        "env": merge_env(base_env(mnnvl=workload.mnnvl), workload.user_env),
        "resources": worker_resources(workload.resources, workload.gpus),
        "volumeMounts": mounts(workload, [SHARED_MEMORY_MOUNT]),
    }
    pod_spec: JsonObject = {
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        **init_containers(workload.init_containers),
        "containers": [container],
        "volumes": volumes(workload, [SHARED_MEMORY]),
    }
    job = replicated_job(WORKER, pod_spec, workload.gang, pods=workload.nodes, ancestor=True)
    return {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": [job]}}}
