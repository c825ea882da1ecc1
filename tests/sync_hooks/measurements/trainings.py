"""Training logs in the smallest form that has everything: starts, steps, saves, restores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.measurements.goodput import Terms, close, terms_of
from sync_hooks.measurements.profile import CompiledProfile, read_profile
from sync_hooks.measurements.stamp import stamp_of
from sync_hooks.measurements.training import read_lines, saw_lines
from tests.sync_hooks.measurements.worlds import at, kubelet

SPEC: dict[str, Any] = {
    "timestamp": {"layout": "2006-01-02 15:04:05"},
    "patterns": {
        "applicationStart": {"regex": "^framework is up"},
        "trainingStep": {
            "regex": r"^step (?P<globalStep>\d+)(?: took (?P<stepTiming>\S+))?(?: at (?P<tflops>\S+) TFLOP)?",
            "units": {"stepTiming": "ms"},
        },
        "warmupStep": {"regex": "warming up$"},
        "checkpointSave": {"regex": r"^saving(?: step (?P<step>\d+))?(?: took (?P<saveDuration>\S+))?"},
        "checkpointDone": {"regex": r"^saved(?: step (?P<step>\d+))?(?: in (?P<saveDuration>\S+))?"},
        "checkpointRestore": {"regex": r"^loading step (?P<step>\d+)"},
        "checkpointLoaded": {"regex": r"^loaded step (?P<step>\d+)"},
    },
}

Line = tuple[float, str]
"""When, in seconds after the tests' beginning of time, and what."""


def training_profile(**more: Any) -> CompiledProfile:
    """The profile of these logs; keywords replace fields of its spec."""
    compiled = read_profile({**SPEC, **more})
    assert isinstance(compiled, CompiledProfile), compiled
    return compiled


def log(lines: Sequence[Line]) -> bytes:
    """The lines as the kubelet serves them."""
    return "".join(f"{kubelet(at(seconds))} {text}\n" for seconds, text in lines).encode()


def attempt(lines: Sequence[Line], profile: CompiledProfile) -> GoodputRun:
    """An attempt that printed these lines."""
    return attempt_after(EarlierRuns(), lines, profile)[1]


def attempt_after(
    earlier: EarlierRuns, lines: Sequence[Line], profile: CompiledProfile
) -> tuple[EarlierRuns, GoodputRun]:
    """An attempt that printed these lines, and what was interrupted before: by its own log too."""
    run = GoodputRun(workload_uid="uid")
    text = log(lines)
    if not text:
        return earlier, run
    earlier, run = read_lines(earlier, run, text, profile)
    first = (stamp_of(text) or b"").decode()
    last = (stamp_of(text, text.rfind(b"\n", 0, -1) + 1) or b"").decode()
    return earlier, saw_lines(run, first, last)


def terms(
    attempts: Sequence[tuple[Sequence[Line], float]],
    profile: CompiledProfile,
    *,
    failed: bool = False,
    until: float = 0,
) -> Terms | None:
    """The terms of attempts, each with its lines and its end; all but the last were interrupted."""
    earlier = EarlierRuns()
    for index, (lines, end) in enumerate(attempts):
        interrupted = failed or index < len(attempts) - 1
        earlier, run = attempt_after(earlier, lines, profile)
        earlier = close(earlier, run, at(end), interrupted=interrupted)
    return terms_of(earlier, at(until or attempts[-1][1]))


def moment(seconds: float) -> datetime:
    """A moment of these logs."""
    return at(seconds)
