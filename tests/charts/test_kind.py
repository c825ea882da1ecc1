"""`make kind` as far as it can be seen without containers: its cluster, its values and its run are what others take.

The cluster itself is only made where Docker is, which is no part of the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.charts.helm import CHART, Helm, containers, pods
from tests.cluster import build
from tests.cluster.versions import version_of

ROOT = CHART.parents[1]
FOLDER = ROOT / "tools" / "kind"
CLUSTER = yaml.safe_load((FOLDER / "cluster.yaml").read_text())
RUN = yaml.safe_load((FOLDER / "run.yaml").read_text())


def commands(verb: str = "up") -> list[list[str]]:
    """Return the commands as the dry run prints them, each as its words."""
    made = subprocess.run(
        [sys.executable, "-m", "tools.kind", verb, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    script = "".join(f"{line}\nprintf '\\n'\n" for line in made.stdout.splitlines())
    each = 'f() { for w in "$@"; do printf "%s\\0" "$w"; done; }\n' + "".join(
        f'{name}() {{ f {name} "$@"; }}\n' for name in ("docker", "kind", "kubectl", "helm")
    )
    read = subprocess.run(["sh", "-euc", each + script], env={}, capture_output=True, text=True, check=True)
    return [line.removesuffix("\0").split("\0") for line in read.stdout.split("\n") if line]


def option(words: list[str], name: str) -> str:
    [value] = [word.partition("=")[2] for word in words if word.startswith(f"--{name}=")]
    return value


def test_a_shell_reads_the_printed_commands_as_they_are_run() -> None:
    sys.path.append(str(ROOT / "tools"))
    from kind import steps  # type: ignore[import-not-found]

    assert commands() == [list(step.words) for step in steps.up()]
    assert commands("down") == [list(step.words) for step in steps.down()]
    assert {words[0] for words in commands()} == set(steps.PROGRAMS)


def test_what_is_missing_is_named_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "kind").symlink_to("/bin/false")
    (tmp_path / "helm").symlink_to("/bin/false")
    done = subprocess.run(
        [sys.executable, "-m", "tools.kind", "up"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "make kind: not on PATH: docker, kubectl\n"


# --- the cluster


def create(kind: Path, configuration: Path) -> str:
    """Let kind make a cluster where it finds no container engine, and return what stopped it."""
    command = [str(kind), "create", "cluster", f"--config={configuration}"]
    environment = {"PATH": "/nonexistent", "HOME": str(configuration.parent)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr


@pytest.mark.cluster
def test_kind_lacks_nothing_but_the_engine(tmp_path: Path) -> None:
    try:
        kind = build.ensure(["kind"], say=lambda line: print(line, file=sys.stderr)) / "bin" / "kind"
    except build.ToolsMissing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    misspelt = tmp_path / "misspelt.yaml"
    misspelt.write_text((FOLDER / "cluster.yaml").read_text().replace("role: worker", "rolle: worker"))
    assert "unable to decode config" in create(kind, misspelt)
    copy = tmp_path / "cluster.yaml"
    copy.write_text((FOLDER / "cluster.yaml").read_text())
    assert 'exec: "docker": executable file not found' in create(kind, copy)


def test_the_nodes_that_are_said_to_have_gpus_are_its_workers() -> None:
    """kind calls its first worker ``-worker``, and counts from the second on."""
    workers = [node for node in CLUSTER["nodes"] if node["role"] == "worker"]
    names = [f"{CLUSTER['name']}-worker{number if number > 1 else ''}" for number in range(1, len(workers) + 1)]
    labelled = [words[words.index("node") + 1] for words in commands() if "label" in words]
    patched = [words[words.index("node") + 1] for words in commands() if "patch" in words]
    assert (labelled, patched) == (names, names)


# --- what is installed


def test_it_installs_the_versions_that_the_product_is_tested_against() -> None:
    charts = {words[words.index("--install") + 1]: words for words in commands() if words[0] == "helm"}
    applications = list(yaml.safe_load_all((ROOT / "examples" / "argocd" / "applications.yaml").read_text()))
    said = {item["metadata"]["name"]: item["spec"]["source"]["targetRevision"] for item in applications}
    assert list(charts) == ["metacontroller", "kubeflow-trainer", "workloadrun"]
    assert option(charts["metacontroller"], "version") == said["metacontroller"]
    assert option(charts["kubeflow-trainer"], "version") == said["kubeflow-trainer"] == version_of("trainer")[1:]
    assert option(charts["metacontroller"], "namespace") == "metacontroller"  # where the network policy expects it


def test_the_chart_takes_its_values_and_pulls_nothing(helm: Helm) -> None:
    [words] = [words for words in commands() if words[:4] == ["helm", "upgrade", "--install", "workloadrun"]]
    assert (ROOT / words[4]).samefile(CHART)
    sets = [word.removeprefix("--set=") for word in words if word.startswith("--set=")]
    found = [container for pod in pods(helm.render(*sets)) for container in containers(pod)]
    assert {container["image"] for container in found} == {RUN["spec"]["image"]}
    assert {container["imagePullPolicy"] for container in found} == {"Never"}
    loaded = [words for words in commands() if words[:2] == ["kind", "load"]]
    assert loaded[0][3] == RUN["spec"]["image"] == option(commands()[0], "tag")


# --- the run


def test_the_run_passes_on_nodes_like_its_own(tmp_path: Path) -> None:
    nodes: list[dict[str, Any]] = []
    for words in commands():
        if "label" in words:
            name, *labels = words[words.index("node") + 1 :]
            nodes.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
            nodes[-1]["metadata"]["labels"] = {"kubernetes.io/hostname": name} | dict(x.split("=") for x in labels)
        if "patch" in words:
            nodes[-1] |= json.loads(option(words, "patch"))
            nodes[-1]["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            nodes[-1]["spec"] = {"providerID": f"kind://docker/workloadrun/{words[words.index('node') + 1]}"}
    inventory = tmp_path / "nodes.yaml"
    inventory.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": nodes}))
    simulate = [sys.executable, "-m", "cli.main", "simulate", str(FOLDER / "run.yaml"), f"--nodes={inventory}"]
    done = subprocess.run([*simulate, "-o", "json"], cwd=ROOT, capture_output=True, text=True, check=False)
    status = json.loads(done.stdout)["workloadRun"]["status"]
    assert (done.returncode, status["verdict"]) == (0, "Passed")
    assert status["coverage"]["tested"] == len(nodes)
