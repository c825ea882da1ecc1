"""What is rendered for each framework really runs: on two nodes, from kubectl apply to the verdict."""

from __future__ import annotations

import re

from tests.cluster.cluster import Cluster
from tests.cluster.run.runs import ended, node_list
from tests.e2e.real import RealCluster
from tests.e2e.runs import STORAGE_CLASS, logs_of, mpi, run, script, shared_volume

NODES = ["gpu-0000", "gpu-0001"]
SECONDS = 240


def test_mpirun_starts_the_ranks_on_both_workers_with_all_that_the_run_gives_them(
    cluster: Cluster, real: RealCluster
) -> None:
    (real.storage / "greeting").write_text("a volume")
    cluster.apply(shared_volume(real, "checkpoints"))
    scripts = {"launch": script("launch"), "rank": script("rank"), "greeting": "a file"}
    cluster.apply(
        run(
            "ranks",
            mpi("/config/rank", "/config/launch"),
            scripts,
            env=[
                {"name": "GREETING", "value": "hello, 'rank'"},
                {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            ],
            volumes=[{"name": "data", "hostPath": {"path": str(real.storage), "type": "Directory"}}],
            volumeMounts=[{"name": "data", "mountPath": "/data", "readOnly": True}],
            checkpoint={"storageSize": "1Gi", "storageClassName": STORAGE_CLASS},
        )
    )
    [log] = cluster.eventually(lambda: logs_of(cluster, "launcher", "total"), SECONDS)
    status = ended(cluster, "ranks", SECONDS)
    assert "launcher reads a file and a volume" in log
    ranks = re.findall(r"^rank (\d) of 4 on (\S+?-node-0-\d): (.*)$", log, re.MULTILINE)
    assert sorted(number for number, _, _ in ranks) == ["0", "1", "2", "3"]
    assert len({host for _, host, _ in ranks}) == 2
    checkpoints = "launcher,rank-0,rank-1,rank-2,rank-3"
    reached = f"[\"hello, 'rank'\", '{cluster.namespace}', 'efa', '0'] ['a file', 'a volume'] {checkpoints} total 6"
    assert {rest for _, _, rest in ranks} == {reached}
    assert (status["verdict"], node_list(cluster, status["succeededNodesRef"])) == ("Passed", NODES)


def test_torch_nodes_meet_where_the_rendezvous_variables_say(cluster: Cluster, real: RealCluster) -> None:
    cluster.apply(shared_volume(real, "training"))
    cluster.apply(
        run(
            "training",
            {"torch": {"script": "/config/train", "args": ["--steps", "1"]}},
            {"train": script("train"), "greeting": "a file"},
            env=[{"name": "GREETING", "value": "hello"}],
            checkpoint={"storageSize": "1Gi", "storageClassName": STORAGE_CLASS},
        )
    )
    logs = cluster.eventually(lambda: logs_of(cluster, "node", "met", count=2), SECONDS)
    status = ended(cluster, "training", SECONDS)
    assert status["verdict"] == "Passed", status
    assert all("torchrun called with: /config/train --steps 1" in log for log in logs)
    assert all("PET_NPROC_PER_NODE=2\n" in log for log in logs)
    met = sorted(line for log in logs for line in re.findall(r"^node (\d of 2 on \S+ met .*)$", log, re.MULTILINE))
    first, second = (re.sub(r"\S+-node-0-", "", line) for line in met)
    assert first == "0 of 2 on 0 met 1']: hello, a file"
    assert second == "1 of 2 on 1 met 0']: hello, a file"
    assert sorted(path.name for path in (real.storage / "training").iterdir()) == ["node-0", "node-1"]


def test_a_command_runs_on_both_nodes(cluster: Cluster) -> None:
    command = ["sh", "-c", "echo $WHERE has $(cat /config/greeting); exit 0"]
    where = {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    cluster.apply(run("check", {"exec": {"command": command}}, {"greeting": "a file"}, env=[where]))
    logs = cluster.eventually(lambda: logs_of(cluster, "node", "has", count=2), SECONDS)
    assert ended(cluster, "check", SECONDS)["verdict"] == "Passed"
    assert sorted(logs) == [f"{node} has a file\n" for node in NODES]
