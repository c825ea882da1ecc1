"""The product's hooks with a stop-watch on Workflow syncs: bytes of the request in, bytes of the answer out.

Every sync is timed; one at each stage of a run is asked again and again, in turns with reading the same bytes as JSON.
Hooks are pure, so asking again changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from time import process_time

import msgspec

from cli.hooking import hooks
from cli.simulator.protocol import HookCaller, HookResponse
from cli.simulator.simulation import HookContext
from sync_hooks.api.observed import Facts

from .rounds import Rounds, alternate, cpu_of

WORKFLOWS = "cre-workflows"
PRODUCT, REFERENCE = "product", "json"


class Progress(Facts, frozen=True):
    """Counts of groups in a Workflow's status."""

    iteration: int = 0
    groups: int = 0
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0

    @property
    def done(self) -> int:
        """Groups of this iteration that have ended."""
        return self.succeeded + self.failed


class _Status(Facts, frozen=True):
    progress: Progress = Progress()


class _Answer(Facts, frozen=True):
    status: _Status = _Status()


Stage = Callable[[Progress], bool]
STAGES: Mapping[str, Stage] = {
    "half of them launched": lambda seen: seen.iteration == 1 and 0 < seen.pending <= seen.groups / 2,
    "all of them running": lambda seen: seen.iteration == 1 and seen.running == seen.groups,
    "half of them done": lambda seen: seen.iteration == 1 and seen.done >= seen.groups / 2,
    "all of them done": lambda seen: seen.iteration == 1 and 0 < seen.groups == seen.done,
    "the second time half done": lambda seen: seen.iteration == 2 and seen.done >= seen.groups / 2,
}
"""What the answer says of the groups; the first sync that says so is the one that is timed."""

_decode = msgspec.json.Decoder(_Answer).decode


class TimedHooks:
    """A factory of hooks for one simulation; what it saw is read when the simulation has ended."""

    def __init__(self) -> None:
        self.stages: dict[str, Rounds] = {}
        """CPU seconds of the product and of json at each stage that was reached."""
        self.longest = 0.0
        """CPU seconds of the longest of all Workflow syncs."""
        self.overhead = 0.0
        """CPU seconds that were spent on timing and belong to no run."""

    def factory(self, context: HookContext) -> HookCaller:
        """Wrap the product's hooks."""
        inner = hooks(context)

        def call(controller: str, hook: str, body: bytes) -> HookResponse:
            began = process_time()
            answered = inner(controller, hook, body)
            if controller != WORKFLOWS:
                return answered
            ended = process_time()
            self.longest = max(self.longest, ended - began)
            self._note_stage(body, answered, lambda: inner(controller, hook, body))
            self.overhead += process_time() - ended
            return answered

        return call

    def _note_stage(self, body: bytes, answered: HookResponse, again: Callable[[], object]) -> None:
        if answered.status != 200:
            return
        seen = _decode(answered.body).status.progress
        stage = next((name for name, holds in STAGES.items() if name not in self.stages and holds(seen)), None)
        if stage is not None:
            self.stages[stage] = alternate({PRODUCT: cpu_of(again), REFERENCE: cpu_of(lambda: json.loads(body))})
