"""The hook calls of a whole run, kept with what each of them read: to be made again, to a real server.

The run is simulated; reads go through the product's own observer, so what is kept are requests as the API server gets
them and answers as it gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cli.hooking import admission, hooks
from cli.inputs import shipped_profiles
from cli.simulator.entry import Entry
from cli.simulator.inventory import make
from cli.simulator.protocol import HookCaller, HookResponse
from cli.simulator.scenario import Scenario
from cli.simulator.simulation import HookContext, Simulation
from sync_hooks.api.sync import ReadLog, Unreadable
from tests.cluster.run.runs import example
from webhook.apiserver import ApiError, Path
from webhook.observer import Observer

AGO = timedelta(seconds=150)
"""When the run began, for hooks that are called now: a little longer than it takes. Stamps of the future do not count,
and waits and workloads that have become old are given up: that would be another run.
"""
NAMESPACE = "default"
MOST_VIRTUAL_SECONDS = 3600.0
NOT_FOUND = 404

Answers = Mapping[str, bytes]
"""What the API server answers by path and query; what is missing is a 404."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a hook, and the API server at that moment as far as it was looked at."""

    controller: str
    hook: str
    body: bytes
    answers: Answers


@dataclass(slots=True)
class _Recorder:
    """Serves an observer from a simulation's store and keeps what it asked for."""

    simulation: Simulation
    answers: dict[str, bytes] = field(default_factory=dict)

    def get(self, path: Path, query: Mapping[str, str | int] | None = None, *, seconds: float = 0) -> bytes:  # noqa: ARG002 - as ApiServer
        """Answer as `ApiServer.get` does."""
        content = self._log(path, query or {}) if path.subresource == "log" else self._objects(path, query or {})
        self.answers[path.url(query)] = content
        return content

    def _objects(self, path: Path, query: Mapping[str, str | int]) -> bytes:
        kind = self.simulation.store.discovery.of_resource(path.api_version, path.resource)
        if kind is None:
            raise ApiError(NOT_FOUND, "no such kind")
        if path.name:
            entry = self.simulation.store.find(path.api_version, kind.kind, path.namespace, path.name)
            if entry is None:
                raise ApiError(NOT_FOUND, "not found")
            return entry.json
        found = self.simulation.store.select(path.api_version, kind.kind, path.namespace or None)
        items = [entry.json for entry in found if _is_selected(entry, str(query.get("labelSelector", "")))]
        return b'{"metadata":{},"items":[' + b",".join(items) + b"]}"

    def _log(self, path: Path, query: Mapping[str, str | int]) -> bytes:
        pod, container = path.name, str(query["container"])
        found = self.simulation.reader.read(ReadLog(path.namespace, pod, container))
        if isinstance(found, Unreadable):
            raise ApiError(400, found.reason)
        content: bytes = found.content
        return content


def _is_selected(entry: Entry, selector: str) -> bool:
    key, equals, value = selector.partition("=")
    return not key or (entry.labels.get(key) == value if equals else key in entry.labels)


def record(groups: int) -> list[Call]:
    """Run so many groups of two with bandwidth measurements and return every hook call. Raises RuntimeError."""
    calls: list[Call] = []

    def factory(context: HookContext) -> HookCaller:
        def call(controller: str, hook: str, body: bytes) -> HookResponse:
            recorder = _Recorder(simulation)
            own = replace(context, read=Observer(recorder).read)  # type: ignore[arg-type]  # get is all it uses
            answered = hooks(own)(controller, hook, body)
            calls.append(Call(controller, hook, body, recorder.answers))
            return answered

        return call

    simulation = Simulation(make(f"aws/h100x{2 * groups}"), Scenario(), factory, datetime.now(UTC) - AGO)
    run = example("nccl-all-reduce-bandwidth", numNodes=2)
    run = {**run, "metadata": {**run["metadata"], "namespace": NAMESPACE}}
    simulation.apply([*shipped_profiles(), run], admission)
    report = simulation.run(MOST_VIRTUAL_SECONDS, lambda: _has_verdict(simulation, run["metadata"]["name"]))
    if report.stopped != "done":
        raise RuntimeError(f"the run did not end: {report.stopped}")
    return calls


def _has_verdict(simulation: Simulation, name: str) -> bool:
    found = simulation.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", NAMESPACE, name)
    return found is not None and "verdict" in (found.obj.get("status") or {})
