"""The report as markdown, for a pull request or an issue: verdict, figures, worst groups and nodes, ends of logs.

Everything from the cluster is escaped: a node named like a link is a name, not a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from cli.group_view import GroupView, worst_first
from cli.node_view import EXCLUDED, FAILED, INCONCLUSIVE, NODE_ORDER, SUCCEEDED, UNKNOWN
from cli.output import printable
from cli.reporting import wording
from cli.run_view import FIGURES, RunView

MOST_GROUPS = 20
MOST_NODES = 50
MOST_LOGS = 5
MOST_LOG_LINES = 30

SIGNS = {"Passed": "✅", "Failed": "❌", "Incomplete": "⚠️"}

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")
_LINKING = {"://": ":\\//", "www.": "www\\.", "@": "@<!-- -->"}
"""What readers of markdown turn into links and mentions by themselves, and how it is kept from them."""


def markdown(run: RunView, now: datetime) -> str:
    """Write the document."""
    verdict = wording.verdict_of(run)
    parts = [
        f"# {escaped(f'{run.namespace}/{run.name}')}: {SIGNS.get(run.verdict, '⏳')} {escaped(verdict)}\n",
        _list(run.status.get("verdictReasons") or ()),
        _list([*wording.facts(run.status), *wording.results(run.status.get("results") or {})]),
        _list([*(f"not known: {note}" for note in run.notes), *(f"warning: {text}" for text in run.warnings)]),
        *_groups(run, now),
        *_nodes(run),
        *_logs(run),
        f"Written {now:%Y-%m-%d %H:%M} UTC.\n",
    ]
    return "\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Write text so that markdown shows it as it is, in one line."""
    result = _SPECIAL.sub(r"\\\1", printable(text))
    for linking, harmless in _LINKING.items():
        result = result.replace(linking, harmless)
    return result


def _list(lines: Iterable[str]) -> str:
    return "".join(f"- {escaped(line)}\n" for line in lines)


def _groups(run: RunView, now: datetime) -> Iterator[str]:
    groups = worst_first(run.groups, run.figure)
    if not groups:
        return
    shown = groups[:MOST_GROUPS]
    figures = [key for key in FIGURES if any(key in group.figures for group in groups)]
    headings = ["iteration", "group", "nodes", "state", "time", *(wording.LABELS[key] for key in figures)]
    yield f"## Groups\n\n{_table(headings, [_row(group, figures, now) for group in shown])}"
    if len(groups) > len(shown):
        yield f"and {len(groups) - len(shown)} more groups, none worse\n"


def _row(group: GroupView, figures: Sequence[str], now: datetime) -> list[str]:
    seconds = wording.seconds_of(group, now)
    time = wording.span_of_time(seconds) if seconds is not None else "-"
    words = [str(group.key.iteration), group.label, wording.span(group.nodes), group.state, time]
    return [*words, *(wording.figure(group, key) for key in figures)]


def _nodes(run: RunView) -> Iterator[str]:
    bad = sorted(
        (node for node in run.nodes if node.state in BAD), key=lambda node: (NODE_ORDER[node.state], node.name)
    )
    if bad:
        rows = [[node.name, node.state, f"{node.reason} {node.message}".strip()] for node in bad[:MOST_NODES]]
        yield f"## Nodes\n\n{_table(['node', 'state', 'why'], rows)}"
    if len(bad) > MOST_NODES:
        yield f"and {len(bad) - MOST_NODES} more nodes\n"
    good = sum(node.state == SUCCEEDED for node in run.nodes)
    if good:
        yield f"{good} nodes passed.\n"


BAD = (FAILED, INCONCLUSIVE, UNKNOWN, EXCLUDED)


def _logs(run: RunView) -> Iterator[str]:
    failing = [group for group in worst_first(run.groups, run.figure) if group.log is not None]
    for group in failing[:MOST_LOGS]:
        assert group.log is not None  # noqa: S101 - filtered above
        where = escaped(f"pod {group.log.pod_name} on node {group.log.node_name}: {group.log.reason}")
        yield f"## Log of {escaped(group.label)}\n\n{where}\n\n{_fenced(group.log.tail)}"
    if len(failing) > MOST_LOGS:
        yield f"and {len(failing) - MOST_LOGS} more logs\n"


def _fenced(tail: str) -> str:
    """Write a log as a block; the fence is longer than any run of backticks in it."""
    lines = [printable(line.expandtabs()) for line in tail.splitlines()[-MOST_LOG_LINES:]]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, f"{fence}\n"])


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *[[escaped(word) for word in row] for row in rows]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
