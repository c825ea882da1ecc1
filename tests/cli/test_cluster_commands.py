"""run, status, report and cancel against an API server, the simulator's: what they print, ask for, and exit with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.simulator.scenario import Rule, Scenario
from tests.cli.calling import call
from tests.cli.served import Served, simulated, status

EXAMPLES = Path(__file__).parents[2] / "examples"
BANDWIDTH = str(EXAMPLES / "nccl-all-reduce-bandwidth.yaml")
NAME = "nccl-all-reduce-bandwidth"
RUN = f"/apis/cre.nvidia.com/v1alpha1/namespaces/default/workloadruns/{NAME}"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.delenv("NO_COLOR", raising=False)
    with simulated(tmp_path) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
        yield served


def ended(served: Served, file: str = BANDWIDTH) -> None:
    """Create a run and let its virtual time pass."""
    assert call("run", file).code == 0
    for _ in range(100):
        served.advance()


def changed(folder: Path, **metadata: Any) -> str:
    """Write the example with other metadata."""
    run = yaml.safe_load(Path(BANDWIDTH).read_text())
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump({**run, "metadata": {**run["metadata"], **metadata}}))
    return str(path)


class TestRun:
    def test_creates_the_run_and_says_how_to_go_on(self, served: Served) -> None:
        called = call("run", BANDWIDTH)
        assert (called.code, called.out) == (0, f"default/{NAME}: created\n")
        assert f"workloadrun status {NAME} --wait" in called.err
        assert served.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", NAME)

    def test_json_is_the_run_as_it_was_stored(self, served: Served) -> None:
        document = call("run", "-f", BANDWIDTH, "-o", "json").document
        assert document["workloadRun"]["spec"]["orchestration"]["timeoutPerJob"] == "24h"

    def test_waits_for_the_verdict_and_prints_the_report(self, served: Served) -> None:
        served.steps = 20  # a look is worth the better part of a minute
        called = call("run", BANDWIDTH, "--wait")
        assert called.code == 0
        lines = called.out.splitlines()
        assert any("InProgress: iteration 1 of 1: 0 of 2 groups done" in line for line in lines)
        assert f"default/{NAME}: Passed" in lines
        assert called.err == ""

    def test_time_that_is_up_leaves_the_run_alone_and_prints_what_is_known(self, served: Served) -> None:
        called = call("run", BANDWIDTH, "--wait", "--timeout", "0s")
        assert called.code == 4
        assert f"default/{NAME}: under way" in called.out
        assert "not ended within 0s" in called.err
        assert served.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", NAME)

    def test_a_run_that_is_there_already_is_not_run_again(self, served: Served) -> None:
        call("run", BANDWIDTH)
        called = call("run", BANDWIDTH)
        assert called.code == 2
        assert "exists already in namespace default; a run happens once" in called.err

    def test_mistakes_are_found_before_anything_is_sent(self, served: Served, tmp_path: Path) -> None:
        called = call("run", changed(tmp_path, name="Bad_Name"))
        assert called.code == 1
        assert "metadata.name" in called.out
        assert not any(path.startswith("POST") for path in served.calls)

    def test_a_refused_run_needs_no_namespace_to_be_refused(self, served: Served, tmp_path: Path) -> None:
        assert call("run", changed(tmp_path, name="Bad_Name"), "-n", "lab").code == 1

    def test_what_only_the_cluster_refuses_is_told_field_by_field(self, served: Served) -> None:
        causes = [{"field": "spec.image", "reason": "FieldValueForbidden", "message": "images come from our registry"}]
        message = 'admission webhook "policy.example" denied the request: spec.image: no'
        path = RUN.rpartition("/")[0]
        served.answers[f"POST {path}"] = (422, status(422, "Invalid", message, {"causes": causes}))
        called = call("run", BANDWIDTH)
        assert (called.code, called.out) == (1, f"{BANDWIDTH}: spec.image: images come from our registry\n")
        assert call("run", BANDWIDTH, "-o", "json").document["error"]["errors"][0]["field"] == "spec.image"

    def test_a_name_that_the_cluster_makes_is_taken(self, served: Served, tmp_path: Path) -> None:
        run = yaml.safe_load(Path(BANDWIDTH).read_text())
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump({**run, "metadata": {"generateName": "burn-in-"}}))
        called = call("run", str(path))
        assert called.code == 0
        assert called.out.startswith("default/burn-in-")

    def test_other_objects_of_the_file_are_made_first(self, served: Served, tmp_path: Path) -> None:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
        path = tmp_path / "both.yaml"
        path.write_text(yaml.safe_dump_all([yaml.safe_load(Path(BANDWIDTH).read_text()), config]))
        assert "ConfigMap settings created" in call("run", str(path)).err
        assert served.store.find("v1", "ConfigMap", "default", "settings")

    def test_an_object_of_another_content_is_never_used_by_mistake(self, served: Served, tmp_path: Path) -> None:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
        path = tmp_path / "both.yaml"
        path.write_text(yaml.safe_dump_all([yaml.safe_load(Path(BANDWIDTH).read_text()), config]))
        stored = {**config, "metadata": {"name": "settings", "namespace": "default"}, "data": {"a": "2"}}
        served.store.create(stored)
        called = call("run", str(path))
        assert called.code == 2
        assert "ConfigMap settings exists already with other contents" in called.err
        assert not served.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", NAME)

    def test_a_namespace_in_the_file_must_be_the_one_that_is_asked_for(self, served: Served, tmp_path: Path) -> None:
        called = call("run", changed(tmp_path, namespace="lab"), "-n", "default")
        assert called.code == 2
        assert "metadata.namespace is lab, --namespace asks for default" in called.err

    def test_context_and_namespace_are_kubectls(self, served: Served) -> None:
        assert call("run", BANDWIDTH, "--context", "lab").out == f"lab/{NAME}: created\n"
        assert call("status", NAME, "-n", "lab").code == 4
        assert call("status", NAME).code == 2

    @pytest.mark.parametrize(
        ("group", "part"),
        [
            ("metacontroller.k8s.io", "Metacontroller"),
            ("trainer.kubeflow.org", "Kubeflow Trainer"),
            ("jobset.x-k8s.io", "JobSet"),
            ("cre.nvidia.com", "workloadrun"),
        ],
    )
    def test_a_missing_part_is_named_with_the_way_to_get_it(self, served: Served, group: str, part: str) -> None:
        served.absent = {group}
        called = call("run", BANDWIDTH)
        assert called.code == 2
        assert f"{part} is not installed" in called.err
        assert "https://" in called.err or "helm install" in called.err
        assert not any(path.startswith("POST") for path in served.calls)


class TestStatus:
    def test_asks_once_whatever_the_size(self, served: Served) -> None:
        call("run", BANDWIDTH)
        served.calls.clear()
        called = call("status", NAME)
        assert called.code == 4
        assert dict(served.calls) == {f"GET {RUN}": 1}
        assert "under way" in called.out

    def test_an_unknown_run_is_answered_with_the_nearest_names_in_two_requests(self, served: Served) -> None:
        call("run", BANDWIDTH)
        served.calls.clear()
        called = call("status", "nccl-all-reduce-bandwith")
        assert called.code == 2
        assert f"did you mean {NAME}?" in called.err
        assert served.calls.total() == 2

    def test_a_name_that_cannot_be_one_is_not_sent(self, served: Served) -> None:
        assert call("status", "../../nodes").code == 2
        assert not served.calls

    def test_json_is_the_run(self, served: Served) -> None:
        ended(served)
        called = call("status", NAME, "-o", "json")
        assert (called.code, called.document["workloadRun"]["status"]["verdict"]) == (0, "Passed")

    def test_without_a_name_runs_are_listed(self, served: Served) -> None:
        assert "there are no runs in namespace default" in call("status").err
        call("run", BANDWIDTH)
        assert NAME in call("status").out
        assert NAME in call("status", "--all-namespaces").out
        assert NAME not in call("status", "-l", "team=a").out
        assert [run["metadata"]["name"] for run in call("status", "-o", "json").document["workloadRuns"]] == [NAME]

    def test_silence_is_explained_by_what_is_missing(self, served: Served) -> None:
        call("run", BANDWIDTH)
        entry = served.store.get("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", NAME)
        silent = {**entry.obj, "status": {}}
        served.answers[f"GET {RUN}"] = (200, silent)
        served.absent = {"metacontroller.k8s.io"}
        served.calls.clear()
        assert "Metacontroller is not installed" in call("status", NAME).err
        assert served.calls.total() <= 3

    def test_waiting_goes_on_to_the_verdict(self, served: Served) -> None:
        call("run", BANDWIDTH)
        served.steps = 20
        called = call("status", NAME, "--wait", "--timeout", "1m")
        assert called.code == 0
        assert "Passed" in called.out


class TestReport:
    @pytest.mark.parametrize(
        ("rule", "code", "verdict", "nodes"),
        [
            pytest.param(Rule(), 0, "Passed", "", id="a run that passed is 0"),
            pytest.param(
                Rule("Failed", frozenset({"gpu-0005"}), after=5), 1, "Failed", "gpu-0005\n", id="one that failed is 1"
            ),
            pytest.param(Rule("Suspended", frozenset({"gpu-0005"})), 4, "under way", "", id="one under way is 4"),
        ],
    )
    def test_codes_and_names_of_failed_nodes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: Rule, code: int, verdict: str, nodes: str
    ) -> None:
        with simulated(tmp_path, scenario=Scenario((rule,))) as served:
            monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
            ended(served)
            called = call("report", NAME)
            assert called.code == code
            assert f"default/{NAME}: {verdict}" in called.out
            assert call("report", NAME, "-o", "nodes").out == nodes

    def test_an_incomplete_run_is_3(self, served: Served) -> None:
        ended(served, str(EXAMPLES / "nccl-all-reduce.yaml"))
        called = call("report", "nccl-all-reduce", "-o", "json")
        assert (called.code, called.document["workloadRun"]["status"]["verdict"]) == (3, "Incomplete")
        assert call("status", "nccl-all-reduce").code == 3

    def test_every_form_ends_with_the_same_code(self, served: Served) -> None:
        ended(served)
        for form in ("text", "json", "html", "junit", "markdown", "nodes"):
            assert call("report", NAME, "-o", form).code == 0, form

    def test_objects_of_an_earlier_run_of_the_name_are_not_its_own(self, served: Served) -> None:
        ended(served)
        old = served.store.get("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", NAME)
        again = {**old.obj, "metadata": {**old.metadata, "uid": "another"}, "status": {}}
        served.answers[f"GET {RUN}"] = (200, again)
        document = call("report", NAME, "-o", "json").document
        assert document["groups"] == []

    def test_what_may_not_be_read_is_said_and_not_taken_for_nothing(self, served: Served) -> None:
        ended(served)
        served.forbidden = {"configmaps", "bandwidthmeasurements"}
        called = call("report", NAME)
        assert called.code == 0
        assert "not known: plan, results and lists of nodes are not shown: no permission" in called.out
        assert "not known: BandwidthMeasurements are not shown" in called.out


class TestRefusals:
    def test_a_missing_right_is_named_with_verb_and_resource(self, served: Served) -> None:
        served.forbidden = {"workloadruns"}
        called = call("status", NAME)
        assert called.code == 2
        assert "no permission: user jane cannot get workloadruns.cre.nvidia.com in namespace default" in called.err

    def test_an_interrupted_connection_is_tried_again_and_told(self, served: Served) -> None:
        call("run", BANDWIDTH)
        served.drops = 1
        called = call("status", NAME)
        assert called.code == 4
        assert "no answer from the cluster" in called.err
        assert "trying again" in called.err

    def test_credentials_that_are_not_accepted_are_told_apart(self, served: Served) -> None:
        served.answers[f"GET {RUN}"] = (401, status(401, "Unauthorized", "Unauthorized"))
        assert "log in again" in call("status", NAME).err

    def test_admission_that_does_not_answer_is_told(self, served: Served) -> None:
        message = 'Internal error occurred: failed calling webhook "mutate.cre.nvidia.com": connection refused'
        served.answers[f"POST {RUN.rpartition('/')[0]}"] = (500, status(500, "InternalError", message))
        called = call("run", BANDWIDTH)
        assert called.code == 2
        assert "admission does not answer" in called.err

    def test_an_answer_that_is_none_of_kubernetes_is_told(self, served: Served) -> None:
        served.answers[f"GET {RUN}"] = (200, "<html>sign in</html>")  # type: ignore[assignment]  # what a proxy says
        called = call("status", NAME)
        assert called.code == 2
        assert "the cluster's answer cannot be understood" in called.err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("status", "x", "--kubeconfig", "/nonexistent"), "no such file"),
            (("status", "x", "-n", "Bad!"), "no name of a namespace"),
            (("status", "x", "--context", "moon"), "it has here, lab"),
            (("status", "--wait"), "NAME is missing"),
            (("status", "x", "-A"), "NAME is too much"),
            (("run",), "give one FILE"),
            (("run", BANDWIDTH, "--timeout", "5m"), "--timeout is about --wait"),
            (("run", BANDWIDTH, "--nodes", "aws/h100x8"), "--nodes is about --dry-run"),
            (("run", BANDWIDTH, "--wait", "--timeout", "soon"), "no duration"),
            (("run", BANDWIDTH, "-o", "html"), "give --wait"),
            (("status", "x", "-o", "junit"), "give --wait"),
            (("cancel",), "give either NAME... or --selector"),
            (("report", "x", "-o", "pdf"), "pdf"),
        ],
    )
    def test_what_cannot_be_done_at_all_is_2_with_one_line(
        self, served: Served, words: tuple[str, ...], said: str
    ) -> None:
        called = call(*words)
        assert (called.code, called.out) == (2, "")
        assert said in called.err

    def test_no_cluster_at_all_is_2_also_in_json(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        called = call("status", "x", "-o", "json")
        assert called.code == 2
        assert "no cluster" in called.document["error"]["message"]


class TestCancel:
    def test_deletes_the_run_and_what_belongs_to_it(self, served: Served) -> None:
        ended(served)
        called = call("cancel", NAME)
        assert (called.code, called.out) == (0, f"default/{NAME}: deleted\n")
        assert call("status", NAME).code == 2
        for _ in range(20):
            served.advance()
        assert not served.store.select("cre.nvidia.com/v1alpha1", "Workflow")

    def test_nothing_is_deleted_where_one_name_is_misspelt(self, served: Served) -> None:
        call("run", BANDWIDTH)
        called = call("cancel", NAME, "typo")
        assert called.code == 2
        assert served.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", "default", NAME)

    def test_labels_choose_what_is_deleted(self, served: Served, tmp_path: Path) -> None:
        call("run", changed(tmp_path, name="one", labels={"team": "a"}))
        call("run", changed(tmp_path, name="two"))
        assert call("cancel", "-l", "team=a", "-o", "json").document == {"deleted": ["one"]}
        assert call("cancel", "-l", "team=a").code == 2
        assert call("status", "two").code == 4

    def test_waiting_names_what_is_left_in_the_end(self, served: Served) -> None:
        call("run", BANDWIDTH)
        served.advance()
        called = call("cancel", NAME, "--wait", "--timeout", "0s")
        assert called.code == 4
        assert f"Workflow {NAME} is not gone yet" in called.err

    def test_who_may_not_see_pods_is_told_before_anything_is_deleted(self, served: Served) -> None:
        call("run", BANDWIDTH)
        served.forbidden = {"pods"}
        called = call("cancel", NAME, "--wait", "--timeout", "0s")
        assert "it is not waited for pods: no permission: user jane cannot list pods" in called.err
        assert f"default/{NAME}: deleted" in called.out
