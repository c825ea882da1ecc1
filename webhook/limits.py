"""How much a process does at a time: threads, bodies, connections. Memory and files are given to it by others."""

from __future__ import annotations

import resource

from webhook.settings import ADMISSION, HOOKS

THREADS = 64
MOST_BYTES = {
    ADMISSION: 8 << 20,  # an UPDATE carries two objects, and the API server takes none larger than 3 MiB
    HOOKS: 192 << 20,  # 2,500 Jobs have 25 MB, 45 if all failed; planning allows 128, and Jobs may be tried again
}
"""Of a body."""

SMALL_BYTES = 256 << 10  # nearly every body is smaller, and asks for no room: large ones never stand in its way
UNDER_WAY_BYTES = {
    ADMISSION: 64 << 20,  # a quarter of the memory that the chart gives it: anybody can send bodies
    HOOKS: 256 << 20,  # a quarter too: two runs of as many groups as planning allows, from whoever has the token
}
"""Of all bodies that are not small, from before they are read until they are answered."""

LOGS_BYTES = 256 << 20  # of all pages of logs that hooks hold: another quarter of their memory

MOST_CONNECTIONS = 1000
OTHER_FILES = 256  # everything but connections of callers: libraries, certificates, health, reads of the cluster
FEWEST_CONNECTIONS = 128  # enough for the API server and Metacontroller; with less the limit is beyond help


def most_connections(files: int) -> int:
    """Return the most connections for a soft limit of open files; `RLIM_INFINITY` is none."""
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, files - OTHER_FILES))
