"""What is allowed with a warning: it would be ignored, or end other than meant; and of what works nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.admission.admit import admit
from tests.sync_hooks.admission.cases import manifest

GOODPUT = {"goodputMeasurement": {"logProfileRef": "a"}}
EXEC = {"framework": {"exec": {"command": ["a"]}}}
CLAIMING = {
    "dependencies": [
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "run-runtime"}}
    ]
}
MPI = {"framework": {"mpi": {"binary": "a", "mpirunPath": "b"}}}
BETWEEN_NODES = {**MPI, "numNodes": 2, "bandwidthMeasurement": {"logProfileRef": "a"}}
SILENT = [{"name": "NCCL_DEBUG", "value": "WARN"}]
UNNAMED = "where there is a fabric the run will be Incomplete"


@pytest.mark.parametrize(
    ("kind", "changes", "warning"),
    [
        pytest.param(
            "WorkloadRun",
            {"checkpoint": {"storageSize": "1Gi", "maxRestarts": 2}},
            "spec.checkpoint.maxRestarts: has no effect without spec.goodputMeasurement, which finds checkpoints",
            id="restarts-without-goodput",
        ),
        pytest.param(
            "WorkloadRun",
            {"orchestration": {"testScale": "intra-rack"}, "numNodes": 4},
            "spec.numNodes: sizes no group with testScale intra-rack: a group is what a rack holds",
            id="group-size-with-racks",
        ),
        pytest.param(
            "WorkloadRun",
            {"framework": {"mpi": {"binary": "/bin/a -n 1", "mpirunPath": "mpirun"}}},
            "spec.framework.mpi.binary: is one path, blanks included; arguments belong into args or mpiArgs",
            id="arguments-in-a-path",
        ),
        pytest.param(
            "WorkloadRun",
            {"framework": {"exec": {"command": ["dcgmi diag -r 3"]}}},
            "spec.framework.exec.command[0]: is one path, blanks included; each argument is an element of its own",
            id="a-command-in-one-word",
        ),
        pytest.param(
            "WorkloadRun",
            {"framework": {"exec": {"command": ["torchrun"], "args": ["--max-restarts=3", "train.py"]}}},
            "spec.framework.exec.args[0]: ranks that torchrun restarts hide the fault: a node that fails may pass",
            id="restarts-inside-the-pod",
        ),
        pytest.param(
            "WorkloadRun",
            {"framework": {"exec": {"command": ["sh", "-c", "python3 -m torch.distributed.run --max_restarts 1 a"]}}},
            "spec.framework.exec.command[2]: ranks that torchrun restarts hide the fault: a node that fails may pass",
            id="restarts-behind-a-shell",
        ),
        pytest.param(
            "WorkloadRun",
            {"env": [{"name": "A", "value": "1"}, {"name": "PET_MAX_RESTARTS", "value": "3"}]},
            "spec.env[1]: ranks that torchrun restarts hide the fault: a node that fails may pass",
            id="restarts-by-a-variable",
        ),
        pytest.param(
            "WorkloadRun",
            {**MPI, "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
            "spec.env[0].valueFrom.fieldRef: every rank gets the value of the launcher's pod, not of its own",
            id="a-field-of-the-launchers-pod",
        ),
        pytest.param(
            "WorkloadRun",
            {**MPI, "env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]},
            "spec.env[0].valueFrom.resourceFieldRef: every rank gets the value of the launcher's pod, not of its own",
            id="a-resource-of-the-launchers-pod",
        ),
        pytest.param(
            "WorkloadRun",
            {
                "framework": {"mpi": {"binary": "/opt/all_gather_perf_mpi", "mpirunPath": "b"}},
                "bandwidthMeasurement": {"logProfileRef": "a", "testType": "all-reduce"},
            },
            "spec.bandwidthMeasurement.testType: spec.framework.mpi.binary tests all_gather, "
            "and only rows of all_reduce count",
            id="another-collective-than-the-programs",
        ),
        pytest.param(
            "WorkloadRun",
            {**EXEC, "numNodes": 2, "bandwidthMeasurement": {"logProfileRef": "a"}},
            "spec.bandwidthMeasurement: only one node's log is read, and exec joins no programs: "
            "the others are not measured",
            id="bandwidth-of-one-node-of-several",
        ),
        pytest.param(
            "WorkloadRun",
            {**EXEC, "numNodes": 2, "goodputMeasurement": {"logProfileRef": "a"}},
            "spec.goodputMeasurement: only one node's log is read, and exec joins no programs: "
            "the others are not measured",
            id="goodput-of-one-node-of-several",
        ),
        pytest.param(
            "WorkloadRun",
            {**EXEC, "orchestration": {"testScale": "intra-rack"}, "goodputMeasurement": {"logProfileRef": "a"}},
            "spec.goodputMeasurement: only one node's log is read, and exec joins no programs: "
            "the others are not measured",
            id="goodput-of-one-node-of-a-rack",
        ),
        pytest.param(
            "WorkloadRun",
            {"framework": {"mpi": {"binary": "a", "mpirunPath": "b", "mpiArgs": ["-np", "8"]}}},
            "spec.framework.mpi.mpiArgs[0]: -np is set already, from the group's nodes and GPUs",
            id="ranks-set-twice",
        ),
        pytest.param(
            "WorkloadRun",
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            "spec.volumes[0]: v is mounted nowhere",
            id="an-unmounted-volume",
        ),
        pytest.param(
            "WorkloadRun",
            {"target": {"nodeNames": []}},
            "spec.target.nodeNames: is empty and restricts nothing",
            id="an-empty-list-of-nodes",
        ),
        pytest.param(
            "WorkloadRun",
            {"target": {"nodeNames": ["a", "b"]}, "numNodes": 3},
            "spec.numNodes: is more than the 2 nodes that spec.target.nodeNames names",
            id="too-few-nodes",
        ),
        pytest.param(
            "WorkloadRun",
            {"overrides": [{"when": {"platform": {"equals": "aws"}}}]},
            "spec.overrides[0]: changes nothing",
            id="an-override-without-a-change",
        ),
        pytest.param(
            "WorkloadRun",
            {"gpusPerNode": 4, "resources": {"limits": {"nvidia.com/gpu": "8"}}},
            "spec.resources.limits[nvidia.com/gpu]: 8 differs from spec.gpusPerNode, 4",
            id="two-gpu-counts",
        ),
        pytest.param(
            "WorkloadRun",
            {"gpusPerNode": 4, "resources": {"limits": {"nvidia.com/gpu": 0}}, "overrides": [CLAIMING]},
            "spec.resources.limits[nvidia.com/gpu]: 0 differs from spec.gpusPerNode, 4",
            id="gpus-that-are-claimed-as-devices",
        ),
        pytest.param(
            "WorkloadRun",
            {
                "gpusPerNode": 8,
                "resources": {"limits": {"nvidia.com/gpu": 4}},
                "framework": {"exec": {"command": ["a"]}},
            },
            "spec.resources.limits[nvidia.com/gpu]: 4 differs from spec.gpusPerNode, 8",
            id="fewer-gpus-for-a-command-that-starts-no-ranks",
        ),
        pytest.param(
            "WorkloadRun",
            {"bandwidthMeasurement": {"logProfileRef": "a", "testType": "all_redcue"}},
            "spec.bandwidthMeasurement.testType: no collective of this name is known, no table will count; "
            "did you mean all_reduce?",
            id="an-unknown-collective",
        ),
        pytest.param(
            "WorkloadRun",
            {"goodputMeasurement": {"logProfileRef": "a"}, "thresholds": {"goodputRatio": "value > 90"}},
            "spec.thresholds[goodputRatio]: is false for every goodputRatio there can be: no group can meet it",
            id="per-cent-for-a-share",
        ),
        pytest.param(
            "WorkloadRun",
            {"bandwidthMeasurement": {"logProfileRef": "a"}, "thresholds": {"busBandwidthGBps": "value == value"}},
            "spec.thresholds[busBandwidthGBps]: is true for every busBandwidthGBps there can be: no group can fail it",
            id="a-threshold-that-is-always-met",
        ),
        pytest.param(
            "WorkloadRun",
            {**BETWEEN_NODES, "env": [{"name": "NCCL_DEBUG", "value": "WARN"}]},
            f"spec.env[0]: NCCL names its network from INFO on: {UNNAMED}",
            id="a-level-below-info",
        ),
        pytest.param(
            "WorkloadRun",
            {**BETWEEN_NODES, "env": [{"name": "NCCL_DEBUG_FILE", "value": "/tmp/%h.log"}]},
            f"spec.env[0]: NCCL names its network in this file, not in the log: {UNNAMED}",
            id="a-file-for-nccls-words",
        ),
        *(
            pytest.param(
                "WorkloadRun",
                {**BETWEEN_NODES, "env": [{"name": "NCCL_DEBUG_SUBSYS", "value": parts}]},
                f"spec.env[0]: NCCL names its network under INIT and NET: {UNNAMED}",
                id=f"parts-without-the-network-{parts}",
            )
            for parts in ("", "COLL,TUNING", "^NET,INIT", "^all")
        ),
        pytest.param(
            "WorkloadRun",
            {
                **BETWEEN_NODES,
                "framework": {"mpi": {**MPI["framework"]["mpi"], "mpiArgs": ["-x", "A=1", "-x", "NCCL_DEBUG=version"]}},
            },
            f"spec.framework.mpi.mpiArgs[3]: NCCL names its network from INFO on: {UNNAMED}",
            id="a-level-for-the-ranks",
        ),
        pytest.param(
            "WorkloadRun",
            {
                **BETWEEN_NODES,
                "overrides": [{"jobTemplate": {"spec": {"workload": {"trainJob": {"trainer": {"env": SILENT}}}}}}],
            },
            f"spec.overrides[0].jobTemplate: NCCL names its network from INFO on: {UNNAMED}",
            id="a-level-below-info-by-an-override",
        ),
        pytest.param(
            "GoodputMeasurement",
            {"sampleInterval": "5m"},
            "spec.sampleInterval: more than 2m is read as 2m",
            id="a-long-interval",
        ),
        pytest.param(
            "LogProfile",
            {"workerStrategy": {"type": "Single", "trainingStepPod": "last"}},
            "spec.workerStrategy.trainingStepPod: has no effect with type Single",
            id="a-pod-chosen-in-vain",
        ),
    ],
)
def test_what_would_be_ignored_is_allowed_with_a_warning(kind: str, changes: dict[str, Any], warning: str) -> None:
    admitted = admit(manifest(kind, changes))
    assert admitted.errors == ()
    assert admitted.warnings == (warning,)
    assert len(warning) <= 120


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({**EXEC, "bandwidthMeasurement": {"logProfileRef": "a"}}, id="a-command-on-one-node"),
        pytest.param({"numNodes": 2, **GOODPUT}, id="torch-joins-its-nodes"),
        pytest.param({"framework": {"exec": {"command": ["sh", "-c", "a --max-restarts=3 b"]}}}, id="not-torchrun"),
        pytest.param({"framework": {"exec": {"command": ["torchrun", "--max-restarts=0", "a"]}}}, id="no-restarts"),
        pytest.param({"env": [{"name": "PET_MAX_RESTARTS", "value": "0"}]}, id="no-restarts-by-a-variable"),
        pytest.param(
            {
                **MPI,
                "env": [
                    {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                    {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                ],
            },
            id="values-that-all-pods-have",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]}, id="a-pods-own-value"
        ),
        pytest.param(
            {
                **BETWEEN_NODES,
                "env": [{"name": "NCCL_DEBUG", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}],
            },
            id="a-level-that-nobody-here-knows",
        ),
        pytest.param({**BETWEEN_NODES, "env": SILENT, "mlnxPerNode": 0}, id="silence-without-a-fabric"),
        pytest.param({**BETWEEN_NODES, "env": SILENT, "numNodes": 1}, id="silence-on-one-node"),
        pytest.param({"env": SILENT, "numNodes": 2}, id="silence-where-no-bandwidth-is-measured"),
        *(
            pytest.param({**BETWEEN_NODES, "env": [{"name": f"NCCL_DEBUG{name}", "value": value}]}, id=f"{name}{value}")
            for name, values in {
                "": ("INFO", "trace"),
                "_SUBSYS": ("NET", "init,env", "ALL", "^NET", "^COLL"),
                "_FILE": ("", "/dev/stdout", "/dev/stderr"),
            }.items()
            for value in values
        ),
        pytest.param(
            {
                "framework": {"mpi": {"binary": "/opt/all_reduce_perf", "mpirunPath": "b"}},
                "bandwidthMeasurement": {"logProfileRef": "a", "testType": "all_reduce"},
            },
            id="the-collective-of-the-program",
        ),
    ],
)
def test_of_what_works_as_it_stands_nothing_is_said(changes: dict[str, Any]) -> None:
    admitted = admit(manifest("WorkloadRun", changes))
    assert (admitted.errors, admitted.warnings) == ((), ())
