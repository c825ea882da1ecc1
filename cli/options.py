"""Options that several commands share, named and spelt as in kubectl. Connects to nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from cli.errors import CliError
from cli.manifests import STDIN
from sync_hooks.api.duration import parse_duration

Command = TypeVar("Command", bound=Callable[..., Any])

NODES_HELP = "File of Node objects, - is stdin; or PLATFORM/ARCHxN (aws/h100x8)."

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class ClusterFlags:
    """Which cluster and namespace a command is about; empty values mean what the kubeconfig says."""

    namespace: str = ""
    context: str = ""
    kubeconfig: str = ""

    @property
    def words(self) -> str:
        """The same flags to type again, each with a space before it."""
        given = (("-n", self.namespace), ("--context", self.context), ("--kubeconfig", self.kubeconfig))
        return "".join(f" {flag} {value}" for flag, value in given if value)

    def check_namespace(self) -> None:
        """Make sure that the namespace has a name that a namespace can have. Raises CliError."""
        if self.namespace and not _NAMESPACE.fullmatch(self.namespace):
            raise CliError(f"--namespace: {self.namespace!r} is no name of a namespace")


def cluster_options(command: Command) -> Command:
    """Add -n, --context and --kubeconfig; the command takes them as ``**flags`` and makes `ClusterFlags` of them."""
    for option in reversed(_CLUSTER):
        command = option(command)
    return command


_CLUSTER = (
    click.option("-n", "--namespace", metavar="NAME", default="", help="Namespace of the run."),
    click.option("--context", metavar="NAME", default="", help="Context of the kubeconfig to use."),
    click.option("--kubeconfig", metavar="FILE", default="", help="Kubeconfig to use (also: KUBECONFIG)."),
)


def file_argument(command: Command) -> Command:
    """Add FILE and, as in kubectl, -f: `chosen_file` tells which of the two was given."""
    option = click.option("-f", "--filename", metavar="FILE", default="", help="The same as FILE.")
    return click.argument("file", metavar="FILE", required=False)(option(command))


def chosen_file(file: str | None, filename: str) -> str:
    """Return the file that was given one way or the other. Raises click's usage error for none and for both."""
    if bool(file) == bool(filename):
        raise click.UsageError("give one FILE; - is stdin")
    return file or filename


def check_stdin(**given: str | None) -> None:
    """Make sure that at most one option or argument is standard input. Raises click's usage error."""
    names = [name for name, value in given.items() if value == STDIN]
    if len(names) > 1:
        raise click.UsageError(f"{' and '.join(names)} cannot both be {STDIN}, which is stdin")


def output_option(*forms: str) -> Callable[[Command], Command]:
    """Add -o with these forms, the first one the default."""
    return click.option("-o", "--output", type=click.Choice(forms), default=forms[0], help="How to print.")


def color_option(command: Command) -> Command:
    """Add --no-color."""
    option = click.option("--no-color", is_flag=True, help="Print without colours (also: NO_COLOR).")
    return option(command)


def seconds_of(option: str, text: str) -> float:
    """Read a duration given on the command line. Raises CliError, naming the option."""
    seconds = parse_duration(text)
    if seconds is None or seconds < 0:
        raise CliError(f"{option}: {text!r} is no duration such as 90s or 48h")
    return seconds
