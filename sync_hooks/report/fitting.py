"""Makes what a run found fit into an object: where there is too much to tell, texts are cut, and never a list of nodes.

Names are in the plan as well, so that there is room for them.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable

from sync_hooks.api.errors import cut
from sync_hooks.api.limits import LARGEST_OBJECT_BYTES
from sync_hooks.api.packed import MOST_UNPACKED_BYTES

BRIEF = 30  # characters: what kind of failure it was
TEXT_LIMITS = (10_000, 100, BRIEF, 0)  # characters of one text


def fitting(write: Callable[[int], bytes], level: int, room: int = LARGEST_OBJECT_BYTES) -> str:
    """Write something, as base64 of gzip, with texts of so many characters as there is room for: all, or fewer.

    ``level`` is gzip's, ``room`` is in bytes; the same content always gives the same text. There is no room for what
    nobody would unpack.
    """
    written = ""
    for most in TEXT_LIMITS:
        content = write(most)
        if most and len(content) > MOST_UNPACKED_BYTES:
            continue
        written = packed(content, level)
        if len(written) <= room:
            break
    return written


def packed(content: bytes, level: int) -> str:
    """Write bytes as base64 of gzip, the same bytes always as the same text."""
    return base64.b64encode(gzip.compress(content, compresslevel=level, mtime=0)).decode()


def shortened(text: str, most: int, instead: str = "") -> str:
    """Cut a text, or say something else ``instead`` where there is no room for any."""
    return cut(text, most) if most or not text else instead
