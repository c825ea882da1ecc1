"""What was measured decides, on the real API server: each way to fail has a reason, and nothing passes unproven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.product import BYPASS, Product
from tests.cluster.run.runs import EXAMPLES, conditions, ended, example, sampled
from tests.support.kubectl import KubectlError

LOGS = EXAMPLES / "logs"
FAST = {"busBandwidthGBps": "value >= 300"}


@pytest.fixture
def pair(cluster: Cluster, product: Product) -> list[str]:
    cluster.run_for(2)
    return cluster.nodes("aws", "h100", 2)


def outcome(cluster: Cluster, log: Path | str, **spec: Any) -> tuple[str, str, str]:
    """Run two nodes against a log; return verdict, whether the workload succeeded, and ValidationFailed's reason."""
    cluster.logs(log)
    cluster.apply(sampled(example("nccl-all-reduce", numNodes=2, goodputMeasurement=None, **spec)))
    status = ended(cluster, "nccl-all-reduce")
    failed: dict[str, str] = next((item for item in status["conditions"] if item["type"] == "ValidationFailed"), {})
    reason = failed.get("reason", "") if failed.get("status") == "True" else ""
    return status["verdict"], conditions(status)["Succeeded"], reason


@pytest.mark.parametrize(
    ("log", "spec", "expected"),
    [
        pytest.param("all-reduce.log", {"thresholds": FAST}, ("Passed", "True", ""), id="threshold met"),
        pytest.param(
            "all-reduce.log",
            {"thresholds": {"busBandwidthGBps": "value >= 9000"}},
            ("Failed", "True", "ThresholdViolated"),
            id="threshold violated",
        ),
        pytest.param(
            "megatron-training.log", {"thresholds": FAST}, ("Failed", "True", "MeasurementTimeout"), id="unmeasurable"
        ),
        pytest.param("megatron-training.log", {}, ("Incomplete", "True", ""), id="not measured, nothing required"),
        pytest.param("all-reduce-wrong-values.log", {}, ("Failed", "True", "WrongResults"), id="wrong values"),
        pytest.param("all-reduce-sockets.log", {}, ("Failed", "True", "SocketFallback"), id="socket fallback"),
    ],
)
def test_a_run_ends_as_its_log_says(
    cluster: Cluster, pair: list[str], log: str, spec: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    assert outcome(cluster, LOGS / log, **spec) == expected


def test_a_misspelt_threshold_is_refused_even_where_no_webhook_looks(cluster: Cluster, product: Product) -> None:
    """The schema knows the keys too; that the hooks name one that got past both is a test of theirs."""
    cluster.kubectl("label", "namespace", cluster.namespace, f"{BYPASS}=true")
    with pytest.raises(KubectlError) as refused:
        cluster.apply(example("nccl-all-reduce", thresholds={"avgTFLOPSPerGPU": "value > 0"}))
    assert "spec.thresholds" in str(refused.value)
    assert "avgTFLOPsPerGPU" in str(refused.value)
