"""A kubeconfig that cannot be used is told in one line, before anything is asked of a server that is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.errors import CliError
from cli.kubeconfig import check_kubeconfig
from tests.cli.calling import call
from tests.cli.served import simulated

NOWHERE = "http://127.0.0.1:1"


def kubeconfig(folder: Path, server: Any = NOWHERE, user: Any = None, **parts: Any) -> Path:
    file = folder / "kubeconfig"
    whole = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": user or {}}],
    }
    file.write_text(yaml.safe_dump({**whole, **parts}))
    return file


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
NO_PLUGIN = {"exec": {**EXEC, "command": "/nowhere/plugin"}}
FAILING_PLUGIN = {"exec": {**EXEC, "command": "sh", "args": ["-c", "echo no session >&2; exit 3"]}}
TALKING_PLUGIN = {"exec": {**EXEC, "command": "echo", "args": ["hello"]}}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"clusters": 5}, "is no kubeconfig: clusters: must be a list of entries with name and cluster"),
        ({"contexts": {"lab": {}}}, "is no kubeconfig: contexts: must be a list"),
        ({"users": [5]}, "is no kubeconfig: users: must be a list"),
        ({"clusters": [{"name": "lab", "cluster": "lab"}]}, "is no kubeconfig: clusters: must be a list"),
        ({"server": "foo bar"}, "'foo bar' is no address of a server"),
        ({"server": "https://127.0.0.1:99999"}, "'https://127.0.0.1:99999' is no address of a server"),
        ({"server": "127.0.0.1:6443"}, "'127.0.0.1:6443' is no address of a server"),
        ({"server": 5}, "5 is no address of a server"),
        ({"user": NO_PLUGIN}, "there are no credentials: [Errno 2] No such file or directory: '/nowhere/plugin'"),
        ({"user": FAILING_PLUGIN}, "there are no credentials: exec: process returned 3. no session"),
        ({"user": TALKING_PLUGIN}, "there are no credentials: exec: failed to decode process output"),
        ({"current-context": "moon"}, "moon"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_one_line_and_2(tmp_path: Path, parts: dict[str, Any], said: str) -> None:
    file = kubeconfig(tmp_path, **parts)
    for words in (("status",), ("report", "one"), ("cancel", "one")):
        called = call(*words, "--kubeconfig", str(file))
        assert (called.code, called.out) == (2, "")
        assert called.err.startswith(f"error: no cluster: {file}: ")
        assert said in called.err
        assert called.err.count("\n") == 1


@pytest.mark.parametrize("text", ["[1]", "just text", "a: [", "a: \x00", "{" * 3000])
def test_a_file_that_is_no_kubeconfig_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    called = call("status", "--kubeconfig", str(file))
    assert called.code == 2
    assert called.err.startswith(f"error: no cluster: {file}: ")
    assert called.err.count("\n") == 1


def test_only_the_server_of_the_chosen_context_must_have_an_address(tmp_path: Path) -> None:
    others = {
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("lab", "moon")],
        "clusters": [
            {"name": "lab", "cluster": {"server": "https://[::1]:6443/prefix"}},
            {"name": "moon", "cluster": {"server": "moon"}},
        ],
    }
    file = kubeconfig(tmp_path, **others)
    check_kubeconfig(str(file), "")
    with pytest.raises(CliError, match="'moon' is no address"):
        check_kubeconfig(str(file), "moon")


def test_of_several_files_the_first_that_has_a_name_counts(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    sound, broken = kubeconfig(tmp_path / "one"), kubeconfig(tmp_path / "two", "foo bar")
    check_kubeconfig(f"{sound}:{broken}", "")
    with pytest.raises(CliError, match="'foo bar' is no address"):
        check_kubeconfig(f"{broken}:{sound}", "")


@contextmanager
def piped(content: bytes) -> Iterator[str]:
    """Hand in content as a shell does for ``<(...)``."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as stream:
        stream.write(content)
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


def test_a_kubeconfig_may_come_through_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with simulated(tmp_path) as served:
        content = served.kubeconfig.read_bytes()
        with piped(content) as pipe:
            called = call("status", "--kubeconfig", pipe)
        assert (called.code, called.err) == (0, "there are no runs in namespace default\n")
        with piped(content) as pipe:
            monkeypatch.setenv("KUBECONFIG", f"/nowhere:{pipe}")
            assert call("status").code == 0


def test_a_pipe_is_named_as_it_was_given(tmp_path: Path) -> None:
    broken = kubeconfig(tmp_path, "foo bar").read_bytes()
    for content, said in ((broken, "'foo bar' is no address"), (b"[1]", "is no kubeconfig"), (b"", "")):
        with piped(content) as pipe:
            called = call("status", "--kubeconfig", pipe)
            assert (called.code, called.err.startswith(f"error: no cluster: {pipe}: ")) == (2, True)
            assert said in called.err


@pytest.mark.parametrize("name", ["/nowhere", "."])
def test_what_is_no_file_is_told(name: str) -> None:
    called = call("status", "--kubeconfig", name)
    assert (called.code, called.err) == (2, f"error: --kubeconfig: {name}: no such file\n")
