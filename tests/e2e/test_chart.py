"""The chart on real nodes: pods run as it says, the API server reaches them, and they may do no more than they do."""

from __future__ import annotations

import http.client
import json
import ssl
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.simulator.samples import Workload, nccl_table
from tests.cluster.chart.release import ASKED, INSTANCE, NAME
from tests.cluster.cluster import Cluster
from tests.cluster.run.runs import ended, node_list
from tests.e2e.installed import HOOKS, NAMESPACE, Product, image
from tests.e2e.real import RealCluster
from tests.e2e.runs import mpi, run, script
from tests.support.kubectl import Kubectl, KubectlError

NODES = ["gpu-0000", "gpu-0001"]
RANKS = 4  # two GPUs a node
SECONDS = 240
ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
SHOW = "id -u; touch /opt/workloadrun/new 2>&1; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status"
CONFINED = {"CapEff": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}


def pods_of(product: Product, component: str) -> list[dict[str, Any]]:
    selector = f"--selector={INSTANCE},app.kubernetes.io/component={component}"
    return product.release.cluster.kubectl.list("pods", selector)


@pytest.mark.parametrize("component", ["admission", "hooks"])
def test_replicas_run_the_image_on_different_nodes_and_may_change_nothing(product: Product, component: str) -> None:
    pods = pods_of(product, component)
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == NODES
    for pod in pods:
        for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
            assert container["image"] == ":".join(image())
            where = (pod["metadata"]["name"], f"--container={container['name']}", "--", "sh", "-c", SHOW)
            user, touched, *status = product.release.cluster.kubectl("exec", *where).splitlines()
            assert user == "65532"
            assert "Read-only file system" in touched
            assert {key: value.strip() for key, _, value in (line.partition(":") for line in status)} == CONFINED


def test_an_invalid_run_is_refused_with_its_causes_by_admission_in_a_pod(cluster: Cluster, product: Product) -> None:
    [admission] = product.release.cluster.kubectl.list(
        "endpointslices", f"--selector=kubernetes.io/service-name={NAME}-admission"
    )
    assert {item["targetRef"]["kind"] for item in admission["endpoints"]} == {"Pod"}
    bad = run("bad", {"exec": {"command": ["true"]}}, {"a": "b"}, image="", thresholds={"busBandwidthGBps": "value >"})
    with pytest.raises(KubectlError) as refused:
        cluster.kubectl("create", "--filename=-", input=json.dumps(bad))
    text = str(refused.value)
    assert text.startswith('The WorkloadRun "bad" is invalid:')
    assert "* spec.image: Required value: must not be empty" in text
    assert "* spec.thresholds[busBandwidthGBps]: " in text


def test_a_measured_run_ends_in_a_verdict(cluster: Cluster) -> None:
    table = "\n".join((*nccl_table(Workload("all_reduce", RANKS, tuple(NODES))), ""))
    cluster.apply(
        run(
            "measured",
            mpi("/config/measured"),
            {"measured": script("measured"), "table": table},
            bandwidthMeasurement={"logProfileRef": "nccl-bandwidth", "testType": "all_reduce", "sampleInterval": "2s"},
            thresholds={"busBandwidthGBps": "value >= 300"},
        )
    )
    status = ended(cluster, "measured", SECONDS)
    assert status["verdict"] == "Passed", status
    assert status["results"]["busBandwidthGBps"]["min"] >= 300
    assert node_list(cluster, status["succeededNodesRef"]) == NODES


def test_the_hooks_service_answers_nobody_without_the_token(product: Product) -> None:
    kubectl = product.release.cluster.kubectl
    [webhook] = [item["webhook"] for item in kubectl.get("compositecontroller", "cre-jobs")["spec"]["hooks"].values()]
    reference = webhook["authorization"]["secretRef"]
    secret = {key: b64decode(value) for key, value in kubectl.get("secret", reference["name"])["data"].items()}
    assert reference["namespace"] == NAMESPACE
    assert webhook["url"] == f"https://{HOOKS}.{NAMESPACE}.svc:443/hooks/cre-jobs/sync"
    context = ssl.create_default_context(cadata=webhook["caBundle"]["inline"])
    context.check_hostname = False  # it is called by its address; the CA is the release's own
    tokens = ["", "Bearer wrong", f"Bearer {secret[reference['key']].decode()}"]
    assert [asked(product.hooks, context, token) for token in tokens] == [401, 401, 400]


