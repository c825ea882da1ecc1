"""Exactly one way to start the workload, completely given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, required
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.framework import Framework

FRAMEWORKS = tuple(sorted(Framework.model_fields))
OURS = frozenset(
    {"-n", "-np", "-N", "--n", "--np", "-npernode", "--npernode", "-hostfile", "--hostfile", "-machinefile"}
)
"""Options that the launcher sets itself: ranks a node and the list of hosts."""

OPERANDS = {
    **dict.fromkeys(OURS, 1),
    **dict.fromkeys(("-x", "-H", "-host", "--host", "-wdir", "--wdir", "-prefix", "--prefix"), 1),
    **dict.fromkeys(("-map-by", "--map-by", "-bind-to", "--bind-to", "-rank-by", "--rank-by"), 1),
    **dict.fromkeys(("-mca", "--mca"), 2),
}
"""How many words belong to an option of mpirun."""

UNSEEN_RESTARTS = "ranks that torchrun restarts hide the fault: a node that fails may pass"
"""Said of restarts inside a pod: what is to be found out here is which node fails."""

_TORCHRUN = re.compile(r"\btorchrun\b|\btorch\.distributed\b")
_RESTARTS = re.compile(r"--max[-_]restarts\b(?![= ]0\b)")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def framework_errors(spec: Value) -> Iterator[FieldError]:
    """Check that one framework is chosen, and that torch has one thing to run."""
    framework = spec.field("framework")
    chosen = [name for name in FRAMEWORKS if framework.fields.get(name) is not None]
    if len(chosen) > 1:
        yield invalid(framework, f"exactly one of {_listed(FRAMEWORKS)} may be given, not {_listed(chosen)}")
    elif not chosen and framework.json == {}:
        yield required(framework, f"exactly one of {_listed(FRAMEWORKS)} must be given")
    if "torch" in chosen:
        yield from _torch_errors(framework.field("torch"))
    if "mpi" in chosen:
        yield from _operand_errors(list(framework.field("mpi", "mpiArgs").elements()))
    if "exec" in chosen:
        yield from _command_errors(framework.field("exec", "command"))


def _torch_errors(torch: Value) -> Iterator[FieldError]:
    script, module = torch.field("script"), torch.field("module")
    if script.present and module.present:
        yield invalid(torch, "exactly one of script and module may be given, not both")
    elif isinstance(torch.json, dict) and "script" not in torch.json and "module" not in torch.json:
        yield required(torch, "script or module must be given")
    if module.text and not _MODULE.fullmatch(module.text):
        yield invalid(module, "must be the name of a Python module, such as package.train; a file belongs into script")


def _operand_errors(words: list[Value]) -> Iterator[FieldError]:
    """Check that the last option does not take the program's own name for a word of its own."""
    number = 0
    while number < len(words):
        needed = OPERANDS.get(words[number].text, 0)
        if number + needed >= len(words):
            yield invalid(
                words[number], f"must be followed by {needed} more: it would take the program for one of them"
            )
        number += 1 + needed


def _command_errors(command: Value) -> Iterator[FieldError]:
    for index, word in enumerate(command.elements()):
        if index == 0 and word.json == "":
            yield required(word, "must name the program")


def framework_advice(spec: Value) -> Iterator[str]:
    """Point at arguments in a path, at options that the launcher sets, and at restarts that nobody sees."""
    yield from _mpi_advice(spec.field("framework", "mpi"))
    command = spec.field("framework", "exec")
    words = [*command.field("command").elements(), *command.field("args").elements()]
    if words and " " in words[0].text.strip():
        yield f"{words[0]}: is one path, blanks included; each argument is an element of its own"
    if any(_TORCHRUN.search(word.text) for word in words):
        yield from (f"{word}: {UNSEEN_RESTARTS}" for word in words if _RESTARTS.search(word.text))


def _mpi_advice(mpi: Value) -> Iterator[str]:
    for path in (mpi.field("binary"), mpi.field("mpirunPath")):
        if " " in path.text.strip():
            yield f"{path}: is one path, blanks included; arguments belong into args or mpiArgs"
    for argument in mpi.field("mpiArgs").elements():
        if argument.text in OURS:
            yield f"{argument}: {argument.text} is set already, from the group's nodes and GPUs"


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1]))
