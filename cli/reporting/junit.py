"""The report as JUnit XML, for CI: a suite an iteration with a test a group, a suite of the run itself, one of nodes.

Only Passed is green: an incomplete run and one that has not ended are errors of the run's own test, excluded nodes are
skipped ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from xml.etree import ElementTree

from cli.group_view import GroupView
from cli.node_view import EXCLUDED, FAILED, INCONCLUSIVE, UNKNOWN, NodeView
from cli.output import printable
from cli.reporting import wording
from cli.run_view import RunView

MOST_LOG_LINES = 50
UNKNOWN_TIME = "1970-01-01T00:00:00Z"
BAD_NODES = (FAILED, INCONCLUSIVE, UNKNOWN, EXCLUDED)

Element = ElementTree.Element


def junit(run: RunView, now: datetime) -> str:
    """Write the XML document; ``now`` is the end of groups that still run."""
    name = f"{run.namespace}/{run.name}"
    suites = [("run", [_verdict(run, name)], _run_output(run, now))]
    for iteration in sorted({group.key.iteration for group in run.groups}):
        groups = [group for group in run.groups if group.key.iteration == iteration and not group.superseded]
        cases = [_group(group, name, now) for group in groups]
        suites.append((f"iteration {iteration}", cases, [line for group in groups for line in _group_output(group)]))
    bad = [node for node in run.nodes if node.state in BAD_NODES]
    if bad:
        suites.append(("nodes", [_node(node, name) for node in bad], [f"{len(run.nodes)} nodes were targeted"]))
    root = Element("testsuites")
    for number, (title, cases, output) in enumerate(suites):
        root.append(_suite(number, title, name, cases, output, run.created))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(number: int, title: str, package: str, cases: list[Element], output: list[str], created: str) -> Element:
    """Write a suite in the strictest of the forms that readers of JUnit know: everything it may have is there."""
    counted = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    attributes = {
        "name": title,
        "package": _clean(package),
        "id": str(number),
        "hostname": "localhost",  # what the form asks for where it is no host that runs tests
        "timestamp": (created or UNKNOWN_TIME).removesuffix("Z"),  # it takes no zone
        **{key: str(count) for key, count in counted.items()},
        "time": f"{sum(float(case.get('time', '0')) for case in cases):.3f}",
    }
    suite = Element("testsuite", attributes)
    ElementTree.SubElement(suite, "properties")
    suite.extend(cases)
    ElementTree.SubElement(suite, "system-out").text = _clean("\n".join(output))
    ElementTree.SubElement(suite, "system-err")
    return suite


def _case(name: str, parent: str, seconds: float) -> Element:
    return Element("testcase", {"name": _clean(name), "classname": _clean(parent), "time": f"{seconds:.3f}"})


def _verdict(run: RunView, name: str) -> Element:
    case = _case("verdict", name, 0)
    reasons = "\n".join(run.status.get("verdictReasons") or ())
    if run.verdict == "Failed":
        _add(case, "failure", "Failed", reasons.partition("\n")[0] or "the run failed", reasons)
    elif run.verdict != "Passed":
        word = wording.verdict_of(run)
        _add(case, "error", word, f"the run is {word}", reasons or "\n".join(wording.facts(run.status)))
    return case


def _run_output(run: RunView, now: datetime) -> list[str]:
    unknown = [f"not known: {note}" for note in run.notes]
    found = wording.results(run.status.get("results") or {})
    remarks = (run.status.get("verdictReasons") or ()) if run.verdict == "Passed" else ()
    return [f"written {now:%Y-%m-%dT%H:%M:%SZ}", *remarks, *wording.facts(run.status), *found, *unknown]


def _group(group: GroupView, name: str, now: datetime) -> Element:
    seconds = wording.seconds_of(group, now) or 0.0
    case = _case(f"{group.label} ({wording.span(group.nodes)})", name, seconds)
    if group.state in ("Failed", "ValidationFailed"):
        _add(case, "failure", group.reason or group.state, group.detail, _log(group))
    elif group.state != "Succeeded":
        _add(case, "skipped", group.reason or group.state, group.detail or f"the group is {group.state}")
    return case


def _group_output(group: GroupView) -> Iterator[str]:
    figures = [f"{wording.LABELS.get(key, key)}: {value:g}" for key, value in sorted(group.figures.items())]
    unmeasured = [f"not measured: {text}" for text in group.unmeasured]
    yield f"{group.label}: {', '.join([group.state, *figures, *unmeasured])}; nodes {', '.join(group.nodes)}"


def _node(node: NodeView, name: str) -> Element:
    case = _case(f"node {node.name}", name, 0)
    kind = "failure" if node.state == FAILED else "skipped"
    _add(case, kind, node.reason or node.state, node.message)
    return case


def _log(group: GroupView) -> str:
    if group.log is None:
        return ""
    tail = "\n".join(group.log.tail.splitlines()[-MOST_LOG_LINES:])
    return f"pod {group.log.pod_name} on node {group.log.node_name}: {group.log.reason}\n{tail}"


def _add(case: Element, kind: str, type_: str, message: str, text: str = "") -> None:
    attributes = {"message": _clean(message)} | ({"type": _clean(type_)} if kind != "skipped" else {})
    found = ElementTree.SubElement(case, kind, attributes)
    found.text = _clean(text) or None


def _clean(text: str) -> str:
    """Show what XML has no character for; lines stay lines."""
    return "\n".join(printable(line) for line in text.split("\n"))