def asked(hooks: str, context: ssl.SSLContext, authorization: str) -> int:
    """Send something that is no sync request and return the status of the answer."""
    connection = http.client.HTTPSConnection(hooks, context=context, timeout=30)
    connection.request("POST", "/hooks/cre-jobs/sync", b"{}", {"Authorization": authorization})
    status = connection.getresponse().status
    connection.close()
    return status


# --- rights


@pytest.fixture
def as_the_hooks(cluster: Cluster, product: Product, tmp_path: Path) -> Kubectl:
    """Return kubectl with the very token that a pod of the hooks has."""
    name = pods_of(product, "hooks")[0]["metadata"]["name"]
    token = product.release.cluster.kubectl("exec", name, "--", "cat", ACCOUNT_TOKEN)
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    path = tmp_path / "hooks.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return Kubectl(path, cluster.kubectl.program, cluster.namespace)


def pod(name: str, *command: str) -> dict[str, Any]:
    container = {"name": "main", "image": ":".join(image()), "command": list(command), "imagePullPolicy": "Never"}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_the_hooks_read_nodes_and_logs(cluster: Cluster, as_the_hooks: Kubectl) -> None:
    cluster.apply(pod("speaks", "echo", "a line of a workload"))
    cluster.eventually(lambda: cluster.kubectl.get("pod", "speaks")["status"]["phase"] == "Succeeded")
    assert [node["metadata"]["name"] for node in as_the_hooks.list("nodes")] == NODES
    log = f"/api/v1/namespaces/{cluster.namespace}/pods/speaks/log"  # as the hooks ask: `kubectl logs` gets the pod too
    assert as_the_hooks("get", "--raw", log) == "a line of a workload\n"


MORE = {
    "a Secret": ("get", "secret", f"{NAME}-tls", f"--namespace={NAMESPACE}"),
    "all Secrets": ("get", "secrets", "--all-namespaces"),
    "a shell": ("exec", "speaks", "--", "true"),
    "a pod of its own": ("run", "another", "--image=example.test/any:1"),
    "the end of a pod": ("delete", "pod", "speaks"),
    "a cordon": ("patch", "node", "gpu-0000", '-p={"spec":{"unschedulable":true}}'),
    "a label on a node": ("label", "node", "gpu-0000", "mine=yes"),
    "a status": ("patch", "workloadrun", "asked", "--subresource=status", "--type=merge", '-p={"status":{}}'),
    "a run": ("create", "--filename=-"),
    "a role": ("create", "clusterrolebinding", "mine", "--clusterrole=cluster-admin", "--user=me"),
    "a token": ("create", "token", "default"),
    "the webhooks": ("delete", "validatingwebhookconfiguration", NAME),
}


def test_the_hooks_get_nothing_more(cluster: Cluster, as_the_hooks: Kubectl) -> None:
    cluster.apply(pod("speaks", "sleep", "600"), {**ASKED, "metadata": {"name": "asked"}})
    cluster.eventually(lambda: cluster.kubectl.get("pod", "speaks")["status"]["phase"] == "Running")
    refused = {what: refusal(as_the_hooks, arguments) for what, arguments in MORE.items()}
    assert {what: text for what, text in refused.items() if "is forbidden" not in text} == {}


def refusal(kubectl: Kubectl, arguments: tuple[str, ...]) -> str:
    try:
        return f"not refused: {kubectl(*arguments, input=json.dumps({**ASKED, 'metadata': {'name': 'mine'}}))}"
    except KubectlError as error:
        return str(error)


# --- network policies


def test_network_policies_select_the_pods_that_they_are_about(product: Product, real: RealCluster) -> None:
    kubectl = product.release.cluster.kubectl
    policies = {item["metadata"]["name"]: item["spec"] for item in kubectl.list("networkpolicies")}
    assert policies.keys() == {f"{NAME}-admission", f"{NAME}-hooks"}
    for component in ("admission", "hooks"):
        policy = policies[f"{NAME}-{component}"]
        assert selected(kubectl, policy["podSelector"]) == names(pods_of(product, component))
        ports = {
            port["name"] for item in pods_of(product, component) for port in item["spec"]["containers"][0]["ports"]
        }
        assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports
    [metacontroller, certs] = policies[f"{NAME}-hooks"]["ingress"][0]["from"]
    assert selected(kubectl, certs["podSelector"]) == names(pods_of(product, "admission"))
    assert metacontroller == {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "metacontroller"}}}


def selected(kubectl: Kubectl, selector: dict[str, Any]) -> set[str]:
    assert selector.keys() == {"matchLabels"}
    text = ",".join(f"{key}={value}" for key, value in selector["matchLabels"].items())
    return names(kubectl.list("pods", f"--selector={text}"))


def names(pods: list[dict[str, Any]]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}
