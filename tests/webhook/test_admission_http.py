"""The admission role over HTTP: reviews in, reviews out, and JSON with a reason for whatever is none."""

from __future__ import annotations

import base64
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask.testing import FlaskClient

from sync_hooks.admission.review import review as review_object
from tests.sync_hooks.admission.cases import Case, cases, manifest
from webhook.admission import MOST_AT_ONCE
from webhook.app import create_app
from webhook.settings import Settings

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
CASES = cases()
PATHS = pytest.mark.parametrize("path", ["/mutate", "/validate"])


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app("admission", Settings(role="admission")).test_client()


def envelope(obj: Any, **changes: Any) -> dict[str, Any]:
    request = {
        "uid": UID,
        "kind": {"group": "cre.nvidia.com", "version": "v1alpha1", "kind": obj["kind"]},
        "resource": {"group": "cre.nvidia.com", "version": "v1alpha1", "resource": "any"},
        "name": obj["metadata"].get("name", ""),
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "somebody"},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions"},
        **changes,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def review(client: FlaskClient, path: str, obj: Any, **changes: Any) -> dict[str, Any]:
    answer = client.post(path, json=envelope(obj, **changes))
    assert answer.status_code == 200
    assert answer.json is not None
    assert (answer.json["apiVersion"], answer.json["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = answer.json["response"]
    assert response["uid"] == UID
    return response


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_server_gives_the_causes_of_the_table(client: FlaskClient, case: Case) -> None:
    for path in ("/mutate", "/validate"):
        assert review(client, path, case.good)["allowed"]
        refused = review(client, path, case.bad)
        assert not refused["allowed"]
        assert {cause["field"]: cause["reason"] for cause in refused["status"]["details"]["causes"]} == case.errors


def test_a_refusal_is_a_status_that_kubectl_prints_as_for_built_in_kinds(client: FlaskClient) -> None:
    status = review(client, "/mutate", manifest("WorkloadRun", {"image": "", "numNodes": 0}))["status"]
    assert status == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": 'WorkloadRun.cre.nvidia.com "run" is invalid: [spec.image: Required value: must not be empty, '
        "spec.numNodes: Invalid value: 0: must be at least 1]",
        "details": {
            "name": "run",
            "group": "cre.nvidia.com",
            "kind": "WorkloadRun",
            "causes": [
                {
                    "field": "spec.image",
                    "reason": "FieldValueRequired",
                    "message": "Required value: must not be empty",
                },
                {
                    "field": "spec.numNodes",
                    "reason": "FieldValueInvalid",
                    "message": "Invalid value: 0: must be at least 1",
                },
            ],
        },
    }


def test_mutate_answers_with_a_json_patch(client: FlaskClient) -> None:
    response = review(client, "/mutate", manifest("WorkloadRun", {}))
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == [
        {"op": "add", "path": "/spec/orchestration", "value": {"timeoutPerJob": "24h"}}
    ]


def test_without_anything_to_add_there_is_no_patch(client: FlaskClient) -> None:
    response = review(client, "/mutate", manifest("WorkloadRun", {"orchestration": {"timeoutPerJob": "1h"}}))
    assert response == {"uid": UID, "allowed": True}


@PATHS
def test_warnings_come_with_the_answer(client: FlaskClient, path: str) -> None:
    run = manifest("WorkloadRun", {"checkpoint": {"storageSize": "1Gi", "maxRestarts": 1}})
    (warning,) = review(client, path, run)["warnings"]
    assert warning.startswith("spec.checkpoint.maxRestarts: has no effect")


@PATHS
def test_a_dry_run_is_answered_like_any_other(client: FlaskClient, path: str) -> None:
    run = manifest("WorkloadRun", {"image": ""})
    assert review(client, path, run, dryRun=True) == review(client, path, run)


@PATHS
def test_deletion_is_never_in_the_way(client: FlaskClient, path: str) -> None:
    run = manifest("WorkloadRun", {"image": ""})
    assert review(client, path, run, operation="DELETE", object=None, oldObject=run)["allowed"]


def body(**changes: Any) -> bytes:
    return json.dumps({**envelope(manifest("WorkloadRun", {})), **changes}).encode()


def with_object(text: str) -> bytes:
    return body().replace(json.dumps(manifest("WorkloadRun", {})).encode(), text.encode("utf-8", "surrogatepass"))


@PATHS
@pytest.mark.parametrize(
    ("content", "status", "uid"),
    [
        pytest.param(b"", 400, None, id="empty"),
        pytest.param(b"null", 400, None, id="null"),
        pytest.param(b"[]", 400, None, id="a-list"),
        pytest.param(b"{}", 400, None, id="an-empty-object"),
        pytest.param(body()[:-9], 400, UID, id="cut-off"),
        pytest.param(b"\xff\xfe" + body(), 400, UID, id="no-utf-8"),
        pytest.param(body(apiVersion="admission.k8s.io/v1beta1"), 400, UID, id="v1beta1"),
        pytest.param(body(kind="ConversionReview"), 400, UID, id="another-review"),
        pytest.param(body(request=None), 400, None, id="no-request"),
        pytest.param(body(request={"operation": "CREATE"}), 400, None, id="no-uid"),
        pytest.param(body(request={"uid": 7}), 400, None, id="a-uid-that-is-none"),
        pytest.param(with_object("[" * 10_000 + "]" * 10_000), 400, UID, id="nested-10000-deep"),
        pytest.param(with_object('{"a":"\\ud800"}'), 400, UID, id="half-a-character-escaped"),
        pytest.param(with_object('{"a":"\ud800"}'), 200, UID, id="half-a-character"),
        pytest.param(with_object('{"spec":{"image":"\\u0000"}}'), 200, UID, id="nul"),
        pytest.param(with_object('{"spec":{"numNodes":1e999}}'), 200, UID, id="a-number-beyond-all-bounds"),
        pytest.param(with_object('{"spec":{"numNodes":' + "9" * 5000 + "}}"), 200, UID, id="a-number-of-5000-digits"),
        pytest.param(with_object('{"kind":"a","kind":"b","spec":1,"spec":2}'), 200, UID, id="keys-twice"),
        pytest.param(with_object('"text"'), 200, UID, id="an-object-that-is-text"),
        pytest.param(with_object('{"spec":' + "[" * 500 + "]" * 500 + "}"), 200, UID, id="nested-500-deep"),
    ],
)
def test_bad_input_is_refused_in_json_with_the_uid(
    client: FlaskClient, path: str, content: bytes, status: int, uid: str | None
) -> None:
    answer = client.post(path, data=content, content_type="application/json")
    assert answer.status_code == status
    assert answer.json is not None
    response = answer.json["response"]
    assert response["allowed"] is False
    assert response["status"]["message"]
    assert response.get("uid") == uid
    assert "Traceback" not in answer.text


@PATHS
@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/json-patch+json", ""])
def test_another_content_type_is_415(client: FlaskClient, path: str, content_type: str) -> None:
    answer = client.post(path, data=body(), content_type=content_type)
    assert answer.status_code == 415
    assert answer.json is not None
    assert answer.json["response"]["uid"] == UID


@PATHS
@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON ;charset=utf-8"])
def test_a_charset_and_large_letters_do_no_harm(client: FlaskClient, path: str, content_type: str) -> None:
    answer = client.post(path, data=body(), content_type=content_type)
    assert answer.status_code == 200
    assert answer.headers.to_wsgi_list() == [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(answer.data))),
    ]


