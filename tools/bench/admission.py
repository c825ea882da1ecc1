"""Admission over TLS: the product's server against Trainer's own webhook and a naive Flask and pydantic handler.

All get equal load from the same generator, in turns. Trainer validates the TrainJob that the example stands for. One
replica of the product is one process of Python, which keeps one core busy; the chart installs two, over which a Service
spreads connections: so they are measured together as well.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from tests.cluster.pki import Authority

from . import servers
from .load import WARM_UP, Endpoint, Sample, burst
from .reviews import example, large, review_of, train_job
from .rounds import ROUNDS, Rounds, in_turn
from .row import Row, Target, below, compared, ratio_at_least, ratio_at_most, watched

PEER, NAIVE, PRODUCT = "Trainer's Go webhook", "naive Flask and pydantic", "product"
REPLICAS = ("product", "second")
"""Names of the replicas' processes."""
INSTALLED = "both replicas"
BURSTS = {1: 400, 8: 100}
"""Requests of each connection in a burst, by the number of connections."""
FACES = {"/validate": "validating", "/mutate": "mutating"}
LARGE_MILLISECONDS = 200.0
FIELDS = {
    "median": ("median", "ms"),
    "p99": ("p99", "ms"),
    "per_second": ("throughput", "requests/s"),
    "cpu": ("CPU of the server a request", "ms"),
}
"""What a sample holds, how it is called, and its unit."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server under load: what is sent to each replica, and by which folder and names their processes are known."""

    endpoints: tuple[Endpoint, ...]
    run: Path
    names: tuple[str, ...]

    def sample(self, context: ssl.SSLContext, connections: int, each: int) -> Sample:
        """Load it once."""
        before = self._cpu_seconds()
        found = burst(self.endpoints, context, connections, each)
        return replace(found, cpu=1e3 * (self._cpu_seconds() - before) / (connections * (each + WARM_UP)))

    def _cpu_seconds(self) -> float:
        return sum(servers.cpu_seconds(self.run, name) for name in self.names)


def rows() -> list[Row]:
    """Start the servers, measure, stop them. Raises RuntimeError or StartFailed where one does not come up."""
    with ExitStack() as stack:
        plane = stack.enter_context(servers.control_plane())
        run = stack.enter_context(servers.folder())
        authority = Authority(plane / "pki")
        context = ssl.create_default_context(cafile=str(authority.certificate))
        ports = [stack.enter_context(servers.product(run, authority, name)) for name in REPLICAS]
        naive = stack.enter_context(servers.naive(run, authority))
        validating = _measured(_validating(run, ports, plane, naive), context)
        mutating = _measured(_mutating(run, ports, plane), context)
        return [*_against(validating, "validating"), *_against(mutating, "mutating"), *_large(ports[0], context)]


def _validating(run: Path, ports: Sequence[int], plane: Path, naive: int) -> dict[str, Server]:
    body = review_of(example(), "workloadruns")
    return {
        **_replicas(run, ports, "/validate"),
        PEER: _peer(plane, "validate"),
        NAIVE: Server((Endpoint(naive, "/validate", body),), run, ("naive",)),
    }


def _mutating(run: Path, ports: Sequence[int], plane: Path) -> dict[str, Server]:
    return {**_replicas(run, ports, "/mutate"), PEER: _peer(plane, "mutate")}


def _replicas(run: Path, ports: Sequence[int], path: str) -> dict[str, Server]:
    body = review_of(example(), "workloadruns")
    endpoints = tuple(Endpoint(port, path, body) for port in ports)
    return {PRODUCT: Server(endpoints[:1], run, REPLICAS[:1]), INSTALLED: Server(endpoints, run, REPLICAS)}


def _peer(plane: Path, verb: str) -> Server:
    path = f"/{verb}-trainer-kubeflow-org-v1alpha1-trainjob"
    endpoint = Endpoint(servers.trainer_port(plane), path, review_of(train_job(), "trainjobs"))
    return Server((endpoint,), plane, ("trainer",))


Samples = Mapping[int, Mapping[str, list[Sample]]]
"""By number of connections, then by server: a sample a round."""


def _measured(parties: Mapping[str, Server], context: ssl.SSLContext) -> Samples:
    """Let the servers take turns, at every number of connections."""
    return {connections: _turns(parties, context, connections, each) for connections, each in BURSTS.items()}


def _turns(
    parties: Mapping[str, Server], context: ssl.SSLContext, connections: int, each: int
) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {name: [] for name in parties}
    for number in range(ROUNDS):
        for name in in_turn(parties, number):
            found[name].append(parties[name].sample(context, connections, each))
    return found


def _against(samples: Samples, face: str) -> list[Row]:
    found = []
    for reference in (PEER, NAIVE):
        for connections, by_server in samples.items():
            for product in (PRODUCT, INSTALLED) if connections > 1 else (PRODUCT,):
                for field in FIELDS if reference in by_server else ():
                    target = TARGETS.get((face, connections, product, field)) if reference == PEER else None
                    name = _name(face, connections, product, field, reference)
                    found.append(_row(name, field, by_server[product], (reference, by_server[reference]), target))
    return found


TARGETS: Mapping[tuple[str, int, str, str], Target] = {
    ("validating", 1, PRODUCT, "median"): ratio_at_most(2.0),
    ("validating", 1, PRODUCT, "p99"): ratio_at_most(2.5),
    ("validating", 8, INSTALLED, "per_second"): ratio_at_least(1 / 3),
}
"""By webhook, connections, what of the product, and field; all against Trainer's webhook."""


def _name(face: str, connections: int, product: str, field: str, reference: str) -> str:
    load = f"{face}, {connections} connection{'' if connections == 1 else 's'}"
    of = f" of {product}" if product == INSTALLED else ""
    return f"{load}, {FIELDS[field][0]}{of}, against {reference}"


def _row(name: str, field: str, own: list[Sample], reference: tuple[str, list[Sample]], target: Target | None) -> Row:
    title, other = reference
    costs = {PRODUCT: [getattr(item, field) for item in own], title: [getattr(item, field) for item in other]}
    measured, unit = Rounds(costs), FIELDS[field][1]
    value, beside = measured.median(PRODUCT), measured.median(title)
    return compared(name, value, unit, title, beside, measured.ratio(PRODUCT, title), target)


def _large(product: int, context: ssl.SSLContext) -> list[Row]:
    """Measure an object of 1 MB: whatever the verdict, an answer must come in time."""
    found = []
    for path, face in FACES.items():
        endpoint = Endpoint(product, path, review_of(large(), "workloadruns"), wanted=b'"allowed":')
        times = [burst([endpoint], context, 1, 10).median for _ in range(3)]
        found.append(watched(f"{face}, an object of 1 MB, median", median(times), "ms", below(LARGE_MILLISECONDS)))
    return found
