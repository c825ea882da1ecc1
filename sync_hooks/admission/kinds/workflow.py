"""What is asked of a Workflow: the same as of the run whose spec it carries. Nothing is added to it."""

from __future__ import annotations

from sync_hooks.admission.kinds.workloadrun import RUN_ADVICE, RUN_OBJECT_RULES, RUN_RULES
from sync_hooks.admission.rules import KindRules
from sync_hooks.api.limits import RUN_NAMES
from sync_hooks.api.workflow import WorkflowSpec

RULES = {
    "Workflow": KindRules(
        model=WorkflowSpec,
        rules=RUN_RULES,
        object_rules=RUN_OBJECT_RULES,
        advice=RUN_ADVICE,
        immutable=True,
        names=RUN_NAMES,
    )
}
