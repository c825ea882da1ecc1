"""Progress of a run for people: a picture that is drawn over on a terminal, a line a transition anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from cli import terminal
from cli.output import printable
from cli.reporting.wording import LABELS, span_of_time
from sync_hooks.api.time import seconds_between

if TYPE_CHECKING:
    from cli.figures import Spread
    from cli.following import Moment, Progress

BAR_WIDTH = 50
PARTS = (("succeeded", "█", "green"), ("failed", "█", "red"), ("running", "▒", "cyan"), ("pending", "·", ""))


def progress_of(output: str, *, no_color: bool) -> Progress:
    """Choose how to show progress: beside the result unless the result is text."""
    stream = sys.stdout if output == "text" else sys.stderr
    console = terminal.stdout(no_color=no_color) if output == "text" else terminal.stderr(no_color=no_color)
    return Picture(console) if stream.isatty() else Lines(console)


class Lines:
    """One line a transition: it ends up in files."""

    def __init__(self, console: Console) -> None:
        """Remember nothing yet."""
        self._console = console
        self._last = ""

    def __enter__(self) -> Lines:
        """Begin."""
        return self

    def __exit__(self, *problem: object) -> None:
        """Nothing to put in order."""

    def show(self, moment: Moment) -> None:
        """Print where the run stands if that is not what was printed last."""
        line = state_line(moment.status) or "created, nothing has looked at it yet"
        if line == self._last:
            return
        self._last = line
        measured = "".join(f"; {text}" for text in _measured(moment.figures))
        name = moment.run["metadata"]["name"]
        self._console.print(printable(f"{datetime.now(UTC):%H:%M:%SZ}  {name}  {line}{measured}"))


class Picture:
    """A bar of the groups by state, what is measured so far and how long it may still take."""

    def __init__(self, console: Console) -> None:
        """Take the terminal's last lines."""
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._last = ""

    def __enter__(self) -> Picture:
        """Begin to draw."""
        self._live.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        """Leave the terminal as it was."""
        self._live.__exit__(None, None, None)

    def show(self, moment: Moment) -> None:
        """Draw the moment over the last one."""
        name, status = moment.run["metadata"]["name"], moment.status
        lines = [Text(printable(f"{name}: {state_line(status) or 'created, nothing has looked at it yet'}"))]
        if progress := status.get("progress"):
            lines.append(bar(progress))
        lines += [Text(text) for text in _measured(moment.figures)]
        age = seconds_between(moment.run["metadata"].get("creationTimestamp"), datetime.now(UTC))
        if age is not None:
            left = time_left(status.get("progress") or {}, age)
            lines.append(Text(f"{span_of_time(age)} so far{f', about {span_of_time(left)} left' if left else ''}"))
        self._live.update(Group(*lines), refresh=True)


def bar(progress: Mapping[str, int]) -> Text:
    """Draw the groups by state, with their numbers beside it."""
    total = progress["groups"] or 1
    drawn, filled, reached = Text(), 0, 0
    for key, sign, style in PARTS:
        reached += progress[key]
        width = BAR_WIDTH * reached // total - filled
        drawn.append(sign * width, style=style)
        filled += width
    told = ", ".join(f"{progress[key]} {key}" for key, _, _ in PARTS if progress[key])
    return Text.assemble(drawn, f"  {told}")


def time_left(progress: Mapping[str, int], seconds: float) -> float | None:
    """Estimate the seconds left, as if the rest took as long as what is done; None while nothing is done."""
    if not progress:
        return None
    done = progress["succeeded"] + progress["failed"] + (progress["iteration"] - 1) * progress["groups"]
    rest = progress["iterations"] * progress["groups"] - done
    return seconds * rest / done if done > 0 and rest > 0 else None


def state_line(status: Mapping[str, Any]) -> str:
    """Say where a run stands; what it waits for within a step is left out, it is over within a second."""
    true = [item for item in status.get("conditions") or () if item["status"] == "True"]
    short = [item["message"].partition("; ")[0] if item["type"] == "InProgress" else item["message"] for item in true]
    return "; ".join(f"{item['type']}: {text}" for item, text in zip(true, short, strict=True))


def _measured(figures: Mapping[str, Spread]) -> list[str]:
    return [
        f"{LABELS[key]} so far: lowest {one.lowest:.4g}, median {one.median:.4g} in {one.groups} groups"
        for key, one in figures.items()
    ]
