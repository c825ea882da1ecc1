"""The driver: starts CompositeControllers, works on their queues in virtual time, dies and starts again if told to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from cli.simulator.api import Api
from cli.simulator.clock import Clock
from cli.simulator.composite import Call, Controller, Key, SyncError
from cli.simulator.definition import Definition, DefinitionError, parse
from cli.simulator.entry import Entry
from cli.simulator.faults import Dice, ProcessDied
from cli.simulator.informer import SharedInformers
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
    total: int = 0

    def count(self, name: str, request: bytes, response: HookResponse) -> None:
        """Count one call."""
        self.total += 1
        self.calls[name] += 1
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


class Metacontroller:
    """One process. Everything it knows but its definitions is lost when it dies."""

    def __init__(
        self,
        api: Api,
        informers: SharedInformers,
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
            self._guard(lambda: self._begin(running, key))

    def _guard(self, action: _Action) -> None:
        try:
            action()
        except ProcessDied:
            self._die()

    def _begin(self, running: _Running, key: Key) -> None:
        before = self._api.calls
        try:
            call = running.controller.begin(key)
        except SyncError as error:
            self._failed(running, key, error, before)
            return
        if call is None:
            running.queue.forget(key)
            self._done(running, key, before)
            return
        self._dice.step()
        response, seconds = self._call(running.definition, call)
        self._dice.step()
        delay = self._limit.take(self._api.calls - before) + seconds
        self._later(delay, lambda: self._finish(running, key, call, response))

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
        self.traffic.count(definition.name, call.body, response)
        return response, seconds

    def _finish(self, running: _Running, key: Key, call: Call, response: HookResponse) -> None:
        before = self._api.calls
        try:
            running.controller.finish(call, response, lambda delay: running.queue.add_after(key, delay))
        except TooManyRequests as error:
            running.queue.add_after(key, error.after)
        except SyncError as error:
            self._failed(running, key, error, before, call.parent)
            return
        else:
            running.queue.forget(key)
        self._done(running, key, before)

    def _failed(self, running: _Running, key: Key, error: SyncError, before: int, parent: Entry | None = None) -> None:
        about = parent or self._informers.of(running.definition.parent).find(*key)
        if about is not None:
            self._recorder.event(about, "Warning", "SyncError", f"Sync error: {error}")
        running.queue.retry(key)
        self._done(running, key, before)

    def _done(self, running: _Running, key: Key, before: int) -> None:
        delay = self._limit.take(self._api.calls - before)

        def done() -> None:
            running.queue.done(key)
            self._wake(running.definition.name)  # a worker is free

        self._later(delay, done)

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
