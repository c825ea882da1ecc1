"""A run on the real control plane, against creating the very TrainJobs that it makes by hand.

Both take turns on the same nodes, which are not real: KWOK says that pods run. The run measures bandwidth from logs
that are really read; the TrainJobs by hand have nobody who looks at them. Each leaves the cluster empty for the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cli.simulator.entry import Object
from cli.simulator.errors import Forbidden
from cli.simulator.tally import Tally
from sync_hooks.api.sync import ListNodes
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.planning.build import build
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity
from sync_hooks.planning.trainjob import render_train_job
from tests.cluster import build as tools
from tests.cluster.cluster import Cluster
from tests.cluster.live import LiveApi
from tests.cluster.nodes import gpu_nodes
from tests.cluster.product import Product, running
from tests.cluster.run.runs import EXAMPLES, example
from tests.support.kubectl import Kubectl
from webhook.apiserver import ApiServer
from webhook.events import COMPONENT
from webhook.observer import Observer

from . import servers
from .rounds import in_turn

NAMESPACE = "bench"
PRODUCT, DIRECT = "product", "direct"
GROUP_SIZE = 2
TESTED = "tests.cre.nvidia.com/tested"  # label of the nodes that the run is about
LOOK_SECONDS = 1.0
MOST_SECONDS = 1800.0
"""A round takes 90 s on two idle cores, and many times that where others use them."""
LEFT_OVERS = ("workloadruns", "trainjobs", "trainingruntimes", "jobsets", "jobs.batch", "pods")
WORKFLOW = "Workflow.cre.nvidia.com/v1alpha1"


@dataclass(slots=True)
class Costs:
    """What the rounds cost; lists have an entry a round."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {PRODUCT: [], DIRECT: []})
    """From the first request until all has ended."""
    hook_cpu: list[float] = field(default_factory=list)
    """Seconds, user and system."""
    writes: list[int] = field(default_factory=list)
    """Requests to the API server that the run made it take: by the driver for us, and events by the hooks."""
    status_bytes: list[int] = field(default_factory=list)
    """Size of the Workflow each time its status was written."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A control plane with the product on it, its nodes ready."""

    cluster: Cluster
    product: Product


def measure(groups: int, nodes: int, rounds: int) -> Costs:
    """Run ``groups`` groups of two on a cluster of so many nodes, and the same by hand, in turns.

    Raises RuntimeError where a control plane does not start, a run fails, or one does not end.
    """
    costs = Costs()
    with _bench(groups, nodes) as bench:
        for number in range(rounds):
            for party in in_turn((DIRECT, PRODUCT), number):
                costs.seconds[party].append(_run(bench, number, costs) if party == PRODUCT else _by_hand(bench, number))
                _empty(bench.cluster)
    return costs


@contextmanager
def _bench(groups: int, nodes: int) -> Iterator[Bench]:
    with ExitStack() as stack:
        plane = stack.enter_context(servers.control_plane())
        kubectl = Kubectl(plane / "kubeconfig", str(tools.tools_folder() / "bin" / "kubectl"), NAMESPACE)
        kubectl("create", "namespace", NAMESPACE)
        product, cluster = stack.enter_context(running(plane, kubectl)), Cluster(plane, kubectl)
        cluster.logs(EXAMPLES / "logs" / "all-reduce.log")
        _make_nodes(cluster, groups * GROUP_SIZE, nodes)
        yield Bench(cluster, product)


def _make_nodes(cluster: Cluster, tested: int, count: int) -> None:
    """Make so many nodes, the first of them to be tested, and wait until all are Ready."""
    api = LiveApi(cluster.kubeconfig)
    try:
        for index, node in enumerate(gpu_nodes(f"aws/h100x{count}", None, {})):
            labels = {**node["metadata"]["labels"], TESTED: str(index < tested).lower()}
            api.create({**node, "metadata": {**node["metadata"], "labels": labels}})
    finally:
        api.close()
    _until(lambda: _count_true(cluster, "nodes", "Ready") == count)


def _manifest(name: str) -> Object:
    run = example("nccl-all-reduce-bandwidth", numNodes=GROUP_SIZE, target={"nodeSelector": {TESTED: "true"}})
    return {**run, "metadata": {"name": name}}


