"""What the chart renders: the same twice, nothing random, everything written out, and only where it belongs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.charts.helm import (
    CHART,
    DEVICE_APIS,
    Helm,
    HelmError,
    Object,
    containers,
    names,
    of_kind,
    one,
    pods,
)
from tests.cluster import product
from webhook.answering import HOOKS

ROOT = CHART.parents[1]
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
CRD = "CustomResourceDefinition"


def environment(container: Object) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


@pytest.mark.parametrize(
    "sets",
    [
        pytest.param((), id="its own values"),
        pytest.param(("tls.source=cert-manager",), id="cert-manager"),
        pytest.param(
            ("metacontroller.devices=true", "serviceMonitor.create=true", "argocd.healthScripts=true"), id="all"
        ),
        pytest.param(
            ("metacontroller.controllers=false", "networkPolicies=false", "logProfiles=false"), id="as little as can be"
        ),
    ],
)
def test_it_is_without_lint(helm: Helm, sets: tuple[str, ...]) -> None:
    assert "0 chart(s) failed" in helm.lint(*sets)


def test_two_renders_are_the_same_to_the_byte(helm: Helm) -> None:
    assert helm.text() == helm.text()


def test_no_object_is_there_twice(rendered: list[Object]) -> None:
    assert len(names(rendered)) == len(rendered)


def test_no_object_is_a_helm_hook(helm: Helm) -> None:
    assert "helm.sh/hook" not in helm.text("tls.source=cert-manager", "argocd.healthScripts=true")


def test_nothing_is_secret_when_it_is_rendered(rendered: list[Object]) -> None:
    secret = one(rendered, "Secret")
    assert not {"data", "stringData"} & set(secret)


def test_the_chart_names_no_field_that_the_certs_container_writes(helm: Helm) -> None:
    objects = helm.render(apis=DEVICE_APIS)
    for kind in WEBHOOKS:
        assert set(one(objects, kind)["webhooks"][0]["clientConfig"]) == {"service"}
    for found in of_kind(objects, "CompositeController"):
        for hook in found["spec"]["hooks"].values():
            assert set(hook["webhook"]) == {"url", "timeout"}


def test_definitions_stay_when_the_release_goes(rendered: list[Object]) -> None:
    definitions = of_kind(rendered, CRD)
    assert len(definitions) == 6
    for definition in definitions:
        assert definition["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        assert "Delete=false" in definition["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]


def test_every_object_has_the_labels_of_its_release(helm: Helm) -> None:
    for found in helm.render("commonLabels.team=readiness", "tls.source=cert-manager", apis=DEVICE_APIS):
        if found["kind"] != CRD:
            labels = found["metadata"]["labels"]
            assert labels["app.kubernetes.io/instance"] == "workloadrun", found["metadata"]["name"]
            assert labels["team"] == "readiness"


def test_every_namespaced_object_is_in_the_releases_namespace(rendered: list[Object]) -> None:
    everywhere = {CRD, "ClusterRole", "ClusterRoleBinding", "CompositeController", *WEBHOOKS}
    for found in rendered:
        expected = None if found["kind"] in everywhere else "readiness"
        assert found["metadata"].get("namespace") == expected, found["metadata"]["name"]


# --- pods


def test_pods_are_as_restricted_as_can_be(rendered: list[Object]) -> None:
    for pod in pods(rendered):
        security = pod["spec"]["securityContext"]
        assert (security["runAsNonRoot"], security["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]


def test_the_container_that_answers_has_no_credentials(rendered: list[Object]) -> None:
    pod = one(rendered, "Deployment", "-admission")["spec"]["template"]
    assert pod["spec"]["automountServiceAccountToken"] is False
    [certs], [server] = pod["spec"]["initContainers"], pod["spec"]["containers"]
    mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert mounted in {mount["mountPath"] for mount in certs["volumeMounts"]}
    assert mounted not in {mount["mountPath"] for mount in server["volumeMounts"]}


def test_the_hooks_see_no_key_of_a_ca(rendered: list[Object]) -> None:
    pod = one(rendered, "Deployment", "-hooks")["spec"]["template"]
    [serving] = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "serving"]
    keys = [item["key"] for source in serving["projected"]["sources"] for item in source["secret"]["items"]]
    assert keys == ["tls.crt", "tls.key", "tokens"]


def test_the_environment_is_what_the_server_reads(rendered: list[Object]) -> None:
    from webhook.settings import read_settings

    for role in ("admission", "hooks"):
        [server] = one(rendered, "Deployment", f"-{role}")["spec"]["template"]["spec"]["containers"]
        settings = read_settings(environment(server))
        ports = {port["name"]: port["containerPort"] for port in server["ports"]}
        assert (settings.role, ports) == (role, {"https": settings.port, "health": settings.health_port})
        mounts = {mount["mountPath"] for mount in server["volumeMounts"]}
        assert str(settings.tls_dir) in mounts
        assert settings.token_file is None or str(settings.token_file.parent) in mounts


@pytest.mark.parametrize("source", ["own", "cert-manager"])
def test_the_environment_is_what_the_certs_container_reads(helm: Helm, source: str) -> None:
    from certs.settings import Settings
    from webhook.rotation import read_rotation

    objects = helm.render(f"tls.source={source}", apis=DEVICE_APIS)
    [certs] = one(objects, "Deployment", "-admission")["spec"]["template"]["spec"]["initContainers"]
    rotation = read_rotation({**environment(certs), "WORKLOADRUN_NAMESPACE": "readiness"})
    names = ("workloadrun-admission.readiness.svc", "workloadrun-hooks.readiness.svc")
    assert rotation.settings == Settings(names, external=source == "cert-manager")
    assert rotation.interval == 10
    assert rotation.installation.controllers == tuple(
        found["metadata"]["name"] for found in of_kind(objects, "CompositeController")
    )
    made = {found["metadata"]["name"] for found in objects if found["kind"] in ("Secret", "Service", "Certificate")}
    installation = rotation.installation
    assert {installation.secret, installation.admission_service, installation.hooks_service} <= made
    assert installation.serving_secret in made | {""}


def test_an_image_of_a_mirror_is_named_by_prefix_and_digest(helm: Helm) -> None:
    digest = f"sha256:{'0' * 64}"
    objects = helm.render("imageRegistry=mirror.example/gpu/", f"image.digest={digest}", "imagePullSecrets={one,two}")
    for pod in pods(objects):
        assert {container["image"] for container in containers(pod)} == {f"mirror.example/gpu/workloadrun@{digest}"}
        assert pod["spec"]["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]


def test_the_tag_is_the_charts_unless_it_is_set(helm: Helm) -> None:
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    images = [containers(pod)[0]["image"] for pod in pods(helm.render())]
    assert set(images) == {f"workloadrun:{version}"}
    assert containers(pods(helm.render("image.tag=next"))[0])[0]["image"] == "workloadrun:next"


# --- webhooks


def test_webhooks_refuse_our_own_kinds_only(rendered: list[Object]) -> None:
    kinds = {definition["spec"]["names"]["plural"] for definition in of_kind(rendered, CRD)}
    for kind in WEBHOOKS:
        [webhook] = one(rendered, kind)["webhooks"]
        [rule] = webhook["rules"]
        assert (rule["apiGroups"], rule["apiVersions"]) == (["cre.nvidia.com"], ["v1alpha1"])
        assert set(rule["resources"]) <= kinds
        assert rule["operations"] == ["CREATE", "UPDATE"]
        assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Fail", "None")
    assert set(one(rendered, WEBHOOKS[1])["webhooks"][0]["rules"][0]["resources"]) == kinds


def test_the_control_plane_of_the_tests_asks_admission_about_what_the_chart_does(rendered: list[Object]) -> None:
    for kind, resources in zip(WEBHOOKS, (product.WRITTEN_BY_PEOPLE, product.WRITTEN), strict=True):
        assert one(rendered, kind)["webhooks"][0]["rules"] == [product.rule(resources)]


# --- controllers


def controllers() -> list[Object]:
    """Return the CompositeControllers that the simulator runs."""
    found: list[Object] = yaml.safe_load((ROOT / "cli" / "simulator" / "controllers.yaml").read_text())["items"]
    return found


def definition(controller: Object) -> Any:
    """Leave out of a CompositeController what only an installation has: labels, and where its hooks are."""
    spec = dict(controller["spec"])
    spec["hooks"] = {
        name: (hook["version"], hook["webhook"]["timeout"]) for name, hook in sorted(spec["hooks"].items())
    }
    return controller["metadata"]["name"], spec


def test_the_controllers_are_those_of_the_simulator(helm: Helm) -> None:
    installed = [definition(found) for found in of_kind(helm.render(apis=DEVICE_APIS), "CompositeController")]
    assert installed == [definition(controller) for controller in controllers()]


def test_every_hook_that_there_is_is_called(helm: Helm) -> None:
    called = {
        (found["metadata"]["name"], hook)
        for found in of_kind(helm.render(apis=DEVICE_APIS), "CompositeController")
        for hook in found["spec"]["hooks"]
    }
    assert called == set(HOOKS)


def test_hooks_are_called_at_their_service_by_tls(helm: Helm) -> None:
    objects = helm.render(namespace="elsewhere", release="mine")
    service = one(objects, "Service", "-hooks")["metadata"]
    for found in of_kind(objects, "CompositeController"):
        for name, hook in found["spec"]["hooks"].items():
            path = f"/hooks/{found['metadata']['name']}/{name}"
            assert hook["webhook"]["url"] == f"https://{service['name']}.elsewhere.svc:443{path}"


@pytest.mark.parametrize(
    ("devices", "apis", "installed"),
    [
        pytest.param("auto", DEVICE_APIS, True, id="both APIs are served"),
        pytest.param("auto", DEVICE_APIS[:1], False, id="compute domains are not"),
        pytest.param("auto", (), False, id="neither is"),
        pytest.param("true", (), True, id="it is wanted all the same"),
        pytest.param("false", DEVICE_APIS, False, id="it is not wanted"),
    ],
)
def test_device_kinds_are_declared_only_where_they_are_served(
    helm: Helm, devices: str, apis: tuple[str, ...], installed: bool
) -> None:
    objects = helm.render(f"metacontroller.devices={devices}", apis=apis)
    rules = one(objects, "CompositeController", "cre-jobs-devices")["spec"]["childResources"]
    declared = {rule["resource"] for rule in rules}
    assert ({"computedomains", "resourceclaimtemplates"} <= declared) is installed
    assert {"trainjobs", "trainingruntimes", "persistentvolumeclaims"} <= declared  # checkpoints need no device API
    assert all(set(rule) == {"apiVersion", "resource", "updateStrategy"} for rule in rules)


# --- what can be left out


@pytest.mark.parametrize(
    ("setting", "kinds"),
    [
        ("metacontroller.controllers=false", {"CompositeController"}),
        ("networkPolicies=false", {"NetworkPolicy"}),
        ("logProfiles=false", {"ConfigMap"}),
    ],
)
def test_what_is_switched_off_is_not_there(helm: Helm, rendered: list[Object], setting: str, kinds: set[str]) -> None:
    left = {found["kind"] for found in helm.render(setting)}
    assert {found["kind"] for found in rendered} - left == kinds


def test_with_cert_manager_its_injector_keeps_the_webhooks_ca(helm: Helm) -> None:
    objects = helm.render("tls.source=cert-manager")
    certificate = one(objects, "Certificate", "-serving")
    for kind in WEBHOOKS:
        source = one(objects, kind)["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        assert source == f"readiness/{certificate['metadata']['name']}"
    mounted = one(objects, "Deployment", "-admission")["spec"]["template"]["spec"]["volumes"][0]
    assert mounted["secret"]["secretName"] == certificate["spec"]["secretName"]


def test_an_issuer_of_your_own_needs_no_other(helm: Helm) -> None:
    objects = helm.render("tls.source=cert-manager", "tls.certManager.issuerRef.name=corporate")
    assert of_kind(objects, "Issuer") == []
    assert [found["spec"]["issuerRef"] for found in of_kind(objects, "Certificate")] == [{"name": "corporate"}]


# --- values


@pytest.mark.parametrize(
    "wrong",
    [
        "hooks.replica=3",
        "hook.replicas=3",
        "image.tagg=1",
        "tls.source=vault",
        "tls.renewFraction=1",
        "admission.replicas=two",
        "admission.timeoutSeconds=31",
        "hooks.timeoutSeconds=54",
        "metacontroller.devices=maybe",
        "image.pullPolicy=Sometimes",
        "image.digest=sha256:abc",
        "imagePullSecrets[0].name=x",
        "fullnameOverride=Upper",
        "metacontroller.namespace=a.b",
        "image.repository=a b",
        "imagePullSecrets[0]=Upper",
        "commonLabels.team=two words",
        "tls.certManager.issuerRef.kind=ClusterIssuer",
        r"commonLabels.app\.kubernetes\.io/name=x",
        r"hooks.podLabels.app\.kubernetes\.io/component=x",
        r"serviceMonitor.labels.app\.kubernetes\.io/instance=x",
        "hooks.env[0].name=WORKLOADRUN_ROLE",
        "admission.env[0].name=WORKLOADRUN_TLS_DIR",
    ],
)
def test_values_that_mean_nothing_are_refused(helm: Helm, wrong: str) -> None:
    with pytest.raises(HelmError, match="schema"):
        helm.text(wrong)


def test_an_older_kubernetes_is_refused(helm: Helm) -> None:
    with pytest.raises(HelmError, match="kubeVersion"):
        helm("template", str(CHART), "--kube-version=1.30.9")


@pytest.mark.parametrize("release", ["workloadrun", "a", "a-very-long-name-of-a-release-that-goes-on-and-on-123"])
def test_names_are_short_enough(helm: Helm, release: str) -> None:
    objects = helm.render("tls.source=cert-manager", release=release)
    longest = max((name for kind, name in names(objects) if kind != CRD), key=len)
    assert len(longest) <= 63


def test_both_versions_of_helm_render_the_same(helm: Helm) -> None:
    other = Helm(helm.program.with_name({"helm3": "helm4", "helm4": "helm3"}[helm.program.name]))
    by_name = [
        {(found["kind"], found["metadata"]["name"]): found for found in each.render(apis=DEVICE_APIS)}
        for each in (helm, other)
    ]
    assert by_name[0] == by_name[1]


def test_other_shipped_profiles_start_other_pods_and_annotations_of_a_user_stay(helm: Helm) -> None:
    def annotations(*sets: str) -> Object:
        deployment = one(helm.render(*sets), "Deployment", "workloadrun-admission")
        found: Object = deployment["spec"]["template"]["metadata"].get("annotations", {})
        return found

    assert len(annotations()["checksum/profiles"]) == 64
    assert annotations("admission.podAnnotations.team=gpu").keys() == {"team", "checksum/profiles"}
    assert annotations("admission.podAnnotations.checksum/profiles=mine") == annotations()
    assert annotations("logProfiles=false") == {}
