"""Names of what a plan becomes: legal, the Job's own, and changed only where an object is named."""

from __future__ import annotations

import msgspec

from sync_hooks.api.names import LONGEST_PREFIX, JobKey, job_key
from sync_hooks.planning.plan import Plan, RunIdentity
from tests.support.nodes import nodes
from tests.support.planned import LONG, planned, rendered_job, train_job_of
from tests.support.runs import run_spec

OTHERWISE = "a-very-long-na-4d2f1"
GB200 = {"product": "NVIDIA-GB200", "gpus": "4", "resources": {"vpc.amazonaws.com/efa": "4"}}


def test_names_say_group_iteration_retry_and_attempt():
    job = rendered_job(planned(), group=1, iteration=2, retry=3)
    assert job["metadata"]["name"] == "demo-g1-i2-t3"
    assert job_key(job["metadata"]["name"]) == JobKey(2, 1, 3)
    assert train_job_of(job, attempt=4)["metadata"]["name"] == "demo-g1-i2-t3-w4"


def test_a_long_name_is_shortened_in_front_and_labels_keep_it_whole():
    plan = planned(run_spec(checkpoint={"storageSize": "1Gi"}), identity=LONG)
    job = rendered_job(plan, identity=LONG)
    assert job["metadata"]["name"] == f"{plan.prefix}-g0-i1"
    assert plan.prefix.startswith("a-very-long-na-")
    assert len(plan.prefix) == LONGEST_PREFIX
    assert job["metadata"]["labels"]["cre.nvidia.com/workload-run"] == LONG.name


def test_a_name_that_begins_with_a_digit_still_gives_names_that_trainer_takes():
    assert planned(identity=RunIdentity("8-gpus", "default")).prefix.startswith("r-8-gpus-")


def shortened_otherwise(plan: Plan) -> Plan:
    """Return a plan as another version wrote it, which shortened the run's name in its own way."""
    return msgspec.json.decode(msgspec.json.encode(plan).replace(plan.prefix.encode(), OTHERWISE.encode()), type=Plan)


def test_a_run_under_way_keeps_its_names_when_a_later_version_would_shorten_its_name_otherwise():
    plan = shortened_otherwise(planned(run_spec("torch", config={"inline": {"a": "b"}}), identity=LONG))
    job = rendered_job(plan, group=1, iteration=2, retry=1, identity=LONG)
    assert job["metadata"]["name"] == f"{OTHERWISE}-g1-i2-t1"
    assert job["spec"]["workload"]["trainJob"]["runtimeRef"]["name"] == f"{OTHERWISE}-runtime"
    assert plan.runtime["metadata"]["name"] == f"{OTHERWISE}-runtime"
    assert [one["metadata"]["name"] for one in plan.shared] == [f"{OTHERWISE}-config"]


def test_so_do_the_objects_of_its_jobs():
    plan = planned(run_spec("torch", checkpoint={"storageSize": "1Gi"}), nodes(4, **GB200), identity=LONG)
    job = rendered_job(shortened_otherwise(plan), identity=LONG)
    assert {one["kind"]: one["metadata"]["name"] for one in job["spec"]["dependencies"]} == {
        "TrainingRuntime": f"{OTHERWISE}-g0-i1-runtime",
        "PersistentVolumeClaim": f"{OTHERWISE}-g0-i1-checkpoint-pvc",
        "ComputeDomain": f"{OTHERWISE}-g0-i1-compute-domain",
    }
    assert job["spec"]["checkpoint"]["pvcName"] == f"{OTHERWISE}-g0-i1-checkpoint-pvc"


def test_objects_of_a_job_get_its_name_wherever_they_are_named_and_nowhere_else():
    spec = run_spec(
        "torch",
        checkpoint={"storageSize": "1Gi"},
        env=[{"name": "CLAIM", "value": "demo-checkpoint-pvc"}],
        volumes=[{"name": "same", "persistentVolumeClaim": {"claimName": "demo-checkpoint-pvc"}}],
        volumeMounts=[{"name": "same", "mountPath": "/same"}],
    )
    plan = planned(spec, nodes(4, **GB200))
    job = rendered_job(plan, group=1)
    owned = {one["kind"]: one for one in job["spec"]["dependencies"]}
    assert plan.own_objects
    assert plan.runtime == {}
    assert job["metadata"]["labels"]["cre.nvidia.com/devices"] == "true"
    assert {kind: one["metadata"]["name"] for kind, one in owned.items()} == {
        "TrainingRuntime": "demo-g1-i1-runtime",
        "PersistentVolumeClaim": "demo-g1-i1-checkpoint-pvc",
        "ComputeDomain": "demo-g1-i1-compute-domain",
    }
    assert job["spec"]["checkpoint"]["pvcName"] == "demo-g1-i1-checkpoint-pvc"
    assert job["spec"]["workload"]["trainJob"]["runtimeRef"]["name"] == "demo-g1-i1-runtime"
    pod = owned["TrainingRuntime"]["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"][
        "spec"
    ]
    claims = {volume["name"]: volume["persistentVolumeClaim"] for volume in pod["volumes"] if "emptyDir" not in volume}
    assert set(map(str, claims.values())) == {"{'claimName': 'demo-g1-i1-checkpoint-pvc'}"}
    assert pod["resourceClaims"] == [{"name": "compute-domain", "resourceClaimTemplateName": "demo-g1-i1-channel"}]
    assert owned["ComputeDomain"]["spec"]["channel"]["resourceClaimTemplate"]["name"] == "demo-g1-i1-channel"
    assert owned["ComputeDomain"]["spec"]["numNodes"] == 2
    assert {"name": "CLAIM", "value": "demo-checkpoint-pvc"} in pod["containers"][0]["env"]


def test_objects_that_the_user_adds_get_the_jobs_name_in_front():
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "scratch"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    volume = {"name": "scratch", "persistentVolumeClaim": {"claimName": "scratch"}}
    plan = planned(run_spec(volumes=[volume], overrides=[{"dependencies": [claim]}]))
    runtime, scratch = rendered_job(plan)["spec"]["dependencies"]
    assert scratch["metadata"]["name"] == "demo-g0-i1-scratch"
    assert "demo-g0-i1-scratch" in str(runtime["spec"])
    assert scratch["metadata"]["labels"]["cre.nvidia.com/workload-run"] == "demo"


def test_the_users_word_for_an_object_of_a_long_run_is_understood():
    change = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": f"{LONG.name}-runtime", "annotations": {"seen": "yes"}},
    }
    plan = planned(run_spec(overrides=[{"dependencies": [change]}]), identity=LONG)
    assert plan.runtime["metadata"]["annotations"] == {"seen": "yes"}
