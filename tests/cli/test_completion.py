"""Completion knows commands, options and, from the cluster, names of runs; it never says a word of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.served import simulated

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "exec-command.yaml")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_every_shell(shell: str) -> None:
    called = call("completion", shell)
    assert called.code == 0
    assert "_WORKLOADRUN_COMPLETE" in called.out


def test_the_script_is_one_that_bash_understands() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    done = subprocess.run(
        [bash, "-n"], input=call("completion", "bash").out, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_kubectl_gets_its_script_and_answers_in_its_form() -> None:
    assert call("completion", "kubectl").out.startswith("#!/bin/sh\n")
    lines = call("completion", "kubectl", "--", "re").out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == ["render", "report", ":4"]
    lines = call("completion", "kubectl", "--", "report", "--out").out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == ["--output", ":4"]


def test_names_of_runs_come_from_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with simulated(tmp_path) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
        call("run", EXAMPLE)
        assert call("completion", "kubectl", "--", "status", "exec").out.splitlines() == ["exec-command", ":4"]
        assert call("completion", "kubectl", "--", "status", "other").out.splitlines() == [":4"]


def test_without_a_cluster_it_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    called = call("completion", "kubectl", "--", "status", "")
    assert (called.code, called.out, called.err) == (0, ":4\n", "")
