"""`make kind`: a cluster in containers with Metacontroller, Trainer and the product on it, and a run that passes.

Usage: python -m tools.kind up [--dry-run] | down [--dry-run]

Needs Docker, kind, kubectl and helm on PATH, and the network: it is no part of the tests. The cluster stays for you to
look at; what fails stops it where it is, and `up` again goes on from a fresh cluster after `down`.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence

from . import steps
from .steps import Step

DRY = "--dry-run"


def main(arguments: Sequence[str]) -> int:
    """Run the commands, or print them; 1 where one is missing or fails, 2 for wrong usage."""
    words = [word for word in arguments if word != DRY]
    known = {"up": steps.up, "down": steps.down}
    if len(words) != 1 or words[0] not in known:
        print(__doc__, file=sys.stderr)
        return 2
    wanted = known[words[0]]()
    if DRY in arguments:
        print("\n".join(f"# {step.why}\n{shlex.join(step.words)}" for step in wanted))
        return 0
    return _run(wanted)


def _run(wanted: Sequence[Step]) -> int:
    missing = [name for name in steps.PROGRAMS if not shutil.which(name)]
    if missing:
        print(f"make kind: not on PATH: {', '.join(missing)}", file=sys.stderr)
        return 1
    for step in wanted:
        print(f"== {step.why}\n   {shlex.join(step.words)}", flush=True)
        done = subprocess.run(step.words, cwd=steps.ROOT, check=False)
        if done.returncode:
            print(f"make kind: this failed: {shlex.join(step.words)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
