"""What ConfigMaps hold under gzip, read back: somebody may have edited it, so that it is unpacked within a bound.

A few kilobytes can be made to unpack to gigabytes: to a reader that is the same as bytes that are broken.
"""

from __future__ import annotations

import zlib
from typing import TypeVar

import msgspec

MOST_UNPACKED_BYTES = 8 << 20  # several times what a plan or a result of ten thousand nodes takes
GZIP = 31  # zlib's number for the format, with the largest window

T = TypeVar("T")


def unpack(packed: bytes) -> bytes:
    """Return what was packed; raises ValueError where it is not whole, or larger than anything of ours."""
    unpacker = zlib.decompressobj(wbits=GZIP)
    try:
        content = unpacker.decompress(packed, MOST_UNPACKED_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof:
        raise ValueError(f"it is cut off, or takes more than {MOST_UNPACKED_BYTES} bytes")
    return content


def unpack_as(type_: type[T], packed: bytes) -> T:
    """Read a packed JSON value; raises ValueError where it is none, or another one."""
    try:
        return msgspec.json.decode(unpack(packed), type=type_)
    except RecursionError as error:
        raise ValueError(str(error)) from error
