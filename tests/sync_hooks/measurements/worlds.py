"""A cluster as far as a measurement sees it: one Job, its JobSet, its pods and what they have printed by now.

`World.sync` calls a hook as the edge does: it fetches what the hook asks for, calls again, and stores the status as the
API server would. Every status is checked for what the API cannot store.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from sync_hooks import bandwidth, goodput
from sync_hooks.api.observed import LiveObject, Log, Pod
from sync_hooks.api.sync import Busy, GetLogProfile, GetObject, ListPods, Read, ReadLog, Reads, Result, Unreadable
from sync_hooks.measurements.page import PAGE_BYTES, received
from sync_hooks.measurements.profile import CompiledProfile, read_profile
from sync_hooks.measurements.stamp import nanoseconds, stamp_of
from tests.support.hooks import NAMESPACE, live, manifest, request

ROOT = Path(__file__).parents[3]
EPOCH = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
WORDS = b"unable to retrieve container logs for containerd://0a1b2c3d"
"""What a kubelet says, with status 200, of a log that it cannot find."""
HOOKS = {"BandwidthMeasurement": bandwidth.sync, "GoodputMeasurement": goodput.sync}
DEFAULT_PROFILES = {"BandwidthMeasurement": "nccl-bandwidth", "GoodputMeasurement": "megatron-training"}


def at(seconds: float) -> datetime:
    """The moment so many seconds after the tests' beginning of time."""
    return EPOCH + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    """That moment as the API writes it."""
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def kubelet(moment: datetime, zone: str = "Z") -> str:
    """A timestamp as the kubelet of a node in some zone writes it."""
    if zone == "Z":
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
    sign = -1 if zone[0] == "-" else 1
    local = moment + sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return local.strftime("%Y-%m-%dT%H:%M:%S.%f") + f"000{zone}"


def stamped(lines: Iterable[str], start: float = 0, step: float = 0.25, zone: str = "Z") -> bytes:
    """Lines as the kubelet serves them, one every ``step`` seconds."""
    texts = (f"{kubelet(at(start + index * step), zone)} {line}\n" for index, line in enumerate(lines))
    return "".join(texts).encode()


@cache
def shipped(name: str) -> Mapping[str, Any]:
    """The spec of a profile that the chart ships."""
    path = ROOT / "charts" / "workloadrun" / "profiles" / f"{name}.yaml"
    return dict(yaml.safe_load(path.read_text(encoding="utf-8"))["spec"])


def profile(name: str) -> CompiledProfile:
    """A shipped profile, compiled."""
    compiled = read_profile(shipped(name))
    assert isinstance(compiled, CompiledProfile), compiled
    return compiled


def example(name: str) -> list[str]:
    """The lines of a sample log."""
    return (ROOT / "examples" / "logs" / name).read_text(encoding="utf-8").splitlines()


def job(
    phase: str = "Running", *, uid: str = "uid-job", attempt: int = 0, end: float = 0, **spec: Any
) -> dict[str, Any]:
    """A Job whose current attempt is in some phase; one that has ended is final."""
    status: dict[str, Any] = {"attempt": attempt, "workloadPhase": phase}
    status["workloadRef"] = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": f"job-w{attempt}",
        "uid": f"uid-w{attempt}",
    }
    if phase in ("Succeeded", "Failed"):
        status["workloadEndTime"] = stamp(end)
        status["conditions"] = [
            {"type": phase, "status": "True", "reason": "Because", "message": "", "lastTransitionTime": stamp(end)}
        ]
    return manifest("Job", "job", uid=uid, spec=spec, status=status)


def jobset(
    attempt: int = 0, *, owner: str = "", roles: Mapping[str, int] | None = None, trainer: str = "launcher"
) -> Any:
    """A JobSet with pods by role; ``trainer`` is the role that has the ancestor label, on its Jobs only."""
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    jobs = [
        {
            "name": name,
            "replicas": 1,
            "template": {
                "metadata": {"labels": label if name == trainer else {}},
                "spec": {"completions": count, "parallelism": count},
            },
        }
        for name, count in (roles or {"node": 2, "launcher": 1}).items()
    ]
    reference = {"kind": "TrainJob", "name": f"job-w{attempt}", "uid": owner or f"uid-w{attempt}", "controller": True}
    return manifest(
        "JobSet",
        f"job-w{attempt}",
        uid=f"uid-set-{attempt}",
        apiVersion="jobset.x-k8s.io/v1alpha2",
        metadata={"ownerReferences": [reference]},
        spec={"replicatedJobs": jobs},
    )


def pod(
    role: str = "launcher",
    index: int = 0,
    *,
    attempt: int = 0,
    phase: str = "Running",
    name: str = "",
    jobset_uid: str = "",
    containers: Iterable[str] = ("node",),
    started: float = 0,
    finished: float | None = None,
    restart: int = 0,
    created: str = "",
) -> Pod:
    """A pod of the JobSet of an attempt."""
    running = {"running": {"startedAt": stamp(started)}}
    end = {} if finished is None else {"finishedAt": stamp(finished)}
    ended = {"terminated": {"exitCode": 0, "startedAt": stamp(started), **end}}
    waiting: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
    state = running if phase == "Running" else waiting if phase == "Pending" else ended
    return msgspec.convert(
        {
            "metadata": {
                "name": name or f"job-w{attempt}-{role}-0-{index}",
                "namespace": NAMESPACE,
                "creationTimestamp": created or stamp(started),
                "labels": {
                    "jobset.sigs.k8s.io/jobset-uid": jobset_uid or f"uid-set-{attempt}",
                    "jobset.sigs.k8s.io/replicatedjob-name": role,
                    "jobset.sigs.k8s.io/job-index": "0",
                    "jobset.sigs.k8s.io/restart-attempt": str(restart),
                    "batch.kubernetes.io/job-completion-index": str(index),
                },
            },
            "spec": {"containers": [{"name": container} for container in containers]},
            "status": {
                "phase": phase,
                "startTime": stamp(started),
                "containerStatuses": [{"name": container, "state": state} for container in containers],
            },
        },
        Pod,
    )


