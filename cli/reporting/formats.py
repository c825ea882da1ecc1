"""The forms of a report by name. Every form is a function of the run and the time: equal runs print equal reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from cli.node_view import FAILED
from cli.run_view import RunView
from sync_hooks.api.limits import OBJECT_NAMES

_NODE_NAME = re.compile(OBJECT_NAMES.pattern)

Form = Callable[[RunView, datetime], str]


def bad_nodes(run: RunView, now: datetime) -> str:  # noqa: ARG001 - the form of a form
    """Write the names of failed nodes, one a line, and nothing else: for ``kubectl cordon``.

    What is no name of a node is left out: whoever may write a list must not be able to write an option of kubectl.
    """
    named = (node.name for node in run.nodes if node.state == FAILED)
    return "".join(f"{name}\n" for name in named if _NODE_NAME.fullmatch(name))


def _html(run: RunView, now: datetime) -> str:
    from cli.reporting.html import html

    return html(run, now)


def _junit(run: RunView, now: datetime) -> str:
    from cli.reporting.junit import junit

    return junit(run, now)


def _markdown(run: RunView, now: datetime) -> str:
    from cli.reporting.markdown import markdown

    return markdown(run, now)


FORMS: Mapping[str, Form] = {"html": _html, "junit": _junit, "markdown": _markdown, "nodes": bad_nodes}
"""Forms that are one text; ``text`` is written to a terminal and ``json`` has the objects too."""

MEANINGS: Mapping[str, str] = {
    "text": "for the terminal: verdict and why, groups worst first, ends of failing logs",
    "json": "one document: the WorkloadRun, every group with its figures, curve and log, every node in one list",
    "html": "one page to send on: heat map of nodes by topology domain, bandwidth, goodput, timeline, logs; no script, "
    "nothing loaded, values that may be secrets left out",
    "junit": "JUnit XML for CI: a test for the verdict, one a group, one a bad node; only Passed is green",
    "markdown": "for a pull request or an issue",
    "nodes": "names of failed nodes, one a line: kubectl cordon $(workloadrun report NAME -o nodes)",
}
"""What each form is for, for the documentation."""

ALL = tuple(MEANINGS)
