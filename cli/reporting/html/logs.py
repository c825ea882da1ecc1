"""Ends of failing logs, escaped, within a budget: what no longer fits is named with the way to read it."""

from __future__ import annotations

from collections.abc import Iterator

from cli.group_view import GroupView, worst_first
from cli.reporting.html.markup import Markup, join, lines, tag
from cli.run_view import RunView

MOST_BYTES = 1_500_000  # of all logs: the page is sent by mail
MOST_BYTES_OF_ONE = 16_000
OPEN = 3


def logs(run: RunView) -> Markup | None:
    """Write the section; None where there is no log."""
    failing = [group for group in worst_first(run.groups, run.figure) if group.log is not None]
    return join(*_pieces(failing)) if failing else None


def _pieces(failing: list[GroupView]) -> Iterator[Markup]:
    left = MOST_BYTES
    for index, group in enumerate(failing):
        assert group.log is not None  # noqa: S101 - filtered by the caller
        tail = group.log.tail[-MOST_BYTES_OF_ONE:]
        left -= len(tail.encode())
        if left < 0:
            yield tag("p", f"The logs of {len(failing) - index} more groups are left out here; -o json has them.")
            return
        yield _log(group, tail, is_open=index < OPEN)


def _log(group: GroupView, tail: str, *, is_open: bool) -> Markup:
    log = group.log
    assert log is not None  # noqa: S101 - filtered by the caller
    code = f", exit code {log.exit_code}" if log.exit_code is not None else ""
    where = f"pod {log.pod_name} on node {log.node_name or 'unknown'}, container {log.container or 'unknown'}"
    title = f"{group.label}, iteration {group.key.iteration}: {where}{code} ({log.reason})"
    return tag("details", tag("summary", title), tag("pre", lines(tail), tabindex="0"), open=is_open)