@dataclass
class World:
    """What there is to read. ``logs`` maps pods to everything printed; ``failing`` maps reads' types to reasons."""

    kind: str = "BandwidthMeasurement"
    spec: dict[str, Any] = field(default_factory=dict)
    job: dict[str, Any] | None = field(default_factory=job)
    profile: Mapping[str, Any] | None = None
    jobset: dict[str, Any] | None = field(default_factory=jobset)
    pods: tuple[Pod, ...] = (pod(),)
    logs: dict[str, bytes] = field(default_factory=dict)
    failing: dict[type, str] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    version: int = 1
    limit: int | None = None  # bytes of a page instead of 8 MiB
    told: str = ""  # UID of the TrainJob that the Job has seen end
    seen: list[Read] = field(default_factory=list)

    def parent(self) -> dict[str, Any]:
        """The measurement as the API holds it now."""
        ref = {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": "job"}
        spec = {"jobRef": ref, "logProfileRef": DEFAULT_PROFILES[self.kind], **self.spec}
        metadata = {"annotations": {"cre.nvidia.com/workload-ended": self.told}} if self.told else {}
        version = str(self.version)
        return manifest(self.kind, "measurement", version=version, metadata=metadata, spec=spec, status=self.status)

    def sync(self, seconds: float, parent: dict[str, Any] | None = None) -> Result:
        """Call the hook until it answers, and store the status; ``parent`` is an older one out of a cache."""
        answer = self.ask(seconds, parent)
        assert isinstance(answer, Result), answer
        self._store(answer)
        return answer

    def ask(self, seconds: float, parent: dict[str, Any] | None = None) -> Result | Busy:
        """Call the hook until it answers."""
        self.seen = []
        observed: dict[Read, Any] = {}
        for _ in range(6):
            answer = HOOKS[self.kind](request(parent or self.parent()), observed, at(seconds))
            if not isinstance(answer, Reads):
                return answer
            self.seen += answer.reads
            observed |= {read: self._read(read) for read in answer.reads}
        raise AssertionError(f"asked for {self.seen} and more")

    def run(self, seconds: float, most: int = 100) -> float:
        """Sync as often as the hook wishes, until it wishes no more; return the time that this took."""
        for _ in range(most):
            result = self.sync(seconds)
            if not result.resync_after:
                return seconds
            seconds += result.resync_after
        raise AssertionError(f"still not done: {self.status}")

    def condition(self, type_: str) -> dict[str, Any]:
        """A condition of the status, empty where there is none."""
        return next((item for item in self.status.get("conditions", []) if item["type"] == type_), {})

    def _store(self, result: Result) -> None:
        assert storable(result.status), result.status
        stored = json.loads(json.dumps(result.status), parse_float=_stored_float)
        assert stored == result.status, "the API server would store another status than was sent"
        if stored != self.status:
            self.status, self.version = stored, self.version + 1

    def _read(self, read: Read) -> Any:
        if type(read) in self.failing:
            return Unreadable(self.failing[type(read)])
        match read:
            case GetObject(kind="Job"):
                return live(self.job) if self.job else None
            case GetObject(kind="JobSet", name=name):
                return live(self.jobset) if self.jobset and self.jobset["metadata"]["name"] == name else None
            case GetObject(kind=kind) if kind == self.kind:
                return live(self.parent())
            case GetLogProfile(name):
                return self._profile(name)
            case ListPods():
                return tuple(sorted(self.pods, key=lambda item: item.name))
            case ReadLog():
                return self._log(read)
        raise AssertionError(read)

    def _profile(self, name: str) -> LiveObject | None:
        if self.profile is not None:
            return live(manifest("LogProfile", name, spec=dict(self.profile)))
        try:
            return live(manifest("LogProfile", name, spec=dict(shipped(name))))
        except FileNotFoundError:
            return None

    def _log(self, read: ReadLog) -> Log | Unreadable:
        content = self.logs.get(read.pod)
        if content is None:
            return Unreadable(f"pod {read.pod} not found")
        if content == WORDS:
            return received(content, read.limit_bytes)
        limit = self.limit * (read.limit_bytes // PAGE_BYTES) if self.limit else read.limit_bytes
        return serve(content, read.since, limit)


def serve(content: bytes, since: str | None, limit: int) -> Log:
    """Answer a log request as the kubelet does: lines from a second on, and of these the first bytes."""
    lines = content.splitlines(keepends=True)
    if since is not None:
        first = nanoseconds(since.encode())
        assert first is not None
        lines = [line for line in lines if (nanoseconds(stamp_of(line) or b"") or 0) >= first]
    window = b"".join(lines)
    return Log(content=window[:limit], truncated=len(window) > limit)


def storable(value: Any) -> bool:
    """Tell whether the API can store a value: no null, no NaN, no infinity."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and storable(part) for key, part in value.items())
    if isinstance(value, list):
        return all(map(storable, value))
    if isinstance(value, float):
        return math.isfinite(value) and not value.is_integer()
    return isinstance(value, str | int)


def _stored_float(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() else value


Build = Callable[..., World]
