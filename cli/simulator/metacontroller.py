"""The driver: starts CompositeControllers, works on their queues in virtual time, dies and starts again if told to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from cli.simulator.api import Api, Informers
from cli.simulator.clock import Clock
from cli.simulator.composite import Applied, Call, Controller, Key, SyncError
from cli.simulator.definition import Definition, DefinitionError, parse
from cli.simulator.entry import Entry
from cli.simulator.faults import Dice, ProcessDied
from cli.simulator.kinds import METACONTROLLER, Kind
from cli.simulator.pace import Pace, RateLimit
from cli.simulator.protocol import HookCaller, HookResponse, TooManyRequests
from cli.simulator.recorder import Recorder
from cli.simulator.workqueue import WorkQueue

ACTOR = "metacontroller"
_Action = Callable[[], None]
COMPOSITE_CONTROLLER = Kind(
    METACONTROLLER, "CompositeController", "compositecontrollers", namespaced=False, custom=True
)


@dataclass(slots=True)
class Traffic:
    """What went over the wire to the hooks, by controller."""

    calls: Counter[str] = field(default_factory=Counter)
    request_bytes: Counter[str] = field(default_factory=Counter)
    answer_bytes: Counter[str] = field(default_factory=Counter)
    largest_request: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    parents: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls by controller and parent's qualified name: a parent with far more than others is in a hot loop."""
    total: int = 0

    def count(self, name: str, parent: str, request: bytes, response: HookResponse) -> None:
        """Count one call."""
        self.total += 1
        self.calls[name] += 1
        self.parents[name, parent] += 1
        self.request_bytes[name] += len(request)
        self.answer_bytes[name] += len(response.body)
        self.largest_request[name] = max(self.largest_request[name], len(request))
        self.errors[name] += response.status != 200


@dataclass(slots=True)
class _Running:
    """A started controller and its queue."""

    definition: Definition
    controller: Controller
    queue: WorkQueue[Key]


@dataclass(slots=True)
class _Sync:
    """A key that is being worked on."""

    running: _Running
    key: Key
    calls: int
    """Requests that the API client had made before the step that is being done."""


