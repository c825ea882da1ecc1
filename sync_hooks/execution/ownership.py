"""Whose a live object is that stands under a name which a parent wants to give: decided here for every parent.

What was left behind by an earlier object of the parent's own kind and name is going, although the garbage collector has
not come to it yet: it is waited for like what is being deleted, and never taken over. What another run has is told with
that run's name: it may be under way, and to delete what it has would end it.
"""

from __future__ import annotations

from typing import Literal

from sync_hooks.api.model import GROUP
from sync_hooks.api.names import LABEL_WORKLOAD_RUN
from sync_hooks.api.observed import LiveObject, OwnerReference

Standing = Literal["ours", "going", "foreign"]


def standing(found: LiveObject, parent: LiveObject) -> Standing:
    """Tell whether an object is the parent's own, will go by itself, or belongs to somebody else or to nobody."""
    owner = found.metadata.controller()
    if found.metadata.deletion_timestamp is not None:
        return "going"
    if owner is None:
        return "foreign"
    if owner.uid == parent.metadata.uid:
        return "ours"
    namesake = (owner.api_version, owner.kind, owner.name) == (parent.api_version, parent.kind, parent.metadata.name)
    return "going" if namesake else "foreign"


def what_goes(found: LiveObject) -> str:
    """Say of an object that is going what is waited for."""
    earlier = f"an earlier {found.kind} {found.metadata.name}"
    if found.metadata.deletion_timestamp is None:
        return f"{earlier} is left over, and the garbage collector has not come to it"
    return f"{earlier} is being deleted, held by {', '.join(found.metadata.finalizers) or 'nothing named'}"


def taken(found: LiveObject) -> str:
    """Say of a foreign object whose it is and what helps: only what nobody owns may be deleted without asking."""
    known, owner = f"{found.kind} {found.metadata.name} exists already", found.metadata.controller()
    if owner is None:
        return f"{known} and belongs to no run: delete it if nobody needs it, or choose another name for this run"
    return f"{known} and belongs to {_told(owner, found)}, which may be under way: choose another name for this run"


def _told(owner: OwnerReference, found: LiveObject) -> str:
    """Name the owner; of what a run made, the run, which has the label where its owner is not the run itself."""
    run = (found.metadata.labels or {}).get(LABEL_WORKLOAD_RUN)
    kind, name = ("WorkloadRun", run) if run and owner.api_version.startswith(f"{GROUP}/") else (owner.kind, owner.name)
    return f"{kind} {found.metadata.namespace}/{name}"
