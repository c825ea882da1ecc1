"""The CRDs on the real API server, without any webhook: accepted, and refusing what a schema can refuse.

They are installed under another group, so that admission, where it runs, does not see their objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sync_hooks.api.crd import crd
from sync_hooks.api.kinds import KINDS
from tests.cluster import build
from tests.support.kubectl import Kubectl, KubectlError
from tests.sync_hooks.admission.cases import cases, manifest

GROUP = "schema.example.test"
CALLS_AT_ONCE = 4


@pytest.fixture(scope="module")
def kubectl(control_plane: Path) -> Iterator[Kubectl]:
    """Return kubectl for a control plane that serves our kinds under another group."""
    kubectl = Kubectl(control_plane / "kubeconfig", str(build.tools_folder() / "bin" / "kubectl"))
    definitions = [of_group(crd(kind)) for kind in KINDS]
    kubectl.apply(definitions)
    names = [definition["metadata"]["name"] for definition in definitions]
    kubectl.wait_for_definitions(*names)
    yield kubectl
    kubectl("delete", "--wait=false", "crd", *names)


def of_group(definition: dict[str, Any]) -> dict[str, Any]:
    plural, spec = definition["spec"]["names"]["plural"], definition["spec"]
    return {**definition, "metadata": {"name": f"{plural}.{GROUP}"}, "spec": {**spec, "group": GROUP}}


def refusal(kubectl: Kubectl, obj: dict[str, Any]) -> str:
    """Return why the API server refuses an object, empty where it does not."""
    own = json.dumps({**obj, "apiVersion": f"{GROUP}/v1alpha1"}).replace('"here"', f'"{kubectl.namespace}"')
    try:
        kubectl("create", "--dry-run=server", "--validate=ignore", "-f", "-", input=own)
    except KubectlError as error:
        return str(error)
    return ""


def test_the_api_server_has_nothing_against_them(kubectl: Kubectl) -> None:
    for kind in KINDS:
        conditions = kubectl.get("crd", f"{kind.plural}.{GROUP}")["status"]["conditions"]
        assert {condition["type"]: condition["status"] for condition in conditions} == {
            "NamesAccepted": "True",
            "Established": "True",
        }


def test_the_schema_refuses_what_the_table_says_it_does_and_nothing_good(kubectl: Kubectl) -> None:
    table = [case for case in cases() if len(json.dumps(case.bad)) < 100_000 and not case.offline]
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        good = list(pool.map(lambda case: refusal(kubectl, dict(case.good)), table))
        bad = list(pool.map(lambda case: refusal(kubectl, dict(case.bad)), table))
    assert {case.rule: reason for case, reason in zip(table, good, strict=True) if reason} == {}
    wrong = {case.rule: reason for case, reason in zip(table, bad, strict=True) if bool(reason) != case.schema}
    assert wrong == {}


def test_the_spec_of_a_run_cannot_be_changed(kubectl: Kubectl) -> None:
    run = {**manifest("WorkloadRun", {"overrides": [{"jobTemplatePatch": [{"op": "test", "path": "", "value": 1}]}]})}
    run |= {"apiVersion": f"{GROUP}/v1alpha1", "metadata": {"name": "immutable"}}
    kubectl("create", "-f", "-", input=json.dumps(run))
    run["spec"]["overrides"][0]["jobTemplatePatch"][0]["value"] = 2
    with pytest.raises(KubectlError, match="spec is immutable after creation"):
        kubectl("replace", "-f", "-", input=json.dumps(run))
    kubectl("label", f"workloadruns.{GROUP}/immutable", "free=yes")
    kubectl("delete", f"workloadruns.{GROUP}/immutable")