class Metacontroller:
    """One process. Everything it knows but its definitions is lost when it dies."""

    def __init__(
        self,
        api: Api,
        informers: Informers,
        clock: Clock,
        hooks: HookCaller,
        *,
        pace: Pace | None = None,
        dice: Dice | None = None,
    ) -> None:
        self.traffic = Traffic()
        self.restarts = 0
        self._api = api
        self._informers = informers
        self._clock = clock
        self._hooks = hooks
        self._pace = pace or Pace()
        self._dice = dice or Dice()
        self._limit = RateLimit(clock, self._pace)
        self._recorder = Recorder(api, clock, ACTOR)
        self._running: dict[str, _Running] = {}
        self._down = False

    def start(self, controller: Entry) -> bool:
        """Start a stored CompositeController; False, and a CreateError event on it, when it cannot be."""
        try:
            definition = parse(controller.obj, self._api)
        except DefinitionError as error:
            text = f"Cannot create new controller: {error}"
            self._guard(lambda: self._recorder.event(controller, "Warning", "CreateError", text))
            return False
        name = definition.name
        queue = WorkQueue[Key](self._clock, lambda: self._wake(name))
        started = Controller(definition, self._api, self._informers, queue.add, self._dice.shuffled)
        self._running[name] = _Running(definition, started, queue)
        started.start()
        self._plan_resync(name)
        return True

    @property
    def controllers(self) -> tuple[str, ...]:
        """Names of the controllers that run, sorted."""
        return tuple(sorted(self._running))

    def _plan_resync(self, name: str) -> None:
        running = self._running[name]
        period = running.definition.resync_seconds or self._pace.default_resync_seconds

        def resync() -> None:
            if not self._down:
                running.controller.resync()
            self._plan_resync(name)

        self._clock.schedule(period, resync, idle=True)

    def _wake(self, name: str) -> None:
        if not self._down:
            self._clock.schedule(0.0, lambda: self._work(name))

    def _work(self, name: str) -> None:
        running = self._running[name]
        if self._down or running.queue.processing >= self._pace.workers:
            return
        key = running.queue.take()
        if key is not None:
            self._guard(lambda: self._begin(_Sync(running, key, self._api.calls)))

    def _guard(self, action: _Action) -> None:
        try:
            action()
        except ProcessDied:
            self._die()

    def _begin(self, sync: _Sync) -> None:
        try:
            call = sync.running.controller.begin(sync.key)
        except SyncError as error:
            self._failed(sync, error, self._informers.of(sync.running.definition.parent).find(*sync.key))
            return
        if call is None:
            sync.running.queue.forget(sync.key)
            self._done(sync)
            return
        self._dice.step()
        response, seconds = self._call(sync.running.definition, call)
        self._dice.step()
        self._later(self._granted(sync) + seconds, lambda: self._apply_children(sync, call, response))

    def _call(self, definition: Definition, call: Call) -> tuple[HookResponse, float]:
        """Call the hook; returns its answer and how long it took."""
        faults, seconds = self._dice.faults, self._pace.hook_duration(call.body)
        if self._dice.hits(faults.hook_error):
            response = HookResponse(500, b"injected: the hook failed")
        else:
            response = self._hooks(definition.name, call.hook, call.body)
            if self._dice.hits(faults.answer_lost):
                response = HookResponse(504, b"injected: the answer was lost")
                seconds = definition.timeout_seconds
        self.traffic.count(definition.name, call.parent.qualified_name, call.body, response)
        return response, seconds

    def _apply_children(self, sync: _Sync, call: Call, response: HookResponse) -> None:
        queue, key = sync.running.queue, sync.key
        sync.calls = self._api.calls

        def plan(delay: float) -> None:
            queue.add_after(key, delay)

        try:
            applied = sync.running.controller.apply_children(call, response, plan)
        except TooManyRequests as error:
            queue.add_after(key, error.after)
            self._done(sync)
        except SyncError as error:
            self._failed(sync, error, call.parent)
        else:
            # children are told by the watch before the status that is written after them
            self._later(self._granted(sync), lambda: self._write_status(sync, applied))

    def _write_status(self, sync: _Sync, applied: Applied) -> None:
        sync.calls = self._api.calls
        try:
            sync.running.controller.write_status(applied)
        except SyncError as error:
            self._failed(sync, error, applied.parent)
            return
        sync.running.queue.forget(sync.key)
        self._done(sync)

    def _failed(self, sync: _Sync, error: SyncError, parent: Entry | None) -> None:
        if parent is not None:
            self._recorder.event(parent, "Warning", "SyncError", f"Sync error: {error}")
        sync.running.queue.retry(sync.key)
        self._done(sync)

    def _done(self, sync: _Sync) -> None:
        running = sync.running

        def done() -> None:
            running.queue.done(sync.key)
            self._wake(running.definition.name)  # a worker is free

        self._later(self._granted(sync), done)

    def _granted(self, sync: _Sync) -> float:
        """Return how long the API requests of the last step take: their time, and their turn in the rate limit."""
        calls, sync.calls = self._api.calls - sync.calls, self._api.calls
        return max(self._limit.take(calls), calls * self._pace.call_seconds)

    def _later(self, delay: float, action: _Action) -> None:
        """Go on with a sync after a while, unless the process has died in between."""
        life = self.restarts
        self._clock.schedule(delay, lambda: self._guard(action) if life == self.restarts else None)

    def _die(self) -> None:
        self._down = True
        self.restarts += 1
        for running in self._running.values():
            running.queue.clear()
        self._clock.schedule(self._dice.faults.restart_seconds, self._restart)

    def _restart(self) -> None:
        self._down = False
        for running in self._running.values():
            running.queue.clear()  # what was asked for while nobody was there
        self._recorder = Recorder(self._api, self._clock, ACTOR)
        self._informers.restart()