@PATHS
@pytest.mark.parametrize("host", ["", "any-name:1", "not a name/", "[::"])
def test_a_route_is_found_whatever_the_host_is_called(client: FlaskClient, path: str, host: str) -> None:
    assert client.post(path, json=envelope(manifest("WorkloadRun", {})), headers={"Host": host}).status_code == 200


def padded(megabytes: int) -> bytes:
    run = manifest("WorkloadRun", {})
    run["metadata"]["annotations"] = {"padding": "x" * (megabytes << 20)}
    return json.dumps(envelope(run)).encode()


@PATHS
def test_seven_megabytes_are_read_and_nine_are_not(client: FlaskClient, path: str) -> None:
    assert client.post(path, data=padded(7), content_type="application/json").status_code == 200
    answer = client.post(path, data=padded(9), content_type="application/json")
    assert answer.status_code == 413
    assert answer.json is not None
    assert answer.json["response"]["allowed"] is False


@PATHS
def test_an_object_of_millions_of_values_is_refused_before_it_is_taken_apart(client: FlaskClient, path: str) -> None:
    run = manifest("WorkloadRun", {"env": [[]] * 500_000})
    answer = client.post(path, data=json.dumps(envelope(run), separators=(",", ":")), content_type="application/json")
    assert answer.json is not None
    response = answer.json["response"]
    assert (answer.status_code, response["allowed"], response["status"]["code"]) == (200, False, 413)
    assert response["uid"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/mutate", 405), ("POST", "/", 404), ("GET", "/a", 404), ("POST", "/mutate/", 404)],
)
def test_other_calls_get_an_error_in_json(client: FlaskClient, method: str, path: str, status: int) -> None:
    answer = client.open(path, method=method)
    assert answer.status_code == status
    assert answer.json is not None


def test_the_admission_role_has_no_hooks(client: FlaskClient) -> None:
    assert client.post("/hooks/cre-jobs/sync", json={}).status_code == 404


def test_there_are_two_roles() -> None:
    with pytest.raises(ValueError, match="no such role"):
        create_app("both", Settings(role="both"))


def test_few_objects_are_judged_at_a_time(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, under_way, most = threading.Lock(), 0, 0

    def slowly(*arguments: Any) -> Any:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.05)
        with lock:
            under_way -= 1
        return review_object(*arguments)

    monkeypatch.setattr("webhook.admission.review", slowly)
    with ThreadPoolExecutor(3 * MOST_AT_ONCE) as callers:
        done = [callers.submit(review, client, "/validate", CASES[0].good) for _ in range(3 * MOST_AT_ONCE)]
    assert all(call.result()["allowed"] for call in done)
    assert most == MOST_AT_ONCE
