"""What was run, so that others can run it again: workload, targets, requirements, platform rows; secrets left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cli.manifest import yaml_of
from cli.reporting.html.markup import Markup, join, lines, tag
from cli.reporting.html.table import row, table
from cli.run_view import RunView

HIDDEN = "(not shown)"
_SECRET = re.compile(r"secret|token|passw|credential|api_?key|private", re.IGNORECASE)


def setup(run: RunView) -> Markup:
    """Write the section."""
    text = yaml_of(shareable(run.spec), width=110)
    return join(
        _overrides(run),
        tag("h3", "The run's spec"),
        tag("p", "Values that may be secrets, and the contents of configuration files, are not shown.", class_="quiet"),
        tag("pre", lines(text), tabindex="0"),
    )


def shareable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec without what should not be sent on: values of variables that sound secret, contents of files."""
    result = dict(spec)
    if isinstance(spec.get("env"), list):
        result["env"] = [_variable(one) for one in spec["env"]]
    inline = (spec.get("config") or {}).get("inline")
    if isinstance(inline, Mapping):
        result["config"] = {"inline": {name: f"({len(str(text))} characters)" for name, text in inline.items()}}
    return result


def _variable(variable: Any) -> Any:
    if not isinstance(variable, Mapping) or "value" not in variable:
        return variable
    return {**variable, "value": HIDDEN} if _SECRET.search(str(variable.get("name", ""))) else variable


def _overrides(run: RunView) -> Markup | None:
    applied = run.status.get("appliedOverrides") or ()
    if not applied:
        return None
    rows = [
        row(
            str(one.get("source", "")),
            tag("td", str(one.get("when", ""))),
            tag("td", ", ".join(map(str, one.get("changed") or ())) or "nothing"),
        )
        for one in applied
    ]
    title = tag("h3", "Platform rows and overrides that applied")
    return join(title, table(("row or override", "applies to", "changed"), rows))
