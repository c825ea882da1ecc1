"""Write the chart's README from the comments of its values: one row a value, in their order. Invents no sentence.

Usage: chart_readme.py            write it
       chart_readme.py --verify   write nothing; fail where it is not up to date, or a value has no comment
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[1] / "charts" / "workloadrun"
LONGEST_DEFAULT = 60  # characters; longer ones are read in values.yaml
KEY = re.compile(r"( *)([A-Za-z][A-Za-z0-9]*):")

INTRODUCTION = """\
# Chart `workloadrun`

<!-- Made by tools/chart_readme.py; change values.yaml, not this page. -->

{description}: admission, the hooks for Metacontroller, the CompositeControllers, the CustomResourceDefinitions.

    helm install workloadrun charts/workloadrun --namespace workloadrun --create-namespace \\
      --set image.repository=registry.example.com/gpu/workloadrun --set image.tag={version}

Kubernetes {kubernetes}, Metacontroller 4.16 or newer, Kubeflow Trainer 2.2 or 2.3. The whole story, with upgrades,
Argo CD, certificates and what to do when something hangs: [docs/installation.md](../../docs/installation.md).

## Values

| value | default | meaning |
| --- | --- | --- |
"""


class Undocumented(Exception):
    """A value has no comment."""


def readme() -> str:
    """Return the page. Raises Undocumented."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    values = (CHART / "values.yaml").read_text("utf-8")
    head = INTRODUCTION.format(
        description=chart["description"],
        version=chart["appVersion"],
        kubernetes=chart["kubeVersion"].removeprefix(">=").removesuffix(".0-0") + " or newer",
    )
    return head + "".join(rows(values))


def rows(text: str) -> Iterator[str]:
    """Yield a row for every value of a values file that has a comment above it; each has, or stands below one."""
    values = yaml.safe_load(text)
    documented: list[str] = []
    for path, comment in commented(text):
        if any(path.startswith(f"{above}.") for above in documented):
            continue
        value = _value(values, path)
        if comment:
            documented.append(path)
            yield f"| `{path}` | {_default(value)} | {comment} |\n"
        elif not isinstance(value, dict) or not value:
            raise Undocumented(f"values.yaml: {path} has no comment")


def commented(text: str) -> Iterator[tuple[str, str]]:
    """Yield every key of the maps in a YAML text by its path, with the comment lines right above it as one."""
    open_keys: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            comment.append(line.strip().lstrip("# "))
            continue
        if match := KEY.match(line):
            depth = len(match[1])
            open_keys = [(level, key) for level, key in open_keys if level < depth] + [(depth, match[2])]
            yield ".".join(key for _, key in open_keys), " ".join(comment)
        comment = []


def _value(values: Mapping[str, Any], path: str) -> Any:
    for key in path.split("."):
        values = values[key]
    return values


def _default(value: Any) -> str:
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= LONGEST_DEFAULT else "see values.yaml"


def main(arguments: list[str]) -> int:
    """Write or verify; return the exit code."""
    page = CHART / "README.md"
    if arguments not in ([], ["--verify"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        wanted = readme()
    except Undocumented as error:
        print(error, file=sys.stderr)
        return 1
    if arguments and (not page.is_file() or page.read_text("utf-8") != wanted):
        print("stale: charts/workloadrun/README.md", file=sys.stderr)
        return 1
    if not arguments:
        page.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
