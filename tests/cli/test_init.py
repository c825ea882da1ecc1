"""init prints manifests that admission takes as they are, and with everything in them that is optional."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from cli.init import FRAMEWORKS, OPTIONAL, manifest
from sync_hooks.admission.admit import admit
from tests.cli.calling import call

FRAMEWORK = pytest.mark.parametrize("framework", sorted(FRAMEWORKS))


@FRAMEWORK
def test_what_is_printed_is_admitted(framework: str, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(call("init", "--framework", framework, "--name", "burn-in").out, "utf-8")
    assert call("validate", str(file)).code == 0
    assert call("run", str(file), "--dry-run", "--nodes", "aws/h100x4").code == 0


@FRAMEWORK
def test_what_is_optional_is_admitted_too(framework: str) -> None:
    required, optional = manifest(framework, "burn-in").split("  # What follows is optional.\n")
    opened = re.sub(r"(?m)^  # ?", "  ", optional)
    run = yaml.safe_load(required + opened)
    assert set(OPTIONAL) <= set(run["spec"])
    assert admit(run).errors == ()


@FRAMEWORK
def test_every_field_has_its_sentence(framework: str) -> None:
    lines = manifest(framework, "burn-in").splitlines()
    for before, line in pairwise(lines):
        if re.match(r"^  \s*[a-zA-Z]+:", line) and "name: burn-in" not in line:
            assert before.lstrip().startswith("#"), line


def test_an_image_that_is_given_is_taken() -> None:
    assert "  image: registry.example/x:1\n" in call("init", "--image", "registry.example/x:1").out


def test_a_name_that_no_run_can_have_is_refused() -> None:
    called = call("init", "--name", "Not_A_Name")
    assert (called.code, called.out) == (2, "")
    assert "lower case letters" in called.err


def test_a_name_that_is_too_long_is_refused_as_such() -> None:
    assert call("init", "--name", "a" * 63).code == 0
    called = call("init", "--name", "a" * 64)
    assert (called.code, "the name of a run has at most 63 characters" in called.err) == (2, True)
