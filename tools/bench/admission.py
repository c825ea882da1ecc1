"""Admission over TLS: the product's server against Trainer's own webhook and a naive Flask and pydantic handler.

All three get equal load from the same generator, in turns. Trainer validates the TrainJob that the example stands for.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
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
    """A server under load: what is sent to it, and by which folder and name its process is known."""

    endpoint: Endpoint
    run: Path
    name: str

    def sample(self, context: ssl.SSLContext, connections: int, each: int) -> Sample:
        """Load it once."""
        before = servers.cpu_seconds(self.run, self.name)
        found = burst(self.endpoint, context, connections, each)
        spent = servers.cpu_seconds(self.run, self.name) - before
        return replace(found, cpu=1e3 * spent / (connections * (each + WARM_UP)))


def rows() -> list[Row]:
    """Start the servers, measure, stop them. Raises RuntimeError or StartFailed where one does not come up."""
    with ExitStack() as stack:
        plane = stack.enter_context(servers.control_plane())
        run = stack.enter_context(servers.folder())
        authority = Authority(plane / "pki")
        context = ssl.create_default_context(cafile=str(authority.certificate))
        product = stack.enter_context(servers.product(run, authority))
        naive = stack.enter_context(servers.naive(run, authority))
        validating = _measured(_validating(run, product, plane, naive), context)
        mutating = _measured(_mutating(run, product, plane), context)
        return [*_against(validating, "validating"), *_against(mutating, "mutating"), *_large(product, context)]


def _validating(run: Path, product: int, plane: Path, naive: int) -> dict[str, Server]:
    body = review_of(example(), "workloadruns")
    return {
        PRODUCT: Server(Endpoint(product, "/validate", body), run, "product"),
        PEER: _peer(plane, "validate"),
        NAIVE: Server(Endpoint(naive, "/validate", body), run, "naive"),
    }


def _mutating(run: Path, product: int, plane: Path) -> dict[str, Server]:
    endpoint = Endpoint(product, "/mutate", review_of(example(), "workloadruns"))
    return {PRODUCT: Server(endpoint, run, "product"), PEER: _peer(plane, "mutate")}


def _peer(plane: Path, verb: str) -> Server:
    path = f"/{verb}-trainer-kubeflow-org-v1alpha1-trainjob"
    endpoint = Endpoint(servers.trainer_port(plane), path, review_of(train_job(), "trainjobs"))
    return Server(endpoint, plane, "trainer")


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
    for reference in list(samples[1])[1:]:
        peer = reference == PEER and face == "validating"
        for connections, by_server in samples.items():
            alone = connections == 1
            what = f"{face}, {connections} connection{'' if alone else 's'}, "
            latency = {"median": 2.0, "p99": 2.5} if peer and alone else {}
            for field in FIELDS:
                target = ratio_at_most(latency[field]) if field in latency else None
                if peer and not alone and field == "per_second":
                    target = ratio_at_least(1 / 3)
                found.append(_row(what, field, by_server, reference, target))
    return found


def _row(what: str, field: str, by_server: Mapping[str, list[Sample]], reference: str, target: Target | None) -> Row:
    measured = Rounds({name: [getattr(sample, field) for sample in found] for name, found in by_server.items()})
    title, unit = FIELDS[field]
    name = f"{what}{title}, against {reference}"
    value, other = measured.median(PRODUCT), measured.median(reference)
    return compared(name, value, unit, reference, other, measured.ratio(PRODUCT, reference), target)


def _large(product: int, context: ssl.SSLContext) -> list[Row]:
    """Measure an object of 1 MB: whatever the verdict, an answer must come in time."""
    found = []
    for path, face in FACES.items():
        endpoint = Endpoint(product, path, review_of(large(), "workloadruns"), wanted=b'"allowed":')
        times = [burst(endpoint, context, 1, 10).median for _ in range(3)]
        found.append(watched(f"{face}, an object of 1 MB, median", median(times), "ms", below(LARGE_MILLISECONDS)))
    return found
