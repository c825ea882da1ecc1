"""The driver of cli.simulator on a real API server, in real time, calling hooks over HTTPS.

Caches and queues live on one loop; a hook is called and its answer applied on a thread, as many as Metacontroller has
workers: between a sync's request and its status all others go on. Its client's rate limit is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType

from cli.simulator.composite import Call, Controller, Key, SyncError
from cli.simulator.definition import Definition, DefinitionError, parse
from cli.simulator.entry import Change, Entry, Object
from cli.simulator.errors import ApiError
from cli.simulator.metacontroller import ACTOR, COMPOSITE_CONTROLLER, Traffic
from cli.simulator.protocol import HookResponse, TooManyRequests
from cli.simulator.recorder import Recorder
from cli.simulator.tally import Tally
from cli.simulator.workqueue import WorkQueue
from tests.cluster.hooks import Hook, connect
from tests.cluster.live import LiveApi
from tests.cluster.loop import Action, Loop
from tests.cluster.watching import LiveInformers

DRIVER = "tests.cre.nvidia.com/driver"
"""Label of a CompositeController that is some other driver's than the usual one: the driver's name."""
WORKERS = 32
DEFAULT_RESYNC_SECONDS = 1800.0


@dataclass(slots=True)
class _Running:
    """A started controller, its queue and its hooks; ``alive`` ends when its spec changes or it goes."""

    spec: Object
    definition: Definition
    hooks: Mapping[str, Hook]
    queue: WorkQueue[Key]
    controller: Controller
    alive: bool = True


class Driver:
    """One process of Metacontroller: runs the stored CompositeControllers whose label `DRIVER` is its name, or absent.

    Use it as a context; leaving it raises what went wrong inside. ``addresses`` says where Services of hooks really
    listen: ``name.namespace`` to ``host:port``.
    """

    def __init__(self, kubeconfig: Path, addresses: Mapping[str, str] | None = None, *, name: str = "") -> None:
        self.traffic = Traffic()
        self._name = name
        self._addresses = addresses or {}
        self._loop = Loop()
        self._api = LiveApi(kubeconfig, ACTOR)
        self._informers = LiveInformers(self._api, self._loop.post)
        self._recorder = Recorder(self._api, self._loop, ACTOR)
        self._calls = ThreadPoolExecutor(WORKERS, thread_name_prefix="hook")
        self._running: dict[str, _Running] = {}

    @property
    def writes(self) -> Tally:
        """The writes that were accepted so far; only to be read while nothing happens."""
        return self._api.tally

    def __enter__(self) -> Driver:
        self._loop.post(lambda: self._informers.of(COMPOSITE_CONTROLLER).subscribe(self._on_definition))
        self._loop.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._informers.stop()
        try:
            self._loop.stop()
        finally:
            self._calls.shutdown(cancel_futures=True)
            self._api.close()

    def _on_definition(self, change: Change) -> None:
        """Start a controller that is new, start it again when its spec changed, stop it when it is gone."""
        entry = change.entry
        if entry.labels.get(DRIVER, "") != self._name:
            return
        running = self._running.get(entry.name)
        if running and change.type != "DELETED" and running.spec == entry.obj["spec"]:
            return
        if running:
            running.alive = False
            running.queue.clear()
            del self._running[entry.name]
        if change.type != "DELETED":
            self._start(entry)

    def _start(self, entry: Entry) -> None:
        spec = entry.obj["spec"]
        try:
            definition = parse(entry.obj, self._api)
            hooks = {name: connect(hook, self._api, self._addresses) for name, hook in spec["hooks"].items()}
        except (DefinitionError, ApiError) as error:
            self._recorder.event(entry, "Warning", "CreateError", f"Cannot create new controller: {error}")
            return
        queue = WorkQueue[Key](self._loop, lambda: self._wake(running))
        controller = Controller(
            definition, self._api, self._informers, lambda key: queue.add(key) if running.alive else None
        )
        running = _Running(spec, definition, hooks, queue, controller)
        self._running[definition.name] = running
        controller.start()
        self._plan_resync(running)

    def _plan_resync(self, running: _Running) -> None:
        def resync() -> None:
            if running.alive:
                running.controller.resync()
                self._plan_resync(running)

        self._loop.schedule(running.definition.resync_seconds or DEFAULT_RESYNC_SECONDS, resync)

    def _wake(self, running: _Running) -> None:
        self._loop.schedule(0, lambda: self._work(running))

    def _work(self, running: _Running) -> None:
        if not running.alive or running.queue.processing >= WORKERS:
            return
        key = running.queue.take()
        if key is not None:
            self._begin(running, key)

    def _begin(self, running: _Running, key: Key) -> None:
        try:
            call = running.controller.begin(key)
        except SyncError as error:
            self._failed(running, key, error)
            return
        if call is None:
            running.queue.forget(key)
            self._done(running, key)
            return
        self._calls.submit(self._call, running, key, call)

    def _call(self, running: _Running, key: Key, call: Call) -> None:
        """Call the hook and apply its answer; runs on a thread of its own, so that syncs write side by side."""
        try:
            response = running.hooks[call.hook].call(call.body)
            self._loop.post(lambda: self.traffic.count(running.definition.name, call.parent.name, call.body, response))
            if running.alive:
                self._loop.post(self._applied(running, key, call, response))
        except BaseException as error:
            self._loop.post(partial(_fail, error))

    def _applied(self, running: _Running, key: Key, call: Call, response: HookResponse) -> Action:
        """Write children, then the status; returns what is to be done on the loop then."""
        controller, queue = running.controller, running.queue

        def again(delay: float) -> None:
            self._loop.post(lambda: queue.add_after(key, delay))

        try:
            controller.write_status(controller.apply_children(call, response, again))
        except TooManyRequests as error:
            again(error.after)
            return lambda: self._done(running, key)
        except SyncError as error:
            return partial(self._failed, running, key, error)
        return lambda: self._succeeded(running, key)

    def _succeeded(self, running: _Running, key: Key) -> None:
        running.queue.forget(key)
        self._done(running, key)

    def _failed(self, running: _Running, key: Key, error: SyncError) -> None:
        about = self._informers.of(running.definition.parent).find(*key)
        if about is not None:
            self._recorder.event(about, "Warning", "SyncError", f"Sync error: {error}")
        running.queue.retry(key)
        self._done(running, key)

    def _done(self, running: _Running, key: Key) -> None:
        running.queue.done(key)
        self._wake(running)  # a worker is free


def _fail(error: BaseException) -> None:
    """Raise on the loop what went wrong on a thread, where nobody would see it."""
    raise error
