"""A status of a shape that nobody expects: what is understood is shown, the rest is named, nothing is a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.exits import exit_of
from cli.refusals import Asked, Refused, refusal
from cli.reporting.document import document
from cli.reporting.formats import FORMS
from cli.reporting.text import print_report
from cli.run_objects import RunObjects, wanted
from cli.run_status import READ, odd_parts, status_of
from cli.run_view import view
from tests.cli.calling import call
from tests.cli.made import made
from tests.cli.terminals import printed
from webhook.apiserver import ApiError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
METADATA = {"name": "x", "namespace": "default", "uid": "u"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.text("aä\x1b1", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "name", "min"]), inner),
    max_leaves=6,
)


def run_with(status: Any, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "WorkloadRun",
        "metadata": METADATA,
        **more,
        "status": status,
    }


def sound_status() -> dict[str, Any]:
    status: dict[str, Any] = made()[0]["status"]
    return status


def test_of_a_sound_status_everything_that_is_read_is_understood() -> None:
    status = sound_status()
    assert odd_parts(run_with(status)) == ()
    assert status_of(run_with(status)).keys() == status.keys() & READ.keys()


@given(st.sampled_from(sorted(READ)), JSON)
def test_one_odd_part_is_named_and_hides_no_other(key: str, value: Any) -> None:
    status = {**sound_status(), key: value}
    found, odd = status_of(run_with(status)), odd_parts(run_with(status))
    expected = {name: part for name, part in status_of(run_with(sound_status())).items() if name != key}
    assert {name: part for name, part in found.items() if name != key} == expected
    assert (key in found) == (value is not None and not odd)
    assert all(text.startswith(f"status.{key} cannot be understood: ") for text in odd)


@given(st.dictionaries(st.sampled_from(sorted(READ)), JSON) | JSON, JSON)
def test_every_form_of_report_bears_any_status(status: Any, spec: Any) -> None:
    run = run_with(status, spec=spec)
    wanted(run)
    seen = view(RunObjects(run))
    printed(lambda console: print_report(console, seen))
    assert exit_of(status_of(run)) in (0, 1, 3, 4)
    for form in FORMS.values():
        form(seen, NOW)
    assert msgspec.json.decode(msgspec.json.encode(document(run, seen)))["workloadRun"]["status"] == status


@contextmanager
def answering(folder: Path, answer: Any) -> Iterator[str]:
    """Answer the same to whoever asks for a run, and that nothing else is there."""
    content = json.dumps(answer).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = "/workloadruns" in self.path
            body = content if found else b'{"kind": "Status", "details": {"name": "x"}}'
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    file = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {}}]
    file.write_text(json.dumps({"current-context": "c", "contexts": [context], "clusters": [cluster], "users": users}))
    try:
        yield str(file)
    finally:
        server.shutdown()
        server.server_close()


COMMANDS = (("status", "x"), ("status",), ("report", "x"), ("report", "x", "-o", "json"), ("cancel", "x"))


@pytest.mark.parametrize(
    "answer",
    [
        [],
        None,
        "text",
        {"kind": "WorkloadRun"},
        {"kind": "WorkloadRun", "metadata": {"name": 5}},
        {"kind": "WorkloadRunList", "items": [{"kind": "WorkloadRun", "metadata": None}]},
    ],
    ids=["a list", "null", "text", "no metadata", "a number for a name", "no metadata in a list"],
)
def test_an_answer_that_is_no_run_is_2_in_one_line(tmp_path: Path, answer: Any) -> None:
    with answering(tmp_path, answer) as kubeconfig:
        for words in COMMANDS:
            called = call(*words, "--kubeconfig", kubeconfig)
            assert called.code == 2
            assert called.err.startswith("error: the cluster's answer cannot be understood: ")
            assert called.err.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "markdown", "html", "junit"])
def test_what_is_remarked_of_a_run_that_passed_is_in_every_report(tmp_path: Path, form: str) -> None:
    remark = "group 0: failed and passed only when tried again, on retry 1"
    with answering(tmp_path, run_with({"verdict": "Passed", "verdictReasons": [remark]})) as kubeconfig:
        called = call("report", "x", "-o", form, "--kubeconfig", kubeconfig)
    assert called.code == 0
    assert remark in called.out
    assert form != "text" or f"default/x: Passed\n  but {remark}\n" in called.out


@pytest.mark.parametrize(("verb", "refused"), [("create", True), ("get", False), ("list", False), ("delete", False)])
def test_only_an_object_can_be_refused_what_may_not_be_read_is_no_verdict(verb: str, refused: bool) -> None:
    error = refusal(Asked(verb, "cre.nvidia.com/v1alpha1", "workloadruns", "default"), ApiError(403, "no", {}))
    assert isinstance(error, Refused) == refused


def test_an_odd_status_is_shown_as_far_as_it_is_understood(tmp_path: Path) -> None:
    status = {
        "verdict": "Incomplete",
        "verdictReasons": ["node a excluded: cordoned"],
        "conditions": [{"type": "Succeeded"}],
        "progress": {"iteration": "a"},
        "results": {"busBandwidthGBps": None},
        "excludedNodes": [None],
    }
    with answering(tmp_path, run_with(status)) as kubeconfig:
        for words in (("status", "x"), ("report", "x")):
            called = call(*words, "--kubeconfig", kubeconfig)
            assert called.code == 3
            assert "default/x: Incomplete\n  because node a excluded: cordoned\n" in called.out
            for key in ("conditions", "progress", "results", "excludedNodes"):
                assert f"not known: status.{key} cannot be understood: " in called.out
        called = call("report", "x", "-o", "json", "--kubeconfig", kubeconfig)
        assert called.document["workloadRun"]["status"] == status
        assert sum(note.startswith("status.") for note in called.document["notKnown"]) == 4
