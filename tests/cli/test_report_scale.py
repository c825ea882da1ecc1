"""A report of 2,500 groups: how large the page is, how many requests it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.simulator.kinds import Discovery
from cli.simulator.store import Store
from tests.cli.made import made
from tests.cli.served import Served, serving

ROOT = Path(__file__).parents[2]
GROUPS, NODES = 2500, 5000
MOST_BYTES = 5_000_000
OURS = "/apis/cre.nvidia.com/v1alpha1/namespaces/default"
CORE = "/api/v1"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")

    def refuse(obj: dict[str, Any]) -> None:
        raise AssertionError(obj)

    served = Served(folder / "kubeconfig", Store(lambda: "2026-01-01T00:00:00Z", Discovery()), refuse)
    served.answers = {path: (200, answer) for path, answer in answers()}
    with serving(served) as running:
        yield running


def answers() -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of one large run, as the API server would answer for them."""
    run, objects, nodes = made(f"aws/gb200x{NODES}", tail="NCCL WARN\n" * 400)
    assert run["status"]["progress"]["groups"] == GROUPS
    yield f"GET {OURS}/workloadruns/big", run
    for kind, resource_ in (("Job", "jobs"), ("BandwidthMeasurement", "bandwidthmeasurements")):
        yield f"GET {OURS}/{resource_}", {"items": [one for one in objects if one["kind"] == kind]}
    for one in objects:
        if one["kind"] == "Workflow":
            yield f"GET {OURS}/workflows/big", one
        if one["kind"] == "ConfigMap":
            yield f"GET {CORE}/namespaces/default/configmaps/{one['metadata']['name']}", one
    yield f"GET {CORE}/nodes", {"items": [{"metadata": node["metadata"]} for node in nodes]}


def workloadrun(served: Served, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program against the served objects."""
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *words],
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": str(served.kubeconfig)},
        capture_output=True,
        check=False,
        timeout=300,
    )


def test_the_page_has_every_group_and_can_be_sent_by_mail(served: Served) -> None:
    done = workloadrun(served, "report", "big", "-o", "html")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count(b'<polyline class="l"') == GROUPS
    assert len(done.stdout) < MOST_BYTES


@pytest.mark.parametrize("form", ["text", "junit", "markdown", "nodes"])
def test_the_other_forms_are_made_too(served: Served, form: str) -> None:
    done = workloadrun(served, "report", "big", "-o", form)
    assert done.returncode == 1, done.stderr
    assert done.stdout


def test_status_asks_once(served: Served) -> None:
    served.calls.clear()
    done = workloadrun(served, "status", "big")
    assert done.returncode == 1
    assert dict(served.calls) == {f"GET {OURS}/workloadruns/big": 1}
