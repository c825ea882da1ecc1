"""What is rendered before groups are filled in, and how an object is added to it. Lays nothing over it by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sync_hooks.api.trainer import JsonObject, kind_of, name_of
from sync_hooks.overrides.merge import merge_object


@dataclass(frozen=True, slots=True)
class Draft:
    """What a run would create, before it is split into what exists once and what each Job brings."""

    job: JsonObject
    """Metadata and spec of the Job template."""
    runtime: JsonObject
    objects: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Naming:
    """Names and labels of new objects. Objects of a group carry the run's name until the group is filled in."""

    run: str
    base: str
    """The run's shortened name."""
    namespace: str
    labels: JsonObject
    nodes: int
    """Nodes of a group."""

    def known_as(self, name: str) -> str:
        """Return our name of an object that the user names after the whole run."""
        return self.base + name.removeprefix(self.run) if name.startswith(f"{self.run}-") else name

    def metadata(self, end: str) -> JsonObject:
        """Return the metadata of an object of ours."""
        return {"name": f"{self.base}-{end}", "namespace": self.namespace, "labels": dict(self.labels)}


@dataclass(frozen=True, slots=True)
class Applied:
    """The draft afterwards, and what was changed: empty when nothing was."""

    draft: Draft
    changed: tuple[str, ...]


def with_object(
    objects: Sequence[JsonObject], patch: JsonObject, labels: JsonObject | None = None
) -> tuple[JsonObject, ...]:
    """Merge an object into the one of the same kind and name, or append it."""
    key = (kind_of(patch), name_of(patch))
    if all((kind_of(known), name_of(known)) != key for known in objects):
        new = merge_object({}, patch)
        own = {"labels": {**labels, **(new["metadata"].get("labels") or {})}} if labels else {}
        return (*objects, {**new, "metadata": {**new["metadata"], **own}})
    return tuple(merge_object(known, patch) if (kind_of(known), name_of(known)) == key else known for known in objects)


def changes(before: Draft, after: Draft, job_part: str) -> tuple[str, ...]:
    """Name what differs between two drafts."""
    old = list(before.objects)
    return (
        *((job_part,) if before.job != after.job else ()),
        *((f"TrainingRuntime {name_of(after.runtime)}",) if before.runtime != after.runtime else ()),
        *(f"{kind_of(known)[1]} {name_of(known)}" for known in after.objects if known not in old),
    )
