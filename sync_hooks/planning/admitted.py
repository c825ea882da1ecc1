"""Last look at the Jobs: by the rules of our own webhook, which every Job has to pass before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.admission.admit import admit
from sync_hooks.planning import reasons
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, Unplannable
from sync_hooks.planning.state import State, give_up

MOST_ERRORS = 5  # in one message


def check_job(state: State, plan: Plan) -> Unplannable | None:
    """Return why the webhook would refuse the Jobs, None where it would not.

    Jobs of a run differ in names and nodes alone: one is judged for all. Of one that is refused Metacontroller would
    only say so after minutes of trying.
    """
    job = render_job(plan, state.identity, state.identity.name, 0, 1)
    errors = admit(job).errors
    if not errors:
        return None
    return refused(state, "admission would refuse the Jobs: ", [f"{one.field}: {one.message}" for one in errors])


def refused(state: State, by: str, told: Sequence[str]) -> Unplannable:
    """Give up because of what somebody would refuse later, an override's fault where there is one."""
    more = f"; and {len(told) - MOST_ERRORS} more" if len(told) > MOST_ERRORS else ""
    reason = reasons.OVERRIDE_ERROR if state.overrides else reasons.BUILD_FAILED
    return give_up(state, reason, f"{by}{'; '.join(told[:MOST_ERRORS])}{more}")
