"""Sidecars and helpers beside a workload: their ends and troubles decide nothing while its own container tells."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.observed import Pod
from sync_hooks.execution.blame import blame, ended_by_limit, failures, log_read
from sync_hooks.execution.phase import held_up
from tests.support.hooks import STAMP, pod
from tests.sync_hooks.execution.test_blame import judge

RUNS = {"running": {"startedAt": STAMP}}
NOT_PULLED = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
LOOPS = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}


def ended(code: int, at: str = STAMP, why: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": why, "finishedAt": at}}


def beside(node: str, phase: str, own: Any, *, native: Any = None, plain: Any = None, role: str = "node") -> Pod:
    """A pod whose workload is in the state ``own``, with a native sidecar and a plain one before it in order."""
    inits = [{"name": "shipper", "state": native}] if native else []
    others = [{"name": "agent", "state": plain}] if plain else []
    statuses = [*others, {"name": "node", "state": own}]
    return pod(f"p-{node}", node=node, role=role, phase=phase, initContainerStatuses=inits, containerStatuses=statuses)


LATE = "2026-01-01T12:00:20Z"


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param(
            (beside("n1", "Succeeded", ended(0), native=ended(1)), beside("n2", "Failed", ended(1, LATE))),
            id="of a pod that succeeded",
        ),
        pytest.param(
            (beside("n1", "Running", RUNS, plain=ended(1)), beside("n2", "Failed", ended(1, LATE))),
            id="of a pod that goes on",
        ),
        pytest.param(
            (beside("n1", "Failed", ended(143), native=ended(1)), beside("n2", "Failed", ended(1, LATE))),
            id="of a pod that was killed",
        ),
        pytest.param(
            (
                beside("n1", "Failed", ended(134, LATE), native=ended(143, LATE)),
                beside("n2", "Failed", ended(1), native=ended(143, LATE)),
            ),
            id="which was killed where its workload had failed",
        ),
    ],
)
def test_a_sidecars_end_hides_no_rank_that_failed(pods: tuple[Pod, ...]):
    found = judge(*pods)
    assert (found.attribution, [node.name for node in found.nodes]) == ("Node", ["n2"])
    assert "container node exited with" in found.message


def test_of_a_launcher_with_a_sidecar_the_log_and_the_end_of_mpirun_count():
    launcher = beside("n1", "Failed", ended(124), native=ended(143, LATE), role="launcher")
    assert log_read(failures([launcher])[0]).container == "node"
    assert ended_by_limit([launcher])


@pytest.mark.parametrize(
    ("failed", "says"),
    [
        pytest.param(beside("n1", "Failed", {}, native=ended(2)), "shipper exited with 2", id="before it could start"),
        pytest.param(beside("n1", "Failed", ended(0), plain=ended(3)), "agent exited with 3", id="after it was done"),
        pytest.param(
            beside("n1", "Failed", ended(0), native=ended(143), plain=ended(3)), "agent exited with 3", id="by itself"
        ),
    ],
)
def test_where_the_workload_itself_did_not_fail_the_container_that_did_is_named(failed: Pod, says: str):
    assert says in failures([failed])[0].text


def test_a_workload_that_failed_beside_a_sidecar_that_runs_on_has_failed():
    found = judge(beside("n1", "Running", ended(1), plain=RUNS), pod("p", node="n2"))
    assert [node.name for node in found.nodes] == ["n1"]


@pytest.mark.parametrize("trouble", [{"native": LOOPS}, {"plain": LOOPS}, {"plain": NOT_PULLED}], ids=str)
def test_a_sidecar_that_does_not_start_holds_up_no_workload_that_runs(trouble: dict[str, Any]):
    assert held_up(beside("n1", "Running", RUNS, **trouble)) is None
    assert held_up(beside("n1", "Pending", {}, **trouble)) is not None
    hangs = [beside(node, "Running", RUNS, **trouble) for node in ("n1", "n2")]
    assert blame((), [hangs[0], pod("p", node="n2")], ("n1", "n2"), "", {}).attribution == "Group"
    assert blame((), hangs, ("n1", "n2"), "", {}).attribution == "Group"
