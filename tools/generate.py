"""Write what is made from the sources: CRDs, the reference pages, the table of official types.

Usage: generate.py            write every file that differs
       generate.py --verify   write nothing; name the files that are stale, and fail if there are any
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]  # also runs before the project is installed

from official import types_yaml  # noqa: E402  the path above comes first
from reference import pages  # noqa: E402

from sync_hooks.api.crd import KINDS, MOST_BYTES, crd  # noqa: E402
from sync_hooks.api.model import GROUP  # noqa: E402

HEADER = "# Made by tools/generate.py; change the sources, not this file.\n"
CRDS = "charts/workloadrun/templates/crds"
TYPES = "sync_hooks/admission/official/types.yaml"


class _Dumper(yaml.SafeDumper):
    """Writes every part where it stands, without anchors."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML's signature
        """Tell that nothing is ever written as an alias."""
        return True


def main(arguments: list[str]) -> int:
    """Generate or verify; return the exit code."""
    if arguments not in ([], ["--verify"]):
        print(__doc__, file=sys.stderr)
        return 2
    wanted = generated()
    stale = [path for path, text in sorted(wanted.items()) if _content(path) != text] + _leftovers(wanted)
    if arguments:
        for path in stale:
            print(f"stale: {path}", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        _write(path, wanted.get(path))
    return 0


def generated() -> Mapping[str, str]:
    """Return the text of every generated file by path, relative to the repository."""
    files = {f"{CRDS}/{GROUP}_{kind.plural}.yaml": HEADER + _crd_yaml(crd(kind)) for kind in KINDS}
    for path, text in files.items():
        if len(text.encode()) > MOST_BYTES:
            raise ValueError(f"{path} is larger than {MOST_BYTES} bytes")
        if "{{" in text:
            raise ValueError(f"{path} would be taken for a template")
    files |= {f"docs/reference/{name}": text for name, text in pages().items()}
    files[TYPES] = HEADER + types_yaml()
    return files


def _crd_yaml(definition: Mapping[str, object]) -> str:
    return yaml.dump(definition, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _content(path: str) -> str | None:
    file = ROOT / path
    return file.read_text("utf-8") if file.is_file() else None


def _leftovers(wanted: Mapping[str, str]) -> list[str]:
    """Find CRDs of kinds that are no more."""
    found = (str(file.relative_to(ROOT)) for file in sorted((ROOT / CRDS).glob("*.yaml")))
    return [path for path in found if path not in wanted]


def _write(path: str, text: str | None) -> None:
    file = ROOT / path
    if text is None:
        file.unlink()
        print(f"removed {path}")
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
