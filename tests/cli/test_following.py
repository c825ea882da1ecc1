"""Following a run: what is shown when, how an interrupted connection is waited out, what Ctrl-C and time do."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.connection import Cluster, connect
from cli.errors import CliError
from cli.exits import INTERRUPTED
from cli.following import RECONNECT_SECONDS, Moment, follow, follow_and_report
from cli.options import ClusterFlags
from cli.progress import Lines, Picture, bar, time_left
from cli.simulator.scenario import Rule, Scenario
from tests.cli.calling import call
from tests.cli.served import Served, simulated

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "nccl-all-reduce-bandwidth.yaml")
NAME = "nccl-all-reduce-bandwidth"
RUN = f"/apis/cre.nvidia.com/v1alpha1/namespaces/default/workloadruns/{NAME}"


class Time:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept()

    def clock(self) -> float:
        return self.now


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with simulated(tmp_path) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
        call("run", EXAMPLE)
        yield served


def begin(time: Time) -> tuple[Cluster, dict[str, Any]]:
    """Connect and look at the run once."""
    cluster = replace(connect(ClusterFlags()), sleep=time.sleep)
    return cluster, call("status", NAME, "-o", "json").document["workloadRun"]


def followed(seconds: float | None = None, time: Time | None = None) -> list[Moment]:
    time = time or Time()
    cluster, run = begin(time)
    return list(follow(cluster, run, seconds, time.clock))


def test_it_ends_with_the_verdict(served: Served) -> None:
    moments = followed()
    assert [moment.status.get("verdict") for moment in moments[-2:]] == [None, "Passed"]


@pytest.fixture
def lasting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A run that lasts long enough to be measured more than once."""
    with simulated(tmp_path, scenario=Scenario((Rule(after=300.0),))) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
        call("run", EXAMPLE)
        yield served


def test_bandwidth_so_far_is_read_as_columns_and_rarely(lasting: Served) -> None:
    served = lasting
    served.calls.clear()
    moments = followed()
    measured = [moment.figures["busBandwidthGBps"] for moment in moments if "busBandwidthGBps" in moment.figures]
    assert measured[-1].groups == 2
    lists = sum(count for path, count in served.calls.items() if path.endswith("bandwidthmeasurements"))
    looks = served.calls[f"GET {RUN}"]
    assert 1 <= lists < looks / 2


def test_it_stops_when_time_is_up(served: Served) -> None:
    time = Time()
    moments = followed(3.0, time)
    assert time.now == 3.0
    assert "verdict" not in moments[-1].status


def test_an_interrupted_connection_is_waited_out(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    time = Time()
    cluster, run = begin(time)
    served.drops = 7  # two looks fail with all their tries
    moments = list(follow(cluster, run, None, time.clock))
    assert moments[-1].status["verdict"] == "Passed"
    assert capfd.readouterr().err.count("the connection is interrupted; the run itself goes on") == 2


def test_a_cluster_that_stays_away_is_given_up_saying_how_to_go_on(served: Served) -> None:
    time = Time()
    cluster, run = begin(time)
    served.drops = 10_000
    with pytest.raises(CliError, match=f"the run itself goes on. Go on: workloadrun status {NAME} --wait"):
        list(follow(cluster, run, None, time.clock))
    assert RECONNECT_SECONDS <= time.now <= RECONNECT_SECONDS + 60


class Closing:
    """Something whose end takes a moment, in which Ctrl-C is pressed."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_a_ctrl_c_that_reaches_a_destructor_is_not_lost(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    cluster, run = begin(Time())
    cluster = replace(cluster, sleep=lambda _: (Closing(), None)[1])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert follow_and_report(cluster, run, None, "text", no_color=True) == INTERRUPTED
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert "left alone, it goes on" in capfd.readouterr().err


def test_a_run_that_is_deleted_meanwhile_ends_it(served: Served) -> None:
    time = Time()
    cluster, run = begin(time)
    call("cancel", NAME)
    with pytest.raises(CliError, match="was deleted while it was waited for"):
        list(follow(cluster, run, None, time.clock))


def test_another_run_of_the_name_is_not_taken_for_it(served: Served) -> None:
    time = Time()
    cluster, run = begin(time)
    served.answers[f"GET {RUN}"] = (200, {**run, "metadata": {**run["metadata"], "uid": "another"}})
    with pytest.raises(CliError, match="deleted and made again"):
        list(follow(cluster, run, None, time.clock))


def test_silence_is_explained_once(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    time = Time()
    cluster, run = begin(time)
    served.answers[f"GET {RUN}"] = (200, {**run, "status": {}})
    list(follow(cluster, {**run, "status": {}}, 60.0, time.clock))
    assert capfd.readouterr().err.count("is Metacontroller running?") == 1


def test_ctrl_c_leaves_the_run_alone_and_says_how_to_go_on(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    time = Time()
    cluster, run = begin(time)

    def interrupt() -> None:
        raise KeyboardInterrupt

    time.slept = interrupt
    served.calls.clear()
    assert follow_and_report(cluster, run, None, "text", no_color=True) == INTERRUPTED
    said = capfd.readouterr().err
    assert f"Go on: workloadrun status {NAME} --wait; stop it: workloadrun cancel {NAME}" in said
    assert not any(path.startswith("DELETE") for path in served.calls)


def moment(**progress: int) -> Moment:
    counts = {"iteration": 1, "iterations": 2, "groups": 10, "pending": 0, "running": 0, "succeeded": 0, "failed": 0}
    text = "iteration 1 of 2: groups; waits for something"
    conditions = [{"type": "InProgress", "status": "True", "reason": "WorkflowCreated", "message": text}]
    run_status = {"conditions": conditions, "progress": {**counts, **progress}}
    return Moment({"metadata": {"name": "demo"}, "status": run_status}, {})


class TestShowing:
    def test_lines_are_printed_only_for_transitions(self) -> None:
        stream = io.StringIO()
        with Lines(Console(file=stream, width=1000)) as lines:
            for _ in range(3):
                lines.show(moment(running=2, pending=8))
        assert stream.getvalue().count("\n") == 1
        assert "waits for" not in stream.getvalue()

    def test_a_terminal_gets_a_picture_that_is_gone_in_the_end(self) -> None:
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=True, width=120, color_system=None)
        with Picture(console) as picture:
            picture.show(moment(succeeded=4, running=3, failed=1, pending=2))
        assert "4 succeeded, 1 failed, 3 running, 2 pending" in stream.getvalue()
        assert stream.getvalue().endswith("\x1b[2K")  # what was drawn is wiped out

    def test_the_bar_is_as_long_as_all_groups(self) -> None:
        counts = {"groups": 7, "succeeded": 3, "failed": 1, "running": 2, "pending": 1}
        drawn = bar(counts).plain.partition("  ")[0]
        assert len(drawn) == 50

    @pytest.mark.parametrize(
        ("counts", "left"),
        [
            pytest.param({"succeeded": 5}, 300.0, id="a quarter done in 100 s leaves 300 s"),
            pytest.param({}, None, id="nothing done tells nothing"),
            pytest.param({"succeeded": 10, "iteration": 2}, None, id="all done leaves nothing"),
            pytest.param({"failed": 10}, 100.0, id="failed groups are done too"),
        ],
    )
    def test_time_left(self, counts: dict[str, int], left: float | None) -> None:
        assert time_left(moment(**counts).status["progress"], 100.0) == left
