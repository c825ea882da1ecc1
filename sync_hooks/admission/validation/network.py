"""Variables that hide which network NCCL uses: a platform with a fabric has no Passed without its word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from sync_hooks.admission.validation.measurements import spans_nodes
from sync_hooks.admission.value import Value

_TELLING_LEVELS = frozenset({"INFO", "ABORT", "TRACE"})  # INFO and what NCCL counts above it
_TELLING_PARTS = frozenset({"INIT", "NET"})  # either prints the network that is chosen, and the channels through it
_OWN_OUTPUT = ("/dev/stdout", "/dev/stderr")
_FORWARD = "-x"


def network_advice(spec: Value) -> Iterator[str]:
    """Point at what keeps NCCL's word of its network out of the log of a bandwidth test between nodes."""
    if not spans_nodes(spec) or spec.field("mlnxPerNode").number == 0:
        return
    for place, name, text in _variables(spec):
        hides = _HIDING.get(name)
        if hides is not None and hides(text):
            yield f"{place}: {_HIDDEN[name]}: where there is a fabric the run will be Incomplete"


def _variables(spec: Value) -> Iterator[tuple[Value, str, str]]:
    """Go through the variables that a run sets with a value: its own, those for mpirun, those of overrides."""
    for variable in spec.field("env").elements():
        if not variable.field("valueFrom").present:
            yield variable, variable.field("name").text, variable.field("value").text
    for override in spec.field("overrides").elements():
        template = override.field("jobTemplate")
        for variable in template.field("spec", "workload", "trainJob", "trainer", "env").elements():
            if variable.field("value").present:
                yield template, variable.field("name").text, variable.field("value").text
    for option, operand in pairwise(spec.field("framework", "mpi", "mpiArgs").elements()):
        name, given, text = operand.text.partition("=")
        if option.text == _FORWARD and given:
            yield operand, name, text


def _hides_level(level: str) -> bool:
    return level.upper() not in _TELLING_LEVELS


def _hides_parts(parts: str) -> bool:
    """Tell whether a list of parts has none that tells; behind a ^ it lists what is left out."""
    named = frozenset(parts.upper().removeprefix("^").split(","))
    if parts.startswith("^"):
        return "ALL" in named or named >= _TELLING_PARTS
    return not named & {"ALL", *_TELLING_PARTS}


def _hides_file(path: str) -> bool:
    return path not in ("", *_OWN_OUTPUT)


_HIDING: Mapping[str, Callable[[str], bool]] = {
    "NCCL_DEBUG": _hides_level,
    "NCCL_DEBUG_FILE": _hides_file,
    "NCCL_DEBUG_SUBSYS": _hides_parts,
}
_HIDDEN = {
    "NCCL_DEBUG": "NCCL names its network from INFO on",
    "NCCL_DEBUG_FILE": "NCCL names its network in this file, not in the log",
    "NCCL_DEBUG_SUBSYS": "NCCL names its network under INIT and NET",
}
