"""`make e2e`: say what is missing, install and make it, then run the tests of this folder in a sandbox.

Usage: python -m tests.e2e [PYTEST ARGUMENTS]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cluster import build
from tests.e2e import images, packages, sandbox

HERE = Path(__file__).parent


def main(arguments: Sequence[str]) -> int:
    """Prepare and run; return pytest's exit code, 1 where real nodes cannot be had."""
    try:
        packages.require_machine()
        packages.ensure()
        build.ensure(["test", "node"])
        images.ensure()
    except (packages.CannotRun, build.ToolsMissing) as error:
        print(f"make e2e: {error}", file=sys.stderr)
        return 1
    options = ["-o", f"cache_dir={build.cache_folder()}/pytest", "--numprocesses=0"]
    command = [sys.executable, "-m", "pytest", *options, *(arguments or [str(HERE)])]
    return sandbox.run(command, os.environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
