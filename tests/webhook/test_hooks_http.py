"""The hooks' HTTP face: strangers and unknown hooks are refused, every call is counted by its answer."""

from __future__ import annotations

import io
import json
from pathlib import Path
from time import monotonic

import pytest
from flask.testing import FlaskClient
from prometheus_client import REGISTRY

from sync_hooks.api.sync import ListNodes, Read, Unreadable
from tests.support.hooks import KINDS, manifest
from tests.webhook.hooks_client import TOKEN, client_of_hooks
from tests.webhook.serving import ROOT
from webhook import hooks
from webhook.answering import HookResponse
from webhook.apiserver import CONNECT_SECONDS, READ_SECONDS
from webhook.hooks import OWN_TROUBLE_RETRY_SECONDS, answer_now, persist
from webhook.logs import ROOM_SECONDS
from webhook.observer import CALL_SECONDS, LOG_SECONDS, within
from webhook.pace import FREE_BYTES


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    """A client of hooks whose API server does not answer."""
    return client_of_hooks(tmp_path)


CHUNKED = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
"""What a server tells of a body whose length was not announced."""


def body() -> bytes:
    run = manifest("WorkloadRun", "run", spec={})
    return json.dumps({"parent": run, "children": {kind: {} for kind in KINDS["WorkloadRun"]}}).encode()


def answers(controller: str, code: int) -> float:
    labels = {"controller": controller, "code": str(code)}
    return REGISTRY.get_sample_value("workloadrun_sync_answers_total", labels) or 0


@pytest.mark.parametrize(
    ("path", "token", "data", "counted", "code"),
    [
        pytest.param("/hooks/cre-workloadruns/sync", "", body(), "cre-workloadruns", 401, id="a stranger"),
        pytest.param("/hooks/cre-workloadruns/sync", TOKEN, b"{", "cre-workloadruns", 400, id="no JSON"),
        pytest.param("/hooks/cre-workloadruns/finalize", TOKEN, body(), "cre-workloadruns", 404, id="no such hook"),
        pytest.param("/hooks/any-other/sync", TOKEN, body(), "other", 404, id="no such controller"),
    ],
)
def test_a_call_that_is_refused_is_counted_by_its_answer(
    client: FlaskClient, path: str, token: str, data: bytes, counted: str, code: int
) -> None:
    before = answers(counted, code)
    response = client.post(path, data=data, headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == code
    assert answers(counted, code) == before + 1


def test_a_sync_is_timed_and_its_reads_are_counted(client: FlaskClient) -> None:
    def seen() -> tuple[float, float]:
        failed = {"kind": "WorkloadRun", "outcome": "failed"}
        timed = {"controller": "cre-workloadruns"}
        return (
            REGISTRY.get_sample_value("workloadrun_reads_total", failed) or 0,
            REGISTRY.get_sample_value("workloadrun_sync_seconds_count", timed) or 0,
        )

    reads, syncs = seen()
    path, headers = "/hooks/cre-workloadruns/sync", {"Authorization": f"Bearer {TOKEN}"}
    assert client.post(path, data=body(), headers=headers).status_code in (200, 429)
    assert seen() == (reads + 1, syncs + 1)


def test_what_is_in_the_way_for_a_moment_is_asked_about_once_more() -> None:
    busy, done = HookResponse(429, b"", 1, passing=True), HookResponse(200, b"{}")
    for answers_, expected in (([busy, done], (done, [0.15])), ([busy, busy], (busy, [0.15])), ([done], (done, []))):
        waited: list[float] = []
        last, seconds = persist(iter(answers_).__next__, waited.append)
        assert ((last, waited), seconds) == (expected, sum(waited))


@pytest.mark.parametrize("path", ["/hooks//cre-jobs/sync", "/hooks/cre-jobs//sync", "/hooks/cre-jobs/sync/"])
def test_no_call_is_led_to_another_path(client: FlaskClient, path: str) -> None:
    response = client.post(path, data=body(), headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 404
    assert "Location" not in response.headers


def test_a_strangers_body_is_not_read(client: FlaskClient) -> None:
    sent = io.BytesIO(body())
    assert client.post("/hooks/cre-jobs/sync", input_stream=sent, environ_overrides=CHUNKED).status_code == 401
    assert sent.tell() == 0


def test_a_body_of_unannounced_length_is_bounded(client: FlaskClient) -> None:
    client.application.config["MAX_CONTENT_LENGTH"] = len(body()) - 1
    before = answers("cre-jobs", 413)
    response = client.post(
        "/hooks/cre-jobs/sync",
        input_stream=io.BytesIO(body()),
        headers={"Authorization": f"Bearer {TOKEN}"},
        environ_overrides=CHUNKED,
    )
    assert response.status_code == 413
    assert answers("cre-jobs", 413) == before + 1


def test_a_body_that_is_too_large_is_counted_too(client: FlaskClient) -> None:
    client.application.config["MAX_CONTENT_LENGTH"] = 10
    before = answers("cre-jobs", 413)
    response = client.post("/hooks/cre-jobs/sync", data=body(), headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 413
    assert answers("cre-jobs", 413) == before + 1


def test_a_large_call_about_the_same_parent_is_held_back_and_the_time_counted(client: FlaskClient) -> None:
    def held() -> float:
        return REGISTRY.get_sample_value("workloadrun_sync_held_seconds_total", {"controller": "cre-workflows"}) or 0

    parent = manifest("Workflow", "run", spec={"config": {"inline": {"data": "x" * FREE_BYTES}}})
    data = json.dumps({"parent": parent, "children": {kind: {} for kind in KINDS["Workflow"]}}).encode()
    before = held()
    for _ in range(2):
        client.post("/hooks/cre-workflows/sync", data=data, headers={"Authorization": f"Bearer {TOKEN}"})
    assert held() > before


@pytest.mark.parametrize("error", [ValueError, KeyError, RuntimeError])
def test_trouble_of_our_own_is_never_called_the_callers(
    caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    def read(_: Read) -> None:
        raise error("ours")

    answered = answer_now("cre-workloadruns", "sync", body(), read)
    assert (answered.status, answered.retry_after) == (429, OWN_TROUBLE_RETRY_SECONDS)
    assert "ours" in caplog.text


def test_a_fault_that_ended_a_parent_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = HookResponse(200, b"{}", fault="Traceback (most recent call last): ours")
    monkeypatch.setattr(hooks, "answer", lambda *_: told)
    assert answer_now("cre-workflows", "sync", body(), lambda _: None) is told
    assert "sync of cre-workflows ended its parent by a fault of our own:\nTraceback" in caplog.text


def test_a_call_whose_time_is_over_reads_nothing_more() -> None:
    asked = []
    wanted = ListNodes()
    assert within(lambda read: asked.append(read) or (), monotonic() + 60)(wanted) == ()  # type: ignore[func-returns-value]
    assert isinstance(within(asked.append, monotonic())(wanted), Unreadable)
    assert asked == [wanted]


def test_metacontroller_waits_for_the_last_read_of_a_call_whatever_the_chart_is_told() -> None:
    schema = json.loads((ROOT / "charts" / "workloadrun" / "values.schema.json").read_text())
    least = schema["properties"]["hooks"]["properties"]["timeoutSeconds"]["minimum"]
    assert least >= CALL_SECONDS + CONNECT_SECONDS + max(READ_SECONDS, ROOM_SECONDS + LOG_SECONDS)
