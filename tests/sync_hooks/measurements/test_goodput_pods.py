"""GoodputMeasurements whose pods are replaced (held back by a queue, made anew, restarted) or have their own clocks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sync_hooks.measurements.test_goodput_hook import (
    FIGURES,
    FIRST,
    LAST,
    MULTI,
    SINGLE,
    TRAINING,
    ended,
    figures,
    outcome,
    until,
    world,
)
from tests.sync_hooks.measurements.trainings import log
from tests.sync_hooks.measurements.worlds import World, job, pod, stamp

NOTE = "the workload was suspended, or made anew, once: training before that does not count"


def others(running: World, start: float, phase: str = "Running", *, jobset_uid: str = "", restart: int = 0) -> World:
    """The same training once more, by other pods."""
    names = [f"job-w0-node-0-{index}-anew" for index in (0, 1)]
    more: dict[str, Any] = {"phase": phase, "started": start, "jobset_uid": jobset_uid, "restart": restart}
    running.pods = tuple(pod("node", index, name=name, **more) for index, name in enumerate(names))
    running.logs = {name: log([(seconds + start, text) for seconds, text in TRAINING]) for name in names}
    return running


@pytest.mark.parametrize("hold", [30, 600, 100_000])
@pytest.mark.parametrize("profile", [SINGLE, MULTI], ids=["one log", "two logs"])
@pytest.mark.parametrize("uid", ["uid-set-0", "uid-anew"], ids=["suspended", "JobSet deleted and made again"])
def test_a_training_that_was_held_back_has_the_figures_of_one_that_was_not(hold: float, profile: Any, uid: str) -> None:
    whole = ended(world(profile, logs={FIRST: log(TRAINING), LAST: log(TRAINING)}))
    whole.sync(300)
    running = world(profile, logs={FIRST: until(TRAINING, 150), LAST: until(TRAINING, 150)})
    running.sync(100)
    running.sync(160)
    running.pods, start = (), 165 + hold
    running.sync(220)
    assert running.jobset is not None
    running.jobset["metadata"]["uid"] = uid
    others(running, start, jobset_uid=uid).sync(start + 205)
    running.job = job("Succeeded", end=start + 200)
    others(running, start, "Succeeded", jobset_uid=uid).sync(start + 300)
    assert outcome(running) == ("JobSucceeded", "training reached step 15")
    assert figures(running) == figures(whole)
    assert running.status["notes"] == [NOTE]
    assert "doubts" not in running.status
    assert "interruptionCount" not in running.status


def test_of_pods_that_went_no_figure_stays_but_their_checkpoint() -> None:
    running = world()
    running.sync(190)
    others(running, 1000)
    running.logs = dict.fromkeys(running.logs, b"")
    running.sync(1005)
    assert [
        name for name in (*FIGURES, "avgStepTimeSec", "lastStepTimestamp", "currentStep") if name in running.status
    ] == []
    assert (running.status["lastCheckpointStep"], running.status["lastCheckpointTime"]) == (10, stamp(137))


def test_a_pod_of_two_that_is_left_is_no_other_one() -> None:
    running = world(MULTI, logs={FIRST: until(TRAINING, 150), LAST: until(TRAINING, 150)})
    running.sync(160)
    running.job, running.pods = job("Failed", end=200), (pod("node", 1, phase="Failed"),)
    running.sync(260)
    assert (running.status["interruptionCount"], running.status["highestStep"]) == (1, 12)


def test_the_pods_of_a_restart_of_the_jobset_are_an_attempt_and_nothing_seems_rotated_away() -> None:
    running = world()
    running.sync(190)
    others(running, 1000, restart=1).sync(1205)
    assert (running.status["interruptionCount"], running.status.get("notes")) == (1, None)
    assert running.status["rescheduleTimeSec"] == 1010 - 180


@pytest.mark.parametrize("ahead", [-300, 0, 120, 3600])
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_goodput_is_told_by_the_clocks_of_the_nodes_however_far_they_are_from_the_jobs(
    ahead: float, phase: str
) -> None:
    printed = log([(seconds + ahead, text) for seconds, text in TRAINING])
    done = ended(world(logs={FIRST: printed, LAST: b""}), phase)
    done.pods = tuple(pod("node", index, phase=phase, started=ahead, finished=200 + ahead) for index in (0, 1))
    done.sync(300)
    plain = ended(world(), phase)
    plain.sync(300)
    assert figures(done) == figures(plain)
