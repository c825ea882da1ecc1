"""A whole cluster, put together and run under virtual time: this is what the command line and the tests use."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

from cli.simulator.api import StoreApi
from cli.simulator.batch import JobController
from cli.simulator.clock import VirtualClock
from cli.simulator.devices import ComputeDomains
from cli.simulator.director import Director
from cli.simulator.entry import Object
from cli.simulator.faults import Dice, Faults
from cli.simulator.garbage import GarbageCollector
from cli.simulator.informer import SharedInformers
from cli.simulator.jobset import JobSetController
from cli.simulator.kinds import CORE, Discovery
from cli.simulator.metacontroller import ACTOR, Metacontroller
from cli.simulator.pace import Pace
from cli.simulator.protocol import HookCaller
from cli.simulator.reader import Reader
from cli.simulator.report import Report, Stopped, hook_traffic, writes
from cli.simulator.scenario import Scenario
from cli.simulator.store import Store
from cli.simulator.trainer import Trainer
from sync_hooks.api.errors import FieldError
from sync_hooks.api.sync import Read

HOOKS_ACTOR = "hooks"
NOT_REPORTED = frozenset({"Event", "Node", "CompositeController"})

Admission = Callable[[Literal["CREATE"], Object], Object | Sequence[FieldError]]
"""What admission makes of an object: the object to store, or the errors for which it is refused."""


@dataclass(frozen=True, slots=True)
class HookContext:
    """What hooks have of the cluster: reads, the time, and a way to record events about an object."""

    read: Callable[[Read], Any]
    now: Callable[[], datetime]
    record: Callable[[Object], None]
    """Creates an Event object; one whose name exists already is the same event, which is no error."""


HookFactory = Callable[[HookContext], HookCaller]


class Refused(Exception):
    """Admission refused an object; ``errors`` say why."""

    def __init__(self, obj: Object, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in errors))
        self.obj = obj
        self.errors = tuple(errors)


class HotLoop(Exception):
    """The simulation was given up: virtual time hardly moves while hooks are called again and again."""


class Simulation:
    """A cluster of these nodes under this scenario, with these hooks. Equal arguments give equal runs."""

    def __init__(
        self,
        nodes: Iterable[Object],
        scenario: Scenario,
        hooks: HookFactory,
        start: datetime,
        *,
        controllers: Iterable[Object] | None = None,
        discovery: Discovery | None = None,
        pace: Pace | None = None,
        faults: Faults | None = None,
        collect_seconds: float = 1.0,
    ) -> None:
        self.dice = dice = Dice(faults or Faults())
        pace = pace or Pace()
        self.clock = VirtualClock(start)
        self.store = Store(self.clock.stamp, discovery, seed=dice.faults.seed)
        self._start_engines(scenario, collect_seconds)
        self.reader = Reader(self.store, self.clock, self.director, dice)
        informers = SharedInformers(self.store, self.clock, dice, latency=pace.watch_seconds)
        caller = hooks(HookContext(self.reader.read, self.clock.now, self._record))
        api = StoreApi(self.store, ACTOR, dice)
        self.metacontroller = Metacontroller(api, informers, self.clock, caller, pace=pace, dice=dice)
        for node in nodes:
            self.store.seed(node)
        for controller in product_controllers() if controllers is None else controllers:
            self.metacontroller.start(self.store.seed(controller))

    def _start_engines(self, scenario: Scenario, collect_seconds: float) -> None:
        GarbageCollector(self.store, self.clock, delay=collect_seconds)
        Trainer(self.store, self.clock)
        JobSetController(self.store, self.clock)
        JobController(self.store, self.clock)
        ComputeDomains(self.store, self.clock)
        self.director = Director(self.store, self.clock, scenario)

    def apply(self, objects: Iterable[Object], admission: Admission) -> None:
        """Create objects through admission, as ``kubectl apply`` does; raises Refused and `errors.ApiError`."""
        for obj in objects:
            answer = admission("CREATE", obj)
            if not isinstance(answer, dict):
                raise Refused(obj, answer)
            self.store.create(answer, actor="user")

    def run(self, until: float, done: Callable[[], bool] | None = None, *, most_calls: int = 5_000_000) -> Report:
        """Go on until a condition holds, nothing but periodic resyncs is left, or ``until`` virtual seconds are over.

        ``done`` is asked after every change of the store. Raises HotLoop after ``most_calls`` hook calls in all.
        """
        with _patient_collector():
            return self.report(self._run(until, done, most_calls))

    def _run(self, until: float, done: Callable[[], bool] | None, most_calls: int) -> Stopped:
        version = -1
        while True:
            if done is not None and version != self.store.version:
                version = self.store.version
                if done():
                    return "done"
            if self.clock.busy == 0:
                return "idle"
            if not self.clock.step(until):
                self.clock.advance(max(0.0, until - self.clock.time))
                return "until"
            if self.metacontroller.traffic.total > most_calls:
                raise HotLoop(self._busiest())

    def report(self, stopped: Stopped) -> Report:
        """Sum up what there is now."""
        entries = [entry for entry in self.store.all() if entry.kind.kind not in NOT_REPORTED]
        events = sorted((entry.obj for entry in self.store.select(CORE, "Event")), key=_event_time)
        return Report(
            virtual_seconds=self.clock.time,
            stopped=stopped,
            objects=tuple(entry.obj for entry in entries),
            events=tuple(events),
            writes=writes(self.store.tally),
            hooks=hook_traffic(self.metacontroller.traffic),
            reads=dict(sorted(self.reader.reads.items())),
            log_bytes=self.reader.log_bytes,
        )

    def _busiest(self) -> str:
        (name, parent), count = self.metacontroller.traffic.parents.most_common(1)[0]
        return f"{count} calls of {name} for {parent} in {self.clock.time:.0f} virtual seconds"

    def _record(self, event: Object) -> None:
        metadata = event["metadata"]
        if self.store.find(CORE, "Event", metadata.get("namespace", ""), metadata["name"]) is None:
            self.store.create(event, actor=HOOKS_ACTOR)


@contextmanager
def _patient_collector() -> Iterator[None]:
    """Look for cycles of garbage rarely: with a large cluster in memory every full search is a long one."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _event_time(event: Object) -> tuple[str, int]:
    return (str(event.get("lastTimestamp", "")), int(event["metadata"]["resourceVersion"]))


@cache
def product_controllers() -> tuple[Object, ...]:
    """Return the CompositeControllers of the product."""
    text = resources.files(__package__).joinpath("controllers.yaml").read_text(encoding="utf-8")
    items: list[Object] = yaml.safe_load(text)["items"]
    return tuple(items)
