"""Follows a run in a cluster to its verdict, and then reports: by looking again and again, a small request each time.

An interrupted connection is waited out; leaving (Ctrl-C, time up) never touches the run.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import FrameType
from typing import Any, Protocol

from cli.connection import Cluster, understood
from cli.errors import CliError
from cli.exits import INTERRUPTED, exit_of
from cli.figures import Spread, spread_of
from cli.gathering import gather
from cli.output import print_note
from cli.progress import progress_of
from cli.refusals import NotFound, Unreachable
from cli.reporting.printing import print_run
from cli.reporting.wording import span_of_time
from cli.run_status import checked, status_of
from cli.status import SILENT_SECONDS, why_silent
from sync_hooks.api.model import API_VERSION

POLL_SECONDS = 2.0
FIGURES_SECONDS = 15.0  # reading them costs more, and they change slowly
RECONNECT_SECONDS = 300.0

Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """What was seen at one look. ``figures`` is what has been measured so far, by figure."""

    run: Run
    figures: Mapping[str, Spread]

    @property
    def status(self) -> Mapping[str, Any]:
        """The run's status."""
        return status_of(self.run)


class Progress(Protocol):
    """Shows moments to a person."""

    def __enter__(self) -> Progress:
        """Begin to show."""

    def __exit__(self, *problem: object) -> None:
        """Leave the terminal as it was."""

    def show(self, moment: Moment) -> None:
        """Show one moment."""


def follow_and_report(cluster: Cluster, run: Run, seconds: float | None, output: str, *, no_color: bool) -> int:
    """Follow a run to its verdict, or for so many seconds, then print its report; returns the exit code."""
    last: Run = run
    interrupted = False
    try:
        with _ctrl_c() as pressed, progress_of(output, no_color=no_color) as progress:
            for moment in follow(cluster, run, seconds):
                progress.show(moment)
                last, interrupted = moment.run, pressed()
                if interrupted:
                    break
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        print_note(f"\nleft alone, it goes on. {how_to_go_on(cluster, run)}".lstrip())
        return INTERRUPTED
    if not status_of(last).get("verdict"):
        limit = span_of_time(seconds or 0)
        print_note(f"not ended within {limit}; what is known so far follows. {how_to_go_on(cluster, run)}")
    print_run(gather(cluster, last), output, datetime.now(UTC), no_color=no_color)
    return exit_of(status_of(last))


@contextmanager
def _ctrl_c() -> Iterator[Callable[[], bool]]:
    """Remember that Ctrl-C was pressed: Python drops the exception where it reaches a destructor, and nothing ends."""
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield lambda: False  # somebody else's, or not ours to set
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def how_to_go_on(cluster: Cluster, run: Run) -> str:
    """Say what to type to look again, and what to type to stop it."""
    name, flags = run["metadata"]["name"], cluster.flags.words
    return f"Go on: workloadrun status {name}{flags} --wait; stop it: workloadrun cancel {name}{flags}"


def follow(
    cluster: Cluster, run: Run, seconds: float | None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Moment]:
    """Look again and again, until there is a verdict or time is up. Raises CliError where run or cluster are gone."""
    began = clock()
    figures: Mapping[str, Spread] = {}
    figures_due, warned = began, False
    while True:
        now = clock()
        if now >= figures_due and _is_running(run):
            figures, figures_due = spread_of(cluster, run), now + FIGURES_SECONDS
        yield Moment(run, figures)
        if status_of(run).get("verdict") or (seconds is not None and now - began >= seconds):
            return
        if not warned and now - began > SILENT_SECONDS and not status_of(run).get("conditions"):
            print_note(why_silent(cluster))
            warned = True
        left = POLL_SECONDS if seconds is None else min(POLL_SECONDS, began + seconds - now)
        cluster.sleep(max(0.0, left))
        run = _look(cluster, run, clock)


def _is_running(run: Run) -> bool:
    progress = status_of(run).get("progress") or {}
    return bool(progress.get("running") or progress.get("succeeded") or progress.get("failed"))


def _look(cluster: Cluster, run: Run, clock: Callable[[], float]) -> Run:
    """Read the run once more, however long the connection is gone within bounds."""
    name, uid = run["metadata"]["name"], run["metadata"]["uid"]
    deadline = clock() + RECONNECT_SECONDS
    while True:
        try:
            seen: Run = checked(understood(cluster.get(API_VERSION, "WorkloadRun", name), dict[str, Any]))
        except NotFound:
            raise CliError(f"the run {name} was deleted while it was waited for") from None
        except Unreachable as error:
            if clock() >= deadline:
                raise CliError(f"{error}; the run itself goes on. {how_to_go_on(cluster, run)}") from error
            print_note("the connection is interrupted; the run itself goes on")
            cluster.sleep(POLL_SECONDS)
            continue
        if seen["metadata"]["uid"] != uid:
            raise CliError(f"the run {name} was deleted and made again while it was waited for")
        return seen
