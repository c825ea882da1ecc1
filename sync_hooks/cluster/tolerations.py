"""Taints and tolerations, by the rules of the Kubernetes scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sync_hooks.api.observed import Taint

Toleration = Mapping[str, Any]
"""Kubernetes' Toleration as the API writes it."""

REPELLING = ("NoSchedule", "NoExecute")  # PreferNoSchedule only asks


def first_untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that keeps pods with these tolerations away, None where there is none."""
    known = tuple(tolerations)
    return next(
        (
            taint
            for taint in taints
            if taint.effect in REPELLING and not any(tolerates(toleration, taint) for toleration in known)
        ),
        None,
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Tell whether one toleration covers one taint; operators other than Equal and Exists cover nothing."""
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
    if operator == "Exists":
        return key in ("", taint.key)
    return operator == "Equal" and key == taint.key and (toleration.get("value") or "") == taint.value
