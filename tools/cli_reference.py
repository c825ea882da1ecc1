"""The page of the command line: every command with its options, and what exit codes mean. Invents no sentence."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import click

from cli.exits import MEANINGS
from cli.main import COMMANDS, cli
from cli.reporting.document import KEYS
from cli.reporting.formats import MEANINGS as MEANINGS_OF_FORMS
from cli.simulate import KEYS as KEYS_OF_SIMULATION
from cli.simulator.inventory import known
from cli.simulator.scenario import FIELDS, OUTCOME_MEANINGS

FILE = "docs/cli.md"
NOTICE = "<!-- Made by tools/generate.py; change the commands, not this page. -->\n"
INSTALLING = """\
In a clone, with Python 3.11 or newer: `pipx install .` puts it on the PATH, and `kubectl-workloadrun` with it, so that
`kubectl workloadrun` is the same command. `make setup` makes both in `.venv/bin`, for work on the product itself.
"""
OUTPUT = """\
`-o json` prints one JSON document on stdout and nothing else; where a command cannot do what it was asked it is
`{"error": {"message": ...}}`. Everything that is said beside the result goes to stderr. Colours are for terminals only,
and neither where `NO_COLOR` is set nor with `--no-color`. Control characters in names and logs are shown as escapes.
"""
JSON = """\
A report, of `report`, `run --wait`, `status --wait` and `simulate`, has the keys of the first table; `simulate`
has those of the second too.
"""
OTHERS = """\
Of the other commands, `validate` has `results`, a list with `file`, `document`, `kind`, `name`, `allowed`, `errors`,
`warnings`, `notJudged` and the `object` as it would be stored; `run --dry-run` has `plan`; `run` and `status` have
`workloadRun`; `status` without NAME has `workloadRuns`; `cancel` has `deleted`, and with `--wait` `left`; `render`
prints a `List` of objects. An error of a field has `field`, `type` and `message`; in `error.errors` also `document`,
the number in the file.
"""
NODES = """\
NODES is a file of Node objects, as `kubectl get nodes -o yaml` prints them, `-` for stdin, or PLATFORM/ARCHxN: N
made-up nodes, `gpu-0000` and so on, as they usually are there.

- PLATFORM: {platforms}
- ARCH: {architectures}
"""
SCENARIOS = """\
`simulate --scenario FILE` says what happens to which workloads: YAML with one list, `jobs`. The first rule that matches
a workload counts; what no rule matches succeeds after `--run-time`. A rule that no workload met is told: it may be
misspelt.

```yaml
{example}```
"""
EXAMPLE = Path(__file__).parents[1] / "examples" / "scenarios" / "one-bad-node.yaml"
PLUGIN = """\
A cluster is found as kubectl finds it: `--kubeconfig`, else `KUBECONFIG`, else `~/.kube/config`, else the service
account of the pod.
"""


def page() -> str:
    """Return the text of the page."""
    context = click.Context(cli, info_name="workloadrun")
    parts = [
        f"# The command line\n\n{NOTICE}\n{_text(cli.help)}\n",
        _commands(),
        f"## Installing it\n\n{INSTALLING}",
        f"## Exit codes\n\nThe same for text and every other form.\n\n{_exit_codes()}",
        f"## Output\n\n{OUTPUT}",
        f"## Forms of a report\n\nOf `report`, `simulate`, and `run` and `status` with `--wait`.\n\n{_forms()}",
        f"## JSON\n\n{JSON}\n{_keys()}",
        f"## Nodes\n\n{_nodes()}",
        f"## Scenarios\n\n{SCENARIOS.format(example=EXAMPLE.read_text(encoding='utf-8'))}\n{_scenarios()}",
        f"## Clusters\n\n{PLUGIN}",
        *(_command(name, context) for name in sorted(COMMANDS)),
    ]
    return "\n".join(parts)


def _commands() -> str:
    rows = "".join(f"| [`{name}`](#{name}) | {text} |\n" for name, (_, text) in sorted(COMMANDS.items()))
    return f"| command | does |\n| --- | --- |\n{rows}"


def _exit_codes() -> str:
    rows = "".join(f"| {code} | {text} |\n" for code, text in sorted(MEANINGS.items()))
    return f"| code | meaning |\n| --- | --- |\n{rows}"


def _forms() -> str:
    rows = "".join(f"| `-o {name}` | {_cell(text)} |\n" for name, text in MEANINGS_OF_FORMS.items())
    return f"| form | what it is for |\n| --- | --- |\n{rows}"


def _keys() -> str:
    return f"{_table('key', KEYS)}\n{_table('key of `simulate`', KEYS_OF_SIMULATION)}\n{OTHERS}"


def _nodes() -> str:
    platforms, architectures = (", ".join(f"`{name}`" for name in names) for names in known())
    return NODES.format(platforms=platforms, architectures=architectures)


def _scenarios() -> str:
    return f"{_table('field', FIELDS)}\n{_table('outcome', OUTCOME_MEANINGS)}"


def _table(what: str, meanings: Mapping[str, str]) -> str:
    rows = "".join(f"| `{name}` | {_cell(text)} |\n" for name, text in meanings.items())
    return f"| {what} | meaning |\n| --- | --- |\n{rows}"


def _command(name: str, parent: click.Context) -> str:
    command: click.Command = import_module(COMMANDS[name][0]).command
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(["workloadrun", name, *command.collect_usage_pieces(context)])
    options = "".join(_options(command, context))
    return f"## {name}\n\n    {usage}\n\n{_text(command.help)}\n\n| option | meaning |\n| --- | --- |\n{options}"


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and parameter.name != "help" and record is not None:
            names, text = record
            yield f"| `{_cell(names)}` | {_cell(text)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _text(text: str | None) -> str:
    return inspect.cleandoc(text or "")
