"""Exit codes, the same for every command and every form of output, so that a pipeline can gate on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.errors import EXIT_CANNOT

DONE = 0
FAILED = 1
INCOMPLETE = 3
NOT_ENDED = 4
INTERRUPTED = 130  # as a shell reports SIGINT
READER_GONE = 141  # as a shell reports SIGPIPE

MEANINGS: Mapping[int, str] = {
    DONE: "The run passed; or the command did what it was asked and no verdict was waited for.",
    FAILED: "The run failed, is refused by admission or its namespace, or cannot be placed on the nodes; or an object "
    "beside it in its file is refused.",
    EXIT_CANNOT: "It cannot be read or done at all: no such file, usage, no cluster, no permission, unknown run, a "
    "result that cannot be written, a fault of workloadrun itself. This beats every other code.",
    INCOMPLETE: "The run ended without a verdict on everything that was asked: nodes left out, nothing measured.",
    NOT_ENDED: "The run is still under way, or time was up.",
    INTERRUPTED: "Interrupted from the keyboard; a run in a cluster goes on.",
    READER_GONE: "Nobody read the output to its end, as with `| head`: nothing is said of the run.",
}
"""What each code means, for the documentation and for ``--help``."""

BY_VERDICT = {"Passed": DONE, "Failed": FAILED, "Incomplete": INCOMPLETE}


def exit_of(status: Mapping[str, Any]) -> int:
    """Return the code for a run's status; a verdict that this version does not know is no success."""
    return BY_VERDICT.get(str(status.get("verdict", "")), NOT_ENDED)
