"""Names of runs as hypothesis draws them: their length first, else nearly all have one character or two."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from sync_hooks.api.limits import RUN_NAMES

LONGEST_OF_ANY_OBJECT = 253
ENDS = string.ascii_lowercase + string.digits
LONG_NAMES = tuple(
    f"nccl-all-reduce-{'of-all-racks-and-once-more-' * 10}"[: length - 1] + "z" for length in (30, 45, 63, 200)
)
"""Worth a look in every test: longer than what is ever kept whole, up to beyond what admission lets through."""


def names(longest: int = RUN_NAMES.longest) -> st.SearchStrategy[str]:
    """Draw a name that the pattern allows, each length as often as any other."""
    return st.integers(1, longest).flatmap(_of_length)


def _of_length(length: int) -> st.SearchStrategy[str]:
    middle = st.text(f"{ENDS}-", min_size=max(length - 2, 0), max_size=max(length - 2, 0))
    ends = st.text(ENDS, min_size=min(length, 2), max_size=min(length, 2))
    return st.builds(lambda text, end: end[:1] + text + end[1:], middle, ends)


def alike(longest: int = LONGEST_OF_ANY_OBJECT) -> st.SearchStrategy[tuple[str, str]]:
    """Draw two names that begin alike and are not the same."""
    ends = st.tuples(names(12), names(12)).filter(lambda pair: pair[0] != pair[1])
    return st.builds(lambda head, pair: (f"{head}-{pair[0]}", f"{head}-{pair[1]}"), names(longest - 13), ends)
