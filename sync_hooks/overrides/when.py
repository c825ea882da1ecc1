"""Whether an override applies to what was detected, and how its conditions read in short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sync_hooks.api.override import IntMatch, StringMatch, When
from sync_hooks.overrides.expression import ExpressionProblem, evaluate

WORKLOAD_KIND = "TrainJob"
ALWAYS = "<always>"
LONGEST_EXPRESSION = 40  # characters of a summary


@dataclass(frozen=True, slots=True)
class Detected:
    """What conditions may speak of. ``domain_count`` is 0 where groups follow no topology."""

    platform: str
    architecture: str
    topology_mode: str
    domain_count: int


def matches(when: When | None, detected: Detected) -> bool | ExpressionProblem:
    """Tell whether every part that is given holds; none given always matches."""
    if when is None:
        return True
    plain = (
        _word(when.platform, detected.platform)
        and _word(when.gpu_architecture, detected.architecture)
        and when.workload_kind in (None, "", WORKLOAD_KIND)
        and (when.topology is None or when.topology.mode in (None, "", detected.topology_mode))
        and (when.topology is None or _number(when.topology.domain_count, detected.domain_count))
    )
    return evaluate(when.expression, _variables(detected)) if plain and when.expression else plain


def summary(when: When | None) -> str:
    """Write the conditions in short: ``h100, aws, in [a,b]``; ``<always>`` where there are none."""
    return ", ".join(_parts(when)) if when is not None and any(_parts(when)) else ALWAYS


def _variables(detected: Detected) -> dict[str, str | int]:
    return {
        "platform": detected.platform,
        "gpuArchitecture": detected.architecture,
        "workloadKind": WORKLOAD_KIND,
        "topologyMode": detected.topology_mode,
        "domainCount": detected.domain_count,
    }


def _word(match: StringMatch | None, word: str) -> bool:
    if match is None:
        return True
    return (
        match.equals in (None, "", word)
        and (not match.in_ or word in match.in_)
        and (not match.not_in or word not in match.not_in)
    )


def _number(match: IntMatch | None, number: int) -> bool:
    if match is None:
        return True
    return (
        match.equals in (None, number)
        and (match.greater_than is None or number > match.greater_than)
        and (match.less_than is None or number < match.less_than)
    )


def _parts(when: When) -> Iterator[str]:
    yield from _word_parts(when.gpu_architecture)
    yield from _word_parts(when.platform)
    yield from (part for part in (when.workload_kind,) if part)
    if when.topology is not None:
        yield from (part for part in (when.topology.mode,) if part)
        yield from _number_parts(when.topology.domain_count)
    if when.expression:
        cut = when.expression[:LONGEST_EXPRESSION]
        yield cut if cut == when.expression else f"{cut}..."


def _word_parts(match: StringMatch | None) -> Iterator[str]:
    if match is not None:
        yield from (part for part in (match.equals,) if part)
        yield from (f"in [{','.join(words)}]" for words in (match.in_,) if words)
        yield from (f"notIn [{','.join(words)}]" for words in (match.not_in,) if words)


def _number_parts(match: IntMatch | None) -> Iterator[str]:
    if match is not None:
        named = (("=", match.equals), (">", match.greater_than), ("<", match.less_than))
        yield from (f"domainCount {sign} {number}" for sign, number in named if number is not None)
