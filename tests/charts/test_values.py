"""What the schema lets through renders as valid objects: words of every look, every release, labels that meet."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import pytest
import yaml

from tests.charts.helm import DEVICE_APIS, Helm, HelmError, Object, names, of_kind, one

PLAIN = "plainword"
EVERYTHING = ("serviceMonitor.create=true", "dashboard.enabled=true", "argocd.healthScripts=true")
PARTS = ("admission", "hooks")


def said(word: str) -> dict[str, Any]:
    """Say a word wherever a value is a text of the user's own, as options of `Helm.render`."""
    parts = (
        "priorityClassName={}",
        "podLabels.team={}",
        "podAnnotations.team={}",
        "nodeSelector.team={}",
        "env[0].name=X",
    )
    values = [f"{part}.{value}".format(word) for part in PARTS for value in (*parts, "env[0].value={}")]
    labels = [f"{path}.team={word}" for path in ("commonLabels", "serviceMonitor.labels", "dashboard.labels")]
    others = ("imagePullSecrets[0]", "metacontroller.namespace", "image.tag", "tls.certManager.issuerRef.name")
    values += [*labels, *(f"{path}={word}" for path in others)]
    return {"strings": tuple(values), "release": word, "namespace": word, "apis": DEVICE_APIS}


def spoken(value: Any, word: str) -> Any:
    """Return a rendered value with a word in the place of the plain one."""
    if isinstance(value, str):
        return value.replace(PLAIN, word)
    if isinstance(value, list):
        return [spoken(item, word) for item in value]
    return {key: spoken(item, word) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("source", ["own", "cert-manager"])
@pytest.mark.parametrize("word", ["123", "0123", "0x1f", "1e3", "null", "true", "no", "y", "2026-01-01"])
def test_a_word_that_yaml_takes_for_something_else_stays_a_word(helm: Helm, word: str, source: str) -> None:
    sets = (*EVERYTHING, f"tls.source={source}", "fullnameOverride=fixed")
    assert helm.render(*sets, **said(word)) == spoken(helm.render(*sets, **said(PLAIN)), word)


@pytest.mark.parametrize("word", ["null", "true", "no", "y"])
def test_so_does_a_name_of_the_release(helm: Helm, word: str) -> None:
    found, plain = (helm.render(*EVERYTHING, strings=(f"fullnameOverride={name}",)) for name in (word, PLAIN))
    assert found == spoken(plain, word)


@pytest.mark.parametrize(
    "release",
    [
        "123",
        "1prod",
        "1-workloadrun",
        "a.workloadrun",
        "a.b",
        f"0.{'long-' * 9}name",
        "a-name-of-40-that-ends-workloadrun--x-y",
    ],
)
def test_every_release_that_helm_takes_gets_services_that_kubernetes_takes(helm: Helm, release: str) -> None:
    objects = helm.render(release=release)
    for service in of_kind(objects, "Service"):
        assert re.fullmatch("[a-z]([-a-z0-9]{0,61}[a-z0-9])?", service["metadata"]["name"])
    webhook = one(objects, "MutatingWebhookConfiguration")["metadata"]["name"]
    assert {("Service", f"{webhook}-{part}") for part in PARTS} <= names(objects)
    assert all(re.fullmatch("[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name) for _, name in names(objects))


class Unique(yaml.CSafeLoader):
    """Refuses a key that a mapping has already."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping. Raises AssertionError."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(set(keys)) == len(keys), keys
        return super().construct_mapping(node, deep=deep)


def test_a_label_that_several_values_set_is_there_once_and_the_nearest_counts(helm: Helm) -> None:
    paths = ("commonLabels", "serviceMonitor.labels", "dashboard.labels", "metacontroller.clusterRole.labels")
    aggregate = r"commonLabels.rbac\.authorization\.k8s\.io/aggregate-to-view=no"
    text = helm.text(*EVERYTHING, aggregate, *(f"{path}.team={number}x" for number, path in enumerate(paths)))
    objects: list[Object] = [found for found in yaml.load_all(text, Unique) if found]

    def labels(kind: str, ending: str) -> Object:
        found: Object = one(objects, kind, ending)["metadata"]["labels"]
        return found

    assert labels("ConfigMap", "-profiles")["team"] == "0x"
    assert labels("ServiceMonitor", "")["team"] == "1x"
    assert labels("ConfigMap", "-dashboard")["team"] == "2x"
    assert labels("ClusterRole", "-metacontroller")["team"] == "3x"
    assert labels("ClusterRole", "-view")["rbac.authorization.k8s.io/aggregate-to-view"] == "true"


def test_a_ca_that_ends_before_its_certificate_is_refused_with_cert_manager(helm: Helm) -> None:
    source, days = "tls.source=cert-manager", ("tls.caDays=30", "tls.servingDays=90")
    with pytest.raises(HelmError, match=r"tls\.caDays is 30, and tls\.servingDays 90: a certificate"):
        helm.text(source, *days)
    assert helm.text(source, *days, "tls.certManager.issuerRef.name=own")  # whose CA we do not make


@pytest.mark.parametrize("value", ["commonLabels", "hooks.podLabels", "admission.podAnnotations", "hooks.nodeSelector"])
def test_no_map_at_all_is_an_empty_one(helm: Helm, value: str) -> None:
    assert helm.render(f"{value}=null") == helm.render()
