"""What the launcher's log says of a failure: which workers it names, and whether mpirun could start anything at all.

Only sentences of mpirun count, of its ssh, and of our launcher's own wait: a program prints names of nodes for all
sorts of reasons, and its lines are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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


# What mpirun says before any rank has run: of the run's own program and arguments, on whatever node it noticed. Blanks
# do not reach into the next line: of many empty ones each would be looked at from every one before it.
NOT_LAUNCHED = re.compile(
    r"^(?:\d{4}-\d\d-\d\dT\S+ )?[^\S\n]*"
    r"(?P<sentence>\S*(?:mpirun|mpiexec|orterun|prterun) was unable to find the specified executable file"
    r"|\S*(?:mpirun|mpiexec|orterun|prterun) was unable to launch the specified application as it could not\b"
    r"|There are not enough slots available in the system to satisfy the \d+)",
    re.MULTILINE,
)
# How we start mpirun, be it in a script; see `runtimes.mpi`.
LIMITED = re.compile(r"(?:^|\bexec )timeout \d+ ")

EXECUTABLE = re.compile(r"^(?:\d{4}-\d\d-\d\dT\S+ )?[^\S\n]*(?P<line>Executable:[^\S\n]*\S.*)$", re.MULTILINE)


def not_launched(tail: str) -> str | None:
    """Return mpirun's words where it says that it could not start the program anywhere."""
    found = NOT_LAUNCHED.search(tail)
    if found is None:
        return None
    program = EXECUTABLE.search(tail, found.end())
    named = f"; {' '.join(program['line'].split())[:MOST_SHOWN]}" if program else ""
    return f"{found['sentence']}{named}"


def has_limit(command: Sequence[str]) -> bool:
    """Tell whether a launcher's command and arguments are ours: a time limit of its own around mpirun."""
    return LIMITED.search(" ".join(command)) is not None


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
