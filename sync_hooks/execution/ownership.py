"""Whose a live object is that stands under a name which a parent wants to give: decided here for every parent.

What was left behind by an earlier object of the parent's own kind and name is going, although the garbage collector has
not come to it yet: it is waited for like what is being deleted, and never taken over.
"""

from __future__ import annotations

from typing import Literal

from sync_hooks.api.observed import LiveObject

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
