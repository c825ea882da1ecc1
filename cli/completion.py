"""`workloadrun completion`: scripts that complete commands, options and names of runs, for shells and for kubectl."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
from click.shell_completion import ShellComplete, get_completion_class

from cli.options import ClusterFlags
from cli.output import print_text

VARIABLE = "_WORKLOADRUN_COMPLETE"
PROGRAM = "workloadrun"
KUBECTL = "kubectl"

KUBECTL_SCRIPT = """\
#!/bin/sh
# Save this as kubectl_complete-workloadrun, executable, on your PATH: kubectl calls it for the plugin.
exec workloadrun completion kubectl -- "$@"
"""
NO_FILES = ":4"  # how kubectl is told that nothing else completes here


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", KUBECTL]))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(shell: str, words: tuple[str, ...]) -> int:
    """Print a script that completes commands, options and names of runs in SHELL.

    bash, zsh: source <(workloadrun completion bash). fish: workloadrun completion fish | source. kubectl: save it as
    kubectl_complete-workloadrun on your PATH, executable.
    """
    if shell == KUBECTL:
        print_text(KUBECTL_SCRIPT if not words else _for_kubectl(words))
        return 0
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - click has these three
    print_text(script(_root(), {}, PROGRAM, VARIABLE).source() + "\n")
    return 0


def complete_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete the name of a run from the cluster; nothing where it cannot be asked quickly."""
    from cli.connection import connect
    from cli.errors import CliError
    from cli.gathering import list_metadata
    from sync_hooks.api.model import API_VERSION

    given = {name: str(ctx.params.get(name) or "") for name in ("namespace", "context", "kubeconfig")}
    with contextlib.suppress(CliError):
        cluster = replace(connect(ClusterFlags(**given)), pauses=())  # nobody waits for a key that long
        names = [item.name for item in list_metadata(cluster, API_VERSION, "WorkloadRun")]
        return [name for name in sorted(names) if name.startswith(incomplete)]
    return []


def _for_kubectl(words: Sequence[str]) -> str:
    """Answer as kubectl wants it: a completion a line with its description, then a directive."""
    completer = ShellComplete(_root(), {}, PROGRAM, VARIABLE)
    found = completer.get_completions(list(words[:-1]), words[-1])
    lines = [f"{one.value}\t{one.help}" if one.help else str(one.value) for one in found]
    return "".join(f"{line}\n" for line in (*lines, NO_FILES))


def _root() -> Any:
    from cli.main import cli

    return cli
