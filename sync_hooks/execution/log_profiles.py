"""The LogProfiles that a plan names, looked at before anything runs: a wrong one would be told only after the workload.

What is missing may be on its way and is waited for, what is there and cannot fit ends planning. Reads no log.
"""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.api.sync import GetLogProfile, Observed, Unreadable
from sync_hooks.api.trainer import ANCESTOR_TRAINER, LABEL_ANCESTOR, LAUNCHER, WORKER, JsonObject, pod_of
from sync_hooks.measurements.profile import CompiledProfile
from sync_hooks.measurements.subject import PROFILE_NOT_FOUND, find_profile
from sync_hooks.planning.plan import Plan, Unplannable
from sync_hooks.planning.pods import replicated_jobs_of

PROFILE_UNFIT = "LogProfileUnfit"
PROFILE_UNREADABLE = "LogProfileUnreadable"
WAITING_FOR_PROFILE = "WaitingForProfile"

_NEEDED = {"bandwidthMeasurement": "bandwidth_result", "goodputMeasurement": "training_step"}
"""The pattern that each measurement cannot do without."""


def profile_reads(plan: Plan) -> tuple[GetLogProfile, ...]:
    """Return the reads of every LogProfile that the plan's Jobs will name, each once."""
    return tuple(dict.fromkeys(GetLogProfile(name) for _, name in _named(plan)))


def check_profiles(plan: Plan, observed: Observed) -> Unplannable | None:
    """Say which LogProfile keeps the run from being measured: one that cannot fit, else one that is not there."""
    found = [problem for field, name in _named(plan) if (problem := _problem(plan, field, name, observed))]
    return min(found, key=lambda problem: (problem.wait, problem.reason == PROFILE_UNREADABLE), default=None)


def _named(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.job.get("spec") or {}
    for field in _NEEDED:
        name = (spec.get(field) or {}).get("logProfileRef")
        if isinstance(name, str) and name:
            yield field, name


def _problem(plan: Plan, field: str, name: str, observed: Observed) -> Unplannable | None:
    found = find_profile(name, _NEEDED[field], observed)
    where = f"spec.{field}.logProfileRef"
    if isinstance(found, Unreadable):
        text = f"LogProfile {name}, which {where} names, cannot be read: {found.reason}"
        return Unplannable(PROFILE_UNREADABLE, text, wait=True, waiting=WAITING_FOR_PROFILE)
    if isinstance(found, CompiledProfile):
        why = _unfit(plan, found)
        return Unplannable(PROFILE_UNFIT, f"LogProfile {name} {why}, or name another in {where}") if why else None
    if found.reason == PROFILE_NOT_FOUND:
        text = f"{found.message}: create it, or name another in {where}"
        return Unplannable(found.reason, text, wait=True, waiting=WAITING_FOR_PROFILE)
    return Unplannable(found.reason, f"{found.message}: mend the profile, or name another in {where}")


def _unfit(plan: Plan, profile: CompiledProfile) -> str:
    """Say why the pods of this plan have no log for a profile; empty where they have."""
    jobs = {str(job["name"]): job for job in replicated_jobs_of(plan)}
    wanted = profile.strategy.replicated_job_name or next((name for name, job in jobs.items() if _is_trainer(job)), "")
    if wanted not in jobs:
        asked = (
            f"replicatedJob {wanted}" if wanted else f"the replicatedJob labelled {LABEL_ANCESTOR}={ANCESTOR_TRAINER}"
        )
        return f"reads {asked}, and this run has only {', '.join(jobs)}: change its workerStrategy.replicatedJobName"
    if wanted == WORKER and LAUNCHER in jobs:
        text = f"reads replicatedJob {WORKER}, and under mpi its pods only wait for ssh: {LAUNCHER} has the output"
        return f"{text}; leave its workerStrategy.replicatedJobName unset"
    names = [str(container.get("name", "")) for container in pod_of(jobs[wanted]).get("containers") or ()]
    if profile.container and profile.container not in names:
        text = f"reads container {profile.container}, and the pods of replicatedJob {wanted} have {', '.join(names)}"
        return f"{text}: change its containerName"
    return ""


def _is_trainer(job: JsonObject) -> bool:
    labels = ((job.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return labels.get(LABEL_ANCESTOR) == ANCESTOR_TRAINER
