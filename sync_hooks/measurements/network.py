"""Which network NCCL used, by its own messages. Says nothing where it was not asked to print them."""

from __future__ import annotations

import re

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.measurements.pattern import Pattern, hits

SOCKET = "Socket"
MNNVL = "MNNVL"  # NVLink between nodes: no network, and in its place

_CHOSEN = b"NCCL INFO Using network "
_CHANNEL = b" via NET/"
_NVLINK_CHANNEL = b" via P2P/MNNVL"  # printed within a node too: what it does not reach has a channel of NET beside it
_NODES = b" nNodes "
_MOST_NAMES = 16  # a log that names more names something else
_LONGEST_NAME = 40


def read_networks(reading: BandwidthReading, text: bytes, pattern: Pattern | None) -> BandwidthReading:
    """Add the networks that new lines name: chosen ones, by the profile's pattern too, and those of channels."""
    chosen = _names(text, _CHOSEN) | (_captured(text, pattern) if pattern else set())
    counts = {int(name) for name in _names(text, _NODES) if name.isdigit()}
    several = reading.several_hosts
    if counts:
        several = bool(several) or max(counts) > 1
    return reading.model_copy(
        update={
            "networks": _merged(reading.networks, chosen),
            "channels": _merged(reading.channels, _channels(text)),
            "several_hosts": several,
        }
    )


def fell_back(reading: BandwidthReading) -> bool | None:
    """Tell whether traffic between nodes went through TCP sockets; None where the log does not say.

    A channel says it outright. The choice of a network counts where there is more than one host, or may be, and no
    NVLink takes the network's place.
    """
    networks, channels = reading.networks or [], reading.channels or []
    if set(channels) - {MNNVL}:
        return SOCKET in channels
    if networks and reading.several_hosts is not False:
        return SOCKET in networks and MNNVL not in channels
    return False if networks else None


def unused_note(reading: BandwidthReading) -> str:
    """Say that sockets were chosen and not needed; empty where they were not chosen, or were used."""
    if SOCKET not in (reading.networks or ()) or reading.channels != [MNNVL]:
        return ""
    return f"NCCL chose the network {SOCKET} and did not use it: its channels between nodes go over NVLink ({MNNVL})"


def _merged(old: list[str] | None, new: set[str]) -> list[str] | None:
    """Keep so many names; that of the sockets, on which a verdict depends, before any other."""
    return sorted({*(old or ()), *new}, key=lambda name: (name != SOCKET, name))[:_MOST_NAMES] or None


def _channels(text: bytes) -> set[str]:
    nvlink = {MNNVL} if _NVLINK_CHANNEL in text else set()
    return _names(text, _CHANNEL) | nvlink


def _captured(text: bytes, pattern: Pattern) -> set[str]:
    names: set[str] = set()
    for hit in hits(pattern, text):
        name = (hit.text("transport") or b"").decode(errors="replace").strip()[:_LONGEST_NAME]
        if name == SOCKET or (name and len(names) < _MOST_NAMES):
            names.add(name)
    return names


def _names(text: bytes, before: bytes) -> set[str]:
    """Find the different words behind a phrase that may stand on every line, without visiting every line.

    The phrase alone is sought first: where it is missing, as it mostly is, that takes half as long. Sockets are found
    behind any number of other names, and with a message glued to theirs.
    """
    names: set[bytes] = set()
    position = text.find(before)
    while position >= 0 and len(names) < _MOST_NAMES and (match := _unknown(before, names).search(text, position)):
        names.add(match.group(1))
        position = match.end()
    sockets = {SOCKET} if position >= 0 and before + SOCKET.encode() in text else set()
    return {name.decode(errors="replace").strip() for name in names} - {""} | sockets


def _unknown(before: bytes, names: set[bytes]) -> re.Pattern[bytes]:
    """Make the expression for a word that is not known yet."""
    known = b"|".join(
        re.escape(name) + (b"" if len(name) == _LONGEST_NAME else rb"(?:[/\s]|$)") for name in sorted(names)
    )
    other = b"(?!" + known + b")" if known else b""
    letters = rb"[^/\n]" if before != _NODES else rb"\d"
    return re.compile(re.escape(before) + other + b"(" + letters + b"{1,%d})" % _LONGEST_NAME)
