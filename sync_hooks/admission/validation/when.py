"""Conditions of overrides: words that detection can give, parts that can hold together, expressions that compile."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, not_supported
from sync_hooks.admission.expressions import expression_problem
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.cluster.platform import PLATFORMS
from sync_hooks.overrides.expression import NUMBER, VARIABLES

TYPES = {**dict.fromkeys(VARIABLES, "STRING"), NUMBER: "INT"}
NEVER = "no run can match this:"

_ARCHITECTURE = re.compile(r"[a-z0-9_.]+")


def when_errors(when: Value) -> Iterator[FieldError]:
    """Check the conditions of one override: what can never hold would be skipped in silence."""
    for name in ("platform", "gpuArchitecture"):
        yield from _word_errors(when.field(name), name)
    yield from _topology_errors(when.field("topology"))
    expression = when.field("expression")
    if expression.text and (problem := expression_problem(expression.text, TYPES)):
        yield invalid(expression, f"{problem}; variables are {', '.join(sorted(TYPES))}")


def _word_errors(match: Value, name: str) -> Iterator[FieldError]:
    equals, included, excluded = match.field("equals"), match.field("in"), match.field("notIn")
    for word in (equals, *included.elements(), *excluded.elements()):
        if not word.text:
            continue
        if name == "platform" and word.text not in PLATFORMS:
            yield not_supported(word, PLATFORMS)
        elif name == "gpuArchitecture" and not _ARCHITECTURE.fullmatch(word.text):
            yield invalid(
                word, "must be an architecture as it is detected: lower case up to the first '-', such as h100"
            )
    words, barred = _words(included), _words(excluded)
    if equals.text and words and equals.text not in words:
        yield invalid(match, f"{NEVER} {equals.text} is not among in")
    if equals.text in barred:
        yield invalid(match, f"{NEVER} {equals.text} is among notIn")
    elif words and words <= barred:
        yield invalid(match, f"{NEVER} everything in in is among notIn too")


def _words(words: Value) -> set[str]:
    return {word.text for word in words.elements() if word.text}


def _topology_errors(topology: Value) -> Iterator[FieldError]:
    count = topology.field("domainCount")
    above, below, equals = (count.field(name).number for name in ("greaterThan", "lessThan", "equals"))
    simple = topology.field("mode").json == "simple"
    least = max(0, above + 1 if above is not None else 0)
    most = min(
        value for value in (below - 1 if below is not None else None, 0 if simple else None, 2**31) if value is not None
    )
    if equals is not None:
        least, most = max(least, equals), min(most, equals)
    if count.present and least > most:
        reason = "without a topology the number of domains is 0" if simple else "no number of domains meets all parts"
        yield invalid(count, f"{NEVER} {reason}")
