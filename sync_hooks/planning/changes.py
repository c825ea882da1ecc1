"""Steps that lay the platform's rows and the user's overrides over what was rendered: each once, in order."""

from __future__ import annotations

from dataclasses import replace

from sync_hooks.api.override import OrchestrationOverride, Override
from sync_hooks.api.results import AppliedOverride
from sync_hooks.overrides.apply import OverrideProblem, apply_override
from sync_hooks.overrides.apply_row import apply_row
from sync_hooks.overrides.when import summary
from sync_hooks.planning import reasons
from sync_hooks.planning.cleaning import endless, without_nulls
from sync_hooks.planning.orchestration import orchestration_of, overridden
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State, give_up


def apply_rows(state: State) -> State | Unplannable:
    """Lay the platform's rows over the draft."""
    draft, applied = state.draft, list(state.applied)
    for row in state.rows:
        result = apply_row(draft, row, state.naming)
        topology = ("topology",) if row.topology_key and row.topology_key == state.orchestration.topology_key else ()
        applied.append(AppliedOverride(source=row.source, when=row.when, changed=[*topology, *result.changed]))
        draft = result.draft
    return replace(state, draft=draft, applied=tuple(applied))


def apply_overrides(state: State) -> State | Unplannable:
    """Lay the user's overrides over the draft, in the spec's order."""
    orchestration = orchestration_of(state.spec)
    for number, override in state.overrides:
        result = apply_override(state.draft, override, state.naming)
        if isinstance(result, OverrideProblem):
            return give_up(state, reasons.OVERRIDE_ERROR, f"spec.overrides[{number}].{result.message}")
        before, orchestration = orchestration, overridden(orchestration, _orchestration_of(override))
        changed = [*result.changed, *(["orchestration"] if before != orchestration else [])]
        record = AppliedOverride(source=f"spec.overrides[{number}]", when=summary(override.when), changed=changed)
        state = replace(state, draft=result.draft, applied=(*state.applied, record))
    return state


def clean(state: State) -> State | Unplannable:
    """Take out what must not be in any object: nulls, and whatever would end or remove it before we have read it."""
    draft = state.draft
    runtime, job = without_nulls(endless(draft.runtime)), without_nulls(endless(draft.job))
    objects = tuple(without_nulls(known) for known in draft.objects)
    return replace(state, draft=replace(draft, runtime=runtime, job=job, objects=objects))


def _orchestration_of(override: Override) -> list[OrchestrationOverride]:
    return [override.orchestration] if override.orchestration is not None else []
