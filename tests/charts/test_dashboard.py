"""The Grafana dashboard asks for metrics that there are, by labels that they have, and is installed when wanted."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.charts.helm import CHART, Helm, HelmError, Object, names, one
from webhook.measured import BANDWIDTH, BANDWIDTH_LABELS, GOODPUT, LABELS
from webhook.metrics import exposition

DASHBOARD: dict[str, Any] = json.loads((CHART / "dashboards" / "workloadrun.json").read_text("utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
METRIC = re.compile(r"\b(?:cre|workloadrun)_[a-z_]+")
OF_THE_SCRAPE = {"le", "exported_namespace"}


def exposed() -> set[str]:
    """Names of all metrics of the server; of a histogram and a counter as they are asked for."""
    found = {line.split()[2] for line in exposition().decode().splitlines() if line.startswith("# TYPE ")}
    return found | {f"{name}_bucket" for name in found}


def labels_of(metric: str) -> set[str]:
    if metric in BANDWIDTH:
        return set(BANDWIDTH_LABELS)
    if metric in GOODPUT:
        return set(LABELS)
    return {"controller", "code", "kind", "outcome", "verdict", "webhook", "operation", "answer"}


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[f"{title}-{query}" for title, query in QUERIES])
def test_every_query_names_metrics_and_labels_that_there_are(title: str, query: str) -> None:
    metrics = METRIC.findall(query)
    assert metrics, title
    assert set(metrics) <= exposed()
    grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
    assert grouped <= labels_of(metrics[0]) | OF_THE_SCRAPE


def test_every_legend_names_a_label_that_the_query_keeps() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                assert re.search(rf"by \([^)]*\b{label}\b", target["expr"]), (panel["title"], label)


def test_every_metric_of_a_measurement_is_on_it() -> None:
    asked = {metric for _, query in QUERIES for metric in METRIC.findall(query)}
    assert set(GOODPUT) | {"cre_nccl_busbw_gbps"} <= asked


def test_every_panel_says_what_it_shows_and_has_an_identity_of_its_own() -> None:
    identities = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(identities)) == len(identities)
    assert [panel["title"] for panel in PANELS if not panel["description"]] == []


def test_it_is_not_installed_unless_wanted(rendered: list[Object]) -> None:
    assert ("ConfigMap", "workloadrun-dashboard") not in names(rendered)


def test_grafana_finds_it_by_its_label_and_gets_it_unchanged(helm: Helm) -> None:
    found = one(helm.render("dashboard.enabled=true", "dashboard.labels.team=readiness"), "ConfigMap", "-dashboard")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["labels"]["team"] == "readiness"
    assert json.loads(found["data"]["workloadrun.json"]) == DASHBOARD


def test_a_misspelt_value_is_refused(helm: Helm) -> None:
    with pytest.raises(HelmError, match="dashboard"):
        helm.render("dashboard.enable=true")


def test_it_is_without_lint(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm.lint("dashboard.enabled=true")
