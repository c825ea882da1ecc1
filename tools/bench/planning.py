"""Planning 5,000 nodes and rendering 2,500 groups' Jobs, against writing and reading the same as JSON.

No other planner does this work, so the reference is what any would do at least: to decode the nodes, to copy the Jobs.
"""

from __future__ import annotations

import copy
import json

import msgspec

from sync_hooks.api.observed import Node
from sync_hooks.cluster.placement import place_by_domain
from sync_hooks.planning.build import build
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity
from tests.support.nodes import nodes
from tests.support.runs import run_spec

from .rounds import alternate, cpu_of
from .row import Row, below, compared

NODES = 5000
GROUPS = NODES // 2
MOST_PLANNING_SECONDS = 1.5  # reading the nodes included
RUN = RunIdentity("demo", "default")
RACK_SIZES = (1, 3, 18, NODES)


def rows() -> list[Row]:
    """Measure placing, planning and rendering."""
    cluster = nodes(NODES)
    plan = build(RUN, run_spec("mpi"), cluster)
    if not isinstance(plan, Plan):
        raise TypeError(plan.message)
    return [*(_placing(size) for size in RACK_SIZES), _planning(cluster), *_rendering(plan)]


def _placing(rack: int) -> Row:
    domain_of = {f"gpu-{number:04d}": f"rack-{number // rack:04d}" for number in range(NODES)}
    sort = cpu_of(lambda: sorted(domain_of, key=lambda name: (domain_of[name], name)))
    measured = alternate({"product": cpu_of(lambda: place_by_domain(domain_of, 2)), "sorted()": sort})
    value, other = 1e3 * measured.median("product"), 1e3 * measured.median("sorted()")
    name = f"placing {NODES} nodes in racks of {rack}"
    ratio = measured.ratio("product", "sorted()")
    return compared(name, value, "ms", "sorting their names", other, ratio, below(1000))


def _planning(cluster: tuple[Node, ...]) -> Row:
    spec = run_spec("mpi")
    encoded = msgspec.json.encode(cluster)
    parties = {
        "product": cpu_of(lambda: build(RUN, spec, cluster)),
        "json": cpu_of(lambda: json.loads(encoded)),
    }
    measured = alternate(parties)
    value, other = measured.median("product"), measured.median("json")
    name = f"planning {NODES} nodes in groups of 2"
    ratio = measured.ratio("product", "json")
    return compared(name, value, "s", "json decoding them", other, ratio, below(MOST_PLANNING_SECONDS))


def _rendering(plan: Plan) -> list[Row]:
    one = render_job(plan, RUN, RUN.name, 0, 1, 0)
    parties = {
        "product": cpu_of(lambda: [render_job(plan, RUN, RUN.name, group, 1, 0) for group in range(GROUPS)]),
        "deepcopy": cpu_of(lambda: [copy.deepcopy(one) for _ in range(GROUPS)]),
    }
    measured = alternate(parties)
    value, other, ratio = measured.median("product"), measured.median("deepcopy"), measured.ratio("product", "deepcopy")
    reference = "deepcopy of one"
    return [
        compared(f"rendering {GROUPS} groups' Jobs", value, "s", reference, other, ratio, below(1)),
        compared("rendering one of them", 1e3 * value / GROUPS, "ms", reference, 1e3 * other / GROUPS, ratio, below(1)),
    ]
