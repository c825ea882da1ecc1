"""The connection under the command line: contexts, queries, deletion, and the server's own words in its errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.gathering import METADATA_ONLY
from tests.cli.served import Served, simulated
from webhook.apiserver import ApiError, ApiServer
from webhook.apiserver import Path as ApiPath

RUNS = ApiPath("cre.nvidia.com/v1alpha1", "workloadruns", "default")
EXAMPLE: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "examples" / "exec-command.yaml").read_text())
RUN = {**EXAMPLE, "metadata": {"name": "one", "namespace": "default"}}
ONE = ApiPath(RUNS.api_version, RUNS.resource, RUNS.namespace, "one")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with simulated(tmp_path) as served:
        yield served


@pytest.fixture(params=[False, True], ids=["official client", "own connections"])
def api(served: Served, request: pytest.FixtureRequest) -> ApiServer:
    return ApiServer(str(served.kubeconfig), "lab", direct=request.param)


def test_a_context_is_one_of_the_files(served: Served) -> None:
    from kubernetes.config import ConfigException

    with pytest.raises(ConfigException):
        ApiServer(str(served.kubeconfig), "moon")


def test_a_dry_run_stores_nothing(api: ApiServer, served: Served) -> None:
    api.post(RUNS, RUN, {"dryRun": "All"})
    assert json.loads(api.get(RUNS))["items"] == []
    api.post(RUNS, RUN)
    assert [item["metadata"]["name"] for item in json.loads(api.get(RUNS))["items"]] == ["one"]


def test_another_form_of_a_list_can_be_asked_for(api: ApiServer) -> None:
    api.post(RUNS, RUN)
    [item] = json.loads(api.get(RUNS, accept=METADATA_ONLY))["items"]
    assert list(item) == ["metadata"]


def test_deletion_takes_its_options(api: ApiServer) -> None:
    api.post(RUNS, RUN)
    api.delete(ONE, {"propagationPolicy": "Background"})
    with pytest.raises(ApiError) as missing:
        api.get(ONE)
    assert missing.value.status == 404
    assert missing.value.answer["details"] == {"kind": "workloadruns", "group": "cre.nvidia.com", "name": "one"}


def test_causes_of_a_refusal_come_with_the_error(api: ApiServer) -> None:
    with pytest.raises(ApiError) as refused:
        api.post(RUNS, {**RUN, "spec": {**RUN["spec"], "image": ""}})
    assert refused.value.status == 422
    assert [cause["field"] for cause in refused.value.answer["details"]["causes"]] == ["spec.image"]


def test_what_is_no_status_is_no_answer_but_still_said(api: ApiServer) -> None:
    with pytest.raises(ApiError, match="404 page not found") as unknown:
        api.get(ApiPath("nobody.example/v1", "things"))
    assert unknown.value.answer == {}
