"""Write what is made from the sources: CRDs, the chart's LogProfiles, reference pages, the table of official types.

Usage: generate.py [FOLDER]            write every file that differs, below FOLDER (default: this repository)
       generate.py --verify [FOLDER]   write nothing; name the files that are stale, and fail if there are any
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # also runs before the project is installed, and as a module

from cli_reference import FILE as CLI_FILE  # noqa: E402  the path above comes first
from cli_reference import page as cli_page  # noqa: E402
from official import types_yaml  # noqa: E402
from platforms import FILE, page  # noqa: E402
from reference import pages  # noqa: E402

from cli.manifest import yaml_of  # noqa: E402
from sync_hooks.api.crd import MOST_BYTES, crd  # noqa: E402
from sync_hooks.api.kinds import KINDS  # noqa: E402
from sync_hooks.api.model import GROUP  # noqa: E402

HEADER = "# Made by tools/generate.py; change the sources, not this file.\n"
CRDS = "charts/workloadrun/templates/crds"
PROFILES = "charts/workloadrun/profiles"
PROFILE_SOURCES = ROOT / "sync_hooks" / "measurements" / "profiles"
TYPES = "sync_hooks/admission/official/types.yaml"


def main(arguments: list[str]) -> int:
    """Generate or verify; return the exit code."""
    verify, folders = "--verify" in arguments, [word for word in arguments if word != "--verify"]
    if len(folders) > 1 or any(word.startswith("-") for word in folders):
        print(__doc__, file=sys.stderr)
        return 2
    root, wanted = Path(*folders) if folders else ROOT, generated()
    stale = [path for path, text in sorted(wanted.items()) if _content(root / path) != text]
    stale += _leftovers(root, wanted)
    for path in stale:
        if verify:
            print(f"stale: {path}", file=sys.stderr)
        else:
            _write(root / path, wanted.get(path))
            print(f"{'wrote' if path in wanted else 'removed'} {path}")
    return 1 if verify and stale else 0


@cache  # nothing that it is made from changes while this runs
def generated() -> Mapping[str, str]:
    """Return the text of every generated file by path, relative to the repository."""
    files = {f"{CRDS}/{GROUP}_{kind.plural}.yaml": HEADER + yaml_of(crd(kind)) for kind in KINDS}
    for path, text in files.items():
        if len(text.encode()) > MOST_BYTES:
            raise ValueError(f"{path} is larger than {MOST_BYTES} bytes")
        if "{{" in text:
            raise ValueError(f"{path} would be taken for a template")
    for source in sorted(PROFILE_SOURCES.glob("*.yaml")):
        files[f"{PROFILES}/{source.name}"] = HEADER + source.read_text("utf-8")
    files |= {f"docs/reference/{name}": text for name, text in {**pages(), FILE: page()}.items()}
    files[CLI_FILE] = cli_page()
    files[TYPES] = HEADER + types_yaml()
    return files


def _content(file: Path) -> str | None:
    return file.read_text("utf-8") if file.is_file() else None


def _leftovers(root: Path, wanted: Mapping[str, str]) -> list[str]:
    """Find CRDs of kinds and copies of LogProfiles that are no more."""
    files = (file for folder in (CRDS, PROFILES) for file in sorted((root / folder).glob("*.yaml")))
    found = (str(file.relative_to(root)) for file in files)
    return [path for path in found if path not in wanted]


def _write(file: Path, text: str | None) -> None:
    if text is None:
        file.unlink()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
