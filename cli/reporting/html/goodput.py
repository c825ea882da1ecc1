"""What the training time went into, group by group: productive work, and each way of losing time."""

from __future__ import annotations

from collections.abc import Sequence

from cli.group_view import GroupView
from cli.reporting import wording
from cli.reporting.html.chart import Frame, legend, picture, swatch
from cli.reporting.html.markup import Markup, join, tag
from cli.reporting.html.table import number, row, table
from cli.run_facts import GoodputReport
from cli.run_view import RunView

MOST_BARS = 40
LABEL_WIDTH, BAR_WIDTH, BAR_HEIGHT = 150, 740, 22
TERMS = (
    ("productive", "productive training"),
    ("lost", "work lost since the last checkpoint"),
    ("resume", "starting up and resuming"),
    ("save", "checkpoints being saved"),
    ("reschedule", "waiting for resources (not in the ratio)"),
)


def goodput(run: RunView) -> Markup | None:
    """Write the section; None where nothing was measured."""
    found = [group for group in run.groups if _ratio(group) is not None and not group.superseded]
    measured = sorted(found, key=lambda group: (_ratio(group) or 0.0, group.key))
    if not measured:
        return None
    shown = measured[:MOST_BARS]
    told = "All groups" if len(shown) == len(measured) else f"The {len(shown)} worst of {len(measured)} groups"
    return join(
        tag(
            "p",
            "Goodput is the share of the time with resources in which training made progress that was kept. "
            f"{told}, the worst first; the first bar is all groups together.",
        ),
        legend([(swatch(f"g-{key}"), word) for key, word in TERMS]),
        _bars(measured, shown),
        _table(shown),
    )


def _ratio(group: GroupView) -> float | None:
    return group.goodput.result if group.goodput else None


def terms(report: GoodputReport) -> dict[str, float]:
    """Divide a group's training time, in seconds, without gap or overlap."""
    losses = {
        "lost": report.lost_work_time_sec,
        "resume": report.resume_time_sec,
        "save": report.checkpoint_save_time_sec,
        "reschedule": report.reschedule_time_sec,
    }
    return {"productive": max(0.0, report.training_time_sec - sum(losses.values())), **losses}


def _bars(measured: Sequence[GroupView], shown: Sequence[GroupView]) -> Markup:
    whole = [terms(group.goodput) for group in measured if group.goodput]
    total = {key: sum(one[key] for one in whole) for key, _ in TERMS}
    rows = [("all groups", total, None), *((_name(group), _own(group), group) for group in shown)]
    frame = Frame(LABEL_WIDTH + BAR_WIDTH + 100, len(rows) * BAR_HEIGHT + 4, 1, 1)
    drawn = [_bar(index, name, parts, group) for index, (name, parts, group) in enumerate(rows)]
    return tag("figure", picture(frame, f"Goodput of {len(shown)} groups; the table below has the numbers", drawn))


def _own(group: GroupView) -> dict[str, float]:
    return terms(group.goodput) if group.goodput else {}


def _bar(index: int, name: str, parts: dict[str, float], group: GroupView | None) -> Markup:
    y, total = index * BAR_HEIGHT, sum(parts.values()) or 1.0
    left, boxes = float(LABEL_WIDTH), []
    for key, word in TERMS:
        width = BAR_WIDTH * parts.get(key, 0.0) / total
        if width > 0:
            title = tag("title", f"{word}: {wording.span_of_time(parts[key])}")
            boxes.append(tag("rect", title, class_=f"g-{key}", x=left, y=y + 3, width=width, height=BAR_HEIGHT - 6))
        left += width
    with_resources = total - parts.get("reschedule", 0.0)
    ratio = _ratio(group) if group else None
    shown = ratio if ratio is not None else parts["productive"] / (with_resources or 1.0)
    label = tag("text", name, x=LABEL_WIDTH - 8, y=y + 15, text_anchor="end")
    return join(label, boxes, tag("text", f"{shown:.1%}", x=LABEL_WIDTH + BAR_WIDTH + 8, y=y + 15))


def _name(group: GroupView) -> str:
    iteration = f", iteration {group.key.iteration}" if group.key.iteration > 1 else ""
    return f"{group.label}{iteration}"


def _table(groups: Sequence[GroupView]) -> Markup:
    numbers = [(word, "num") for word in ("goodput", *(word for _, word in TERMS), "interruptions", "steps")]
    rows = [_row(group, group.goodput) for group in groups if group.goodput is not None]
    return tag("details", tag("summary", "The bars as a table"), table(["group", *numbers], rows))


def _row(group: GroupView, report: GoodputReport) -> Markup:
    parts = terms(report)
    cells = [
        f"{report.result:.4f}" if report.result is not None else "-",
        *(wording.span_of_time(parts[key]) for key, _ in TERMS),
        str(report.interruption_count),
        str(report.highest_step if report.highest_step is not None else "-"),
    ]
    return row(f"{_name(group)} ({wording.span(group.nodes)})", [number(cell) for cell in cells])
