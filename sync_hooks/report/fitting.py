"""Makes what a run found fit into an object: where there is too much to tell, texts are cut, and never a list of nodes.

Names are in the plan as well, so that there is room for them.
"""

from __future__ import annotations

from collections.abc import Callable

from sync_hooks.api.errors import cut
from sync_hooks.planning.assemble import LARGEST_OBJECT_BYTES

BRIEF = 30  # characters: what kind of failure it was
TEXT_LIMITS = (10_000, 100, BRIEF, 0)  # characters of one text


def fitting(write: Callable[[int], str]) -> str:
    """Write something with texts of so many characters as there is room for: all, or fewer and fewer."""
    written = ""
    for most in TEXT_LIMITS:
        written = write(most)
        if len(written) <= LARGEST_OBJECT_BYTES:
            break
    return written


def shortened(text: str, most: int, instead: str = "") -> str:
    """Cut a text, or say something else ``instead`` where there is no room for any."""
    return cut(text, most) if most or not text else instead
