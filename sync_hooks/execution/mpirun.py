"""Which workers the launcher's log names: only sentences of mpirun count, of its ssh, and of our launcher's own wait.

A program prints names of nodes for all sorts of reasons: its lines are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MOST_SHOWN = 200  # characters of a line in a message

# A sentence starts its line, behind the kubelet's time; mpirun is called prterun since Open MPI 5, mpiexec as well.
SENTENCE = re.compile(
    r"(?:\d{4}-\d\d-\d\dT\S+ )?\s*"
    r"(?:\S*(?:mpirun|mpiexec|orterun|prterun) noticed that"
    r" process rank \d+ with PID \d+ on node (?P<rank>[\w.-]+) exited"
    r"|Remote daemon: \S+ on node (?P<daemon>[\w.-]+)"
    r"|ssh: connect to host (?P<ssh>[\w.-]+) port "
    r"|no answer from host (?P<silent>[\w.-]+)$)"
)


def named_by_mpirun(places: Mapping[str, str], tail: str) -> dict[str, str]:
    """Return the nodes that mpirun names, each with its line; ``places`` tells the node of a host by its name."""
    found: dict[str, str] = {}
    for line in tail.splitlines():
        sentence = SENTENCE.match(line)
        host = next(filter(None, sentence.groups()), "").rstrip(".") if sentence else ""
        node = places.get(host) or places.get(host.split(".")[0])
        if node:
            found.setdefault(node, f"mpirun: {line.strip()[:MOST_SHOWN]}")
    return found