def _run(bench: Bench, number: int, costs: Costs) -> float:
    """Create a WorkloadRun and wait for its verdict, which must be that all has passed."""
    name, folder = f"bench-{number}", bench.product.folder
    before, cpu = _counts(bench), servers.cpu_seconds(folder, "hooks")
    started = time.monotonic()
    bench.cluster.apply(_manifest(name))
    status = _until(lambda: _verdict(bench.cluster, name))
    seconds = time.monotonic() - started
    if status["verdict"] != "Passed":
        raise RuntimeError(f"the run ended {status['verdict']}: {status.get('verdictReasons')}")
    after = _counts(bench)
    costs.hook_cpu.append(servers.cpu_seconds(folder, "hooks") - cpu)
    costs.writes.append(after[0] - before[0])
    costs.status_bytes.append(after[1] - before[1])
    return seconds


def _verdict(cluster: Cluster, name: str) -> dict[str, Any]:
    status: dict[str, Any] = cluster.kubectl.get("workloadrun", name).get("status", {})
    return status if "verdict" in status else {}


def _counts(bench: Bench) -> tuple[int, int]:
    """Return all writes so far, and the bytes of Workflows written for their status."""
    tally: Tally = bench.product.driver.writes
    events = bench.cluster.kubectl.list("events", f"--field-selector=source={COMPONENT}")
    written = tally.written_bytes.items()
    return tally.total() + len(events), sum(size for key, size in written if key[1:] == ("update_status", WORKFLOW))


def _by_hand(bench: Bench, number: int) -> float:
    """Create the runtime and every TrainJob with one client, one after the other, and wait until all are Complete."""
    runtime, train_jobs = _made_by_a_run(bench, f"hand-{number}")
    api = LiveApi(bench.cluster.kubeconfig)
    try:
        started = time.monotonic()
        api.create(runtime)
        for obj in train_jobs:
            _until(partial(_is_admitted, api, obj), every=0.1)
        _until(lambda: _count_true(bench.cluster, "trainjobs", "Complete") == len(train_jobs))
        return time.monotonic() - started
    finally:
        api.close()


def _is_admitted(api: LiveApi, train_job: Object) -> bool:
    """Create a TrainJob; Trainer refuses it as long as its cache has not seen the runtime."""
    try:
        api.create(train_job)
    except Forbidden:
        return False
    return True


def _made_by_a_run(bench: Bench, name: str) -> tuple[Object, list[Object]]:
    """Plan the run on the cluster's nodes and render what it would create."""
    nodes = Observer(ApiServer(str(bench.cluster.kubeconfig))).read(ListNodes(0))
    identity = RunIdentity(name, NAMESPACE)
    plan = build(identity, WorkloadRunSpec.model_validate(_manifest(name)["spec"]), nodes)
    if not isinstance(plan, Plan):
        raise TypeError(plan.message)
    jobs = (render_job(plan, identity, name, group, 1) for group in range(len(plan.groups)))
    return _named(plan.runtime), [
        render_train_job(job["metadata"]["name"], NAMESPACE, job["spec"], job["metadata"]["labels"], 0) for job in jobs
    ]


def _named(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": NAMESPACE}}


def _count_true(cluster: Cluster, kind: str, condition: str) -> int:
    """Count the objects of a kind of which a condition is true."""
    template = f'{{range .items[*]}}{{.status.conditions[?(@.type=="{condition}")].status}}{{"\\n"}}{{end}}'
    return cluster.kubectl("get", kind, "-o", f"jsonpath={template}").split().count("True")


def _until(look: Any, every: float = LOOK_SECONDS) -> Any:
    deadline = time.monotonic() + MOST_SECONDS
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"not ended after {MOST_SECONDS:.0f} s")
        time.sleep(every)
    return seen


def _empty(cluster: Cluster) -> None:
    """Delete what a round made, and wait until it is gone."""
    for kind in LEFT_OVERS[:3]:
        cluster.kubectl("delete", kind, "--all", "--wait=false")
    _until(lambda: not cluster.kubectl("get", ",".join(LEFT_OVERS), "-o", "name"))
