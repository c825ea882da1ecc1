"""The command line's entry: finds a command's module, runs it, and turns every error into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import NoReturn

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins costs more than a validation

import click

from cli.errors import EXIT_CANNOT, CliError
from cli.output import print_json, print_note

COMMANDS = {
    "cancel": ("cli.cancel", "Delete runs and all that belongs to them."),
    "completion": ("cli.completion", "Print a script that completes commands and names of runs."),
    "explain": ("cli.explain", "Say what a field means."),
    "init": ("cli.init", "Print a commented manifest to start from."),
    "render": ("cli.render", "Print every object that a run would create."),
    "report": ("cli.report", "Print what a run found."),
    "run": ("cli.run", "Create a run, and wait for its verdict with --wait."),
    "simulate": ("cli.simulate", "Play a whole run in memory, under virtual time."),
    "status": ("cli.status", "Print where a run stands."),
    "validate": ("cli.validate", "Say what admission would say, without a cluster."),
}
"""Commands, each with its module and its line of help. A module is imported only if its command is called."""


class _Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Name the commands that there are."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import a command; None for a name that is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="workloadrun", prog_name="workloadrun")
def cli() -> None:
    """Find out, before production work starts, which GPU nodes of a cluster are fit for it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and end the process: with the command's own exit code, or 2 where it cannot be done at all."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(words, prog_name="workloadrun", standalone_mode=False)
    except CliError as error:
        code = _fail(str(error), words)
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.ClickException as error:
        code = _fail(error.format_message(), words)
    except (click.Abort, KeyboardInterrupt):
        code = 130  # as a shell reports SIGINT
    except BrokenPipeError:
        code = _closed_pipe()
    sys.exit(code or 0)


def _fail(message: str, words: Sequence[str]) -> int:
    print_note(f"error: {message}")
    if _wants_json(words):
        print_json({"error": {"message": message}})
    return EXIT_CANNOT


def _wants_json(words: Sequence[str]) -> bool:
    """Tell whether JSON was asked for, also where the words are not understood as a whole."""
    pairs = pairwise(words)
    return (
        ("-ojson" in words)
        or ("--output=json" in words)
        or any(p in (("-o", "json"), ("--output", "json")) for p in pairs)
    )


def _closed_pipe() -> int:
    """End quietly when the reader of our output has gone, as with ``| head``."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141  # as a shell reports SIGPIPE


if __name__ == "__main__":
    main()
