"""A command and its arguments as one line of shell: to run lines before it, or because a list is limited in length."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

MOST_ITEMS = 128  # of trainer.command and trainer.args: a rule of the TrainJob's schema


def fit(command: Sequence[str], args: Sequence[str], lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return command and args, folded into one script where ``lines`` come first or a list would be too long.

    Each word stands in single quotes, so the shell changes none of them; Kubernetes' own ``$(NAME)`` still works.
    """
    if lines:
        return ["/bin/bash", "-c"], ["\n".join((*lines, _exec_line(command, args)))]
    if max(len(command), len(args)) > MOST_ITEMS:
        return ["sh", "-c"], [_exec_line(command, args)]
    return list(command), list(args)


def _exec_line(command: Sequence[str], args: Sequence[str]) -> str:
    return f"exec {shlex.join((*command, *args))}"
