"""Iterations that have ended and were noted: their results, read only where they are the ones that were noted.

Their figures are remembered: at every change of a run the same results come again, and only the last one is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sync_hooks.api.memo import Memo
from sync_hooks.api.request import CONFIG_MAP, ConfigMapChild, Request
from sync_hooks.api.workflow import IterationSummary
from sync_hooks.report.figures import Figures, bytes_of, figures_of, together
from sync_hooks.report.iteration import IterationResult, digest, read_result

_FIGURES: Memo[Figures] = Memo(64 << 20)  # 100 iterations of 2,500 groups take 6 MB


def finished_results(request: Request, finished: Sequence[IterationSummary]) -> tuple[IterationResult, ...] | None:
    """Read the results of iterations that were noted; None where one of them is gone or changed."""
    seen = request.of(CONFIG_MAP, ConfigMapChild)
    results = (_noted_result(seen.get(summary.result), summary) for summary in finished)
    known = tuple(result for result in results if result is not None)
    return known if len(known) == len(finished) else None


def finished_figures(request: Request, finished: Sequence[IterationSummary]) -> Figures:
    """Return the figures of iterations that were noted, taken together; none where a result is gone or changed.

    What is remembered is of results with these very hashes: they are compared at every call, and nothing else is read.
    """
    hashes = _hashes(request, finished)
    if not hashes:
        return {}
    key, before = _key(finished, hashes), _key(finished[:-1], hashes[:-1])
    known = _FIGURES.get(key)
    if known is not None:
        return known
    old = _FIGURES.get(before)
    results = finished_results(request, finished if old is None else finished[-1:])
    if results is None:
        return {}
    new = figures_of(results)
    found = new if old is None else together(old, new)
    return _FIGURES.keep(key, found, bytes_of(found))


def _hashes(request: Request, finished: Sequence[IterationSummary]) -> list[str]:
    """Return the hash of each result; none where one of them is gone, or is not the one that was noted."""
    seen, hashes = request.of(CONFIG_MAP, ConfigMapChild), []
    for summary in finished:
        stored = seen.get(summary.result)
        found = digest(stored) if stored is not None else ""
        if not found or summary.sha256 not in (None, found):
            return []
        hashes.append(found)
    return hashes


def _key(finished: Sequence[IterationSummary], hashes: Sequence[str]) -> str:
    """Name results as they were noted, in order; what was noted of one is part of whether it is believed."""
    named = [
        f"{summary.iteration}/{summary.succeeded + summary.failed}/{found}\n"
        for summary, found in zip(finished, hashes, strict=True)
    ]
    return hashlib.sha256("".join(named).encode()).hexdigest()


def _noted_result(stored: ConfigMapChild | None, summary: IterationSummary) -> IterationResult | None:
    """Read a result if it is the one that was noted; a summary of before hashes were written has none."""
    if stored is None or summary.sha256 not in (None, digest(stored)):
        return None
    result, groups = read_result(stored), summary.succeeded + summary.failed
    return result if result and (result.iteration, len(result.groups)) == (summary.iteration, groups) else None
