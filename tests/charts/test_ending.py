"""What the chart says of ends: objects that are being deleted are nobody's business, and no server drops a caller."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import pytest
from cel_expr_python import cel

from tests.charts.helm import CHART, Object, containers, of_kind, one, pods

WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
GUNICORN_CONF = CHART.parents[1] / "webhook" / "gunicorn_conf.py"
SPEC, OTHER_SPEC = {"image": "a"}, {"image": "b"}
DELETED = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}


def asked(webhook: Object, operation: str, new: Object, old: Object) -> bool:
    """Tell whether the API server would call the webhook: all of its conditions hold."""
    types = {"object": cel.Type.DYN, "oldObject": cel.Type.DYN, "request": cel.Type.DYN}
    values = {"object": new, "oldObject": old, "request": {"operation": operation}}
    environment = cel.NewEnv(variables=types)
    return all(
        environment.compile(condition["expression"]).eval(data=values).plain_value() is True
        for condition in webhook["matchConditions"]
    )


@pytest.mark.parametrize("kind", WEBHOOKS)
@pytest.mark.parametrize(
    ("operation", "new", "old", "is_asked"),
    [
        pytest.param("CREATE", {"metadata": {}, "spec": SPEC}, {}, True, id="an object that is made"),
        pytest.param("UPDATE", {"metadata": {}, "spec": OTHER_SPEC}, {"spec": SPEC}, True, id="another spec"),
        pytest.param("UPDATE", {"metadata": {}}, {"spec": SPEC}, True, id="a spec that goes"),
        pytest.param("UPDATE", {"metadata": {}, "spec": SPEC}, {"spec": SPEC}, False, id="the same spec"),
        pytest.param("UPDATE", {**DELETED, "spec": SPEC}, {"spec": SPEC}, False, id="a finalizer that goes"),
        pytest.param("UPDATE", {**DELETED, "spec": OTHER_SPEC}, {"spec": SPEC}, False, id="anything while it goes"),
    ],
)
def test_admission_is_asked_about_what_may_change_a_run(
    rendered: list[Object], kind: str, operation: str, new: Object, old: Object, is_asked: bool
) -> None:
    [webhook] = one(rendered, kind)["webhooks"]
    assert asked(webhook, operation, new, old) == is_asked


def test_each_condition_of_a_webhook_has_its_reason(rendered: list[Object]) -> None:
    for kind in WEBHOOKS:
        [webhook] = one(rendered, kind)["webhooks"]
        names = [condition["name"] for condition in webhook["matchConditions"]]
        assert names == ["not-being-deleted", "created-or-spec-changed"]


@pytest.fixture
def gunicorn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return configuration(tmp_path, monkeypatch)


def configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Read how gunicorn runs the server, as gunicorn does."""
    monkeypatch.setenv("WORKLOADRUN_ROLE", "admission")
    monkeypatch.setenv("WORKLOADRUN_TLS_DIR", str(folder))
    return runpy.run_path(str(GUNICORN_CONF))


def test_a_server_that_is_to_stop_leaves_callers_time_to_notice_and_ends_in_time(
    rendered: list[Object], gunicorn: dict[str, Any]
) -> None:
    servers = [(pod, item) for pod in pods(rendered) for item in containers(pod) if "readinessProbe" in item]
    assert len(servers) == len(of_kind(rendered, "Deployment")) == 2
    for pod, server in servers:
        pause = server["lifecycle"]["preStop"]["sleep"]["seconds"]
        probe = server["readinessProbe"]
        assert pause > probe["periodSeconds"] * probe["failureThreshold"]
        grace = pod["spec"]["terminationGracePeriodSeconds"]
        assert pause + gunicorn["DRAIN_SECONDS"] + gunicorn["graceful_timeout"] < grace


def test_a_slow_disk_does_not_look_like_a_worker_that_hangs(gunicorn: dict[str, Any]) -> None:
    assert gunicorn["worker_tmp_dir"] == "/dev/shm"


def test_where_there_is_no_such_memory_gunicorn_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert configuration(tmp_path, monkeypatch)["worker_tmp_dir"] is None
