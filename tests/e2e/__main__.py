"""`make e2e`: say what is missing, install and make it, then run the tests of real nodes and of a browser in a sandbox.

Usage: python -m tests.e2e [PYTEST ARGUMENTS]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cluster import build
from tests.e2e import images, packages, product_image, sandbox
from tests.e2e.dockerfile import NotUnderstood

TESTS = Path(__file__).parents[1]
EVERYTHING = (str(TESTS / "e2e"), str(TESTS / "cli" / "test_report_browser.py"))


def main(arguments: Sequence[str]) -> int:
    """Prepare and run; return pytest's exit code, 1 where real nodes cannot be had."""
    try:
        packages.require_machine()
        packages.ensure()
        build.ensure(["test", "node", "chart", "claim"])
        images.ensure()
        product_image.ensure()
    except (packages.CannotRun, build.ToolsMissing, NotUnderstood) as error:
        print(f"make e2e: {error}", file=sys.stderr)
        return 1
    options = ["-o", f"cache_dir={build.cache_folder()}/pytest", "--numprocesses=0"]
    command = [sys.executable, "-m", "pytest", *options, *(arguments or EVERYTHING)]
    return sandbox.run(command, os.environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
