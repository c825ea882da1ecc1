"""Streams that are closed, full or read by nobody, and faults of our own: one line, never the code of a failed run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.main import COMMANDS
from tests.cli.calling import call

ROOT = Path(__file__).parents[2]
EXAMPLE = "examples/exec-command.yaml"
SIMULATE = f"simulate {EXAMPLE} --nodes aws/h100x2"
FULL = "No space left on device"


def in_shell(words: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m cli.main {words}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{SIMULATE} > /dev/full", f"error: the result cannot be written: {FULL}\n"),
        (f"{SIMULATE} -o json > /dev/full", f"error: the result cannot be written: {FULL}\n"),
        ("validate nowhere.yaml -o json > /dev/full", "error: nowhere.yaml: No such file or directory\n"),
        ("--help > /dev/full", f"error: the result cannot be written: {FULL}\n"),
        (f"{SIMULATE} >&-", "error: standard output is closed"),
        ("validate - <&-", "error: -: standard input is closed\n"),
        ("validate nowhere.yaml 2>&-", ""),
        ("validate nowhere.yaml 2> /dev/full", ""),
        ("validate nowhere.yaml <&- >&- 2>&-", ""),
    ],
)
def test_what_cannot_be_read_or_written_is_2_and_said_where_it_can_be(words: str, said: str) -> None:
    done = in_shell(words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert said.partition("\n")[0] in done.stderr
    assert bool(said) == bool(done.stderr)


@pytest.mark.parametrize("words", [SIMULATE, "explain spec --recursive", f"validate {EXAMPLE} -o json", "--help"])
def test_a_reader_that_goes_away_is_141_and_nothing_is_said(words: str) -> None:
    done = in_shell(f"{words} | true")
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("redirected", ["2>&-", "2> /dev/full"])
def test_a_result_counts_also_where_notes_cannot_be_written(redirected: str) -> None:
    done = in_shell(f"render {EXAMPLE} --nodes aws/h100x2 -o json {redirected}")
    assert done.returncode == 0
    assert done.stdout.startswith("{")


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_fault_of_our_own_is_2_in_one_line_with_details_on_request(
    monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    monkeypatch.setitem(COMMANDS, "broken", ("cli.no_such_module", "A command whose module is missing."))
    monkeypatch.setenv("WORKLOADRUN_DEBUG", debug)
    called = call("broken", "-o", "json")
    assert called.code == 2
    told = called.document["error"]["message"]
    assert told.startswith("this is a fault of workloadrun: ModuleNotFoundError: No module named 'cli.no_such_module'")
    assert called.err.splitlines()[-1] == f"error: {told}"
    assert ("Traceback" in called.err) == bool(debug)


def test_without_a_command_the_usage_is_printed_as_it_is() -> None:
    called = call()
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("Usage: workloadrun [OPTIONS] COMMAND [ARGS]...\n\n")
    assert "\\n" not in called.err


def test_a_missing_word_is_told_in_one_line() -> None:
    called = call("completion")
    assert called.code == 2
    assert called.err.endswith("Choose from: bash, zsh, fish, kubectl\n")
    assert called.err.count("\n") == 1


@pytest.mark.parametrize("words", ["render", "simulate", "run --dry-run"])
def test_nodes_may_be_on_standard_input(words: str) -> None:
    done = in_shell(f"{words} {EXAMPLE} --nodes - < examples/nodes/aws-h100x8.yaml")
    assert (done.returncode, done.stderr.count("error")) == (0, 0)
    assert in_shell(f"{words} {EXAMPLE} --nodes - <<< 'kind: Pod'").stderr == (
        "error: -: expected Node objects, found kind 'Pod'\n"
    )


@pytest.mark.parametrize("words", ["render", "simulate", "run --dry-run"])
def test_standard_input_is_one_thing(words: str) -> None:
    done = in_shell(f"{words} - --nodes - < {EXAMPLE}")
    assert (done.returncode, done.stderr) == (2, "error: FILE and --nodes cannot both be -, which is stdin\n")


def test_a_scenario_may_be_on_standard_input() -> None:
    words = "simulate examples/nccl-all-reduce-bandwidth.yaml --nodes aws/h100x8 -o nodes --scenario -"
    done = in_shell(f"{words} < examples/scenarios/one-bad-node.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (1, "gpu-0001\n", "")
    assert in_shell(f"{words} < {EXAMPLE}").stderr.startswith("error: -: jobs: Required value")
