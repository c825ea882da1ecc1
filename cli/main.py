"""The command line's entry: finds a command's module, runs it, and turns every error into one line and an exit code.

Nothing that goes wrong ends with a traceback or with 1, which means that a run failed.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TextIO

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins costs more than a validation

import click

from cli.errors import EXIT_CANNOT, CliError, one_line
from cli.exits import INTERRUPTED, READER_GONE
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


class _ReaderGone(Exception):
    """Nobody reads our output any more, as with ``| head``. Of a BrokenPipeError click makes an exit code of 1."""


@contextmanager
def _noticing_who_reads() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGone from error


class _Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def make_context(self, *words: Any, **named: Any) -> click.Context:
        """Read the words; that may already print help."""
        with _noticing_who_reads():
            return super().make_context(*words, **named)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _noticing_who_reads():
            return super().invoke(ctx)

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
        code = _call(words)
        sys.stdout.flush()
    except (BrokenPipeError, _ReaderGone):
        _discard_output()
        code = READER_GONE
    except Exception as error:  # the last resort: a fault of ours must not read as a failed run
        _discard_output()
        print_note(f"error: {_what_went_wrong(error)}")
        code = EXIT_CANNOT
    sys.exit(code)


def _call(words: Sequence[str]) -> int:
    """Run a command; raises what is neither foreseen nor an error of its user, and what output cannot take."""
    try:
        _open_missing_streams()
        return cli.main(words, prog_name="workloadrun", standalone_mode=False) or 0
    except CliError as error:
        return _fail(str(error), words)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        for line in error.format_message().splitlines():
            print_note(line)
        return EXIT_CANNOT
    except click.ClickException as error:
        return _fail(" ".join(error.format_message().split()), words)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, _ReaderGone) or _is_about_output(error):
            raise
        return _fail(_what_went_wrong(error), words)


def _open_missing_streams() -> None:
    """Go on without a standard error, as with ``2>&-``; without a standard output nothing is worth doing."""
    if sys.stderr is None:
        sys.stderr = _nothing()
    if sys.stdout is None:
        sys.stdout = _nothing()
        print_note("error: standard output is closed; > /dev/null throws the result away")
        raise click.exceptions.Exit(EXIT_CANNOT)


def _nothing() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _is_about_output(error: Exception) -> bool:
    """Tell errors of writing to a stream, which have no file's name, from those of files."""
    return isinstance(error, OSError) and error.filename is None and error.errno in OUTPUT_ERRORS


OUTPUT_ERRORS = frozenset({errno.EAGAIN, errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE})
"""What a full disk, a terminal that has gone and the like say."""


def _what_went_wrong(error: Exception) -> str:
    """Say it in one line; the details are for whoever mends it."""
    if _is_about_output(error):
        return f"the result cannot be written: {error.strerror if isinstance(error, OSError) else error}"
    if os.environ.get(DEBUG) == "1":
        from traceback import format_exception

        for line in "".join(format_exception(error)).splitlines():
            print_note(line)
    told = one_line(error)
    what = f"{type(error).__name__}{f': {told}' if told else ''}"
    return f"this is a fault of workloadrun: {what}; set {DEBUG}=1 for the details"


DEBUG = "WORKLOADRUN_DEBUG"


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


def _discard_output() -> None:
    """Throw away what standard output cannot take, or the end of the process would try it once more."""
    with suppress(OSError):  # a stream of a test's own has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
