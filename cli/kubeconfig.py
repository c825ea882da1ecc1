"""Finds kubeconfig, context and namespace as kubectl does. Connects to nothing."""

from __future__ import annotations

import atexit
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from cli.errors import CliError, one_line

DEFAULT_KUBECONFIG = "~/.kube/config"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE = "default"
MOST_BYTES = 64 << 20  # of a pipe


def find_kubeconfig(given: str) -> str:
    """Return the file or files to read; empty where only the pod's service account is left. Raises CliError."""
    if given:
        if not _is_readable(given):
            raise CliError(f"--kubeconfig: {given}: no such file")
        return _kept(given)
    listed = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        known = [part for part in listed if _is_readable(part)]
        if not known:
            raise CliError(f"no cluster: KUBECONFIG names {', '.join(listed)}: no such file")
        return os.pathsep.join(_kept(part) for part in known)
    return _kept(DEFAULT_KUBECONFIG) if _is_readable(DEFAULT_KUBECONFIG) else ""


def _is_readable(path: str) -> bool:
    """Tell whether there is a file, or a pipe as of ``<(...)``."""
    there = Path(path).expanduser()
    return there.exists() and not there.is_dir()


def _kept(path: str) -> str:
    """Return a file that can be read again and again: what comes through a pipe is kept until the process ends."""
    there = Path(path).expanduser()
    if there.is_file():
        return str(there)
    try:
        with there.open("rb") as stream:
            content = stream.read(MOST_BYTES)
        number, copy = tempfile.mkstemp(prefix="workloadrun-")  # nobody else may read it
        atexit.register(Path(copy).unlink, missing_ok=True)
        with open(number, "wb") as file:  # noqa: PTH123  it has a number, no path
            file.write(content)
    except OSError as error:
        raise CliError(f"no cluster: {path}: {one_line(error)}") from error
    _NAMES[copy] = path
    return copy


def named(file: str) -> str:
    """Name files as their user does: a pipe, not the copy of what came through it."""
    return os.pathsep.join(_NAMES.get(part, part) for part in file.split(os.pathsep))


_NAMES: dict[str, str] = {}
"""Copies of what came through pipes, each with the pipe's own name."""


def own_namespace(file: str, context: str) -> str:
    """Return the namespace of the context, or of the pod that this runs in. Raises CliError."""
    if not file:
        try:
            return (SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip() or DEFAULT_NAMESPACE
        except OSError:
            return DEFAULT_NAMESPACE
    from kubernetes import config

    try:
        read_contexts: Any = config.list_kube_config_contexts  # untyped in the client
        contexts, active = read_contexts(config_file=file)
    except Exception as error:  # whatever the client makes of a file that is none
        raise CliError(f"no cluster: {named(file)}: {one_line(error)}") from error
    names = [item["name"] for item in contexts]
    if context and context not in names:
        raise CliError(f"--context: {context!r} is not in {named(file)}; it has {', '.join(names) or 'none'}")
    chosen = next((item for item in contexts if item["name"] == context), active)
    return str(chosen["context"].get("namespace") or DEFAULT_NAMESPACE)


def check_kubeconfig(file: str, context: str) -> None:
    """Make sure that files are kubeconfigs and that the server of the context has an address. Raises CliError.

    The client tells neither in words that help; what it tells well is left to it.
    """
    documents = [_document(path) for path in file.split(os.pathsep)]
    chosen = context or next((one["current-context"] for one in documents if one.get("current-context")), "")
    server = _named(documents, "clusters", _named(documents, "contexts", chosen).get("cluster")).get("server")
    if server is not None and not _is_address(server):
        raise CliError(f"no cluster: {named(file)}: {server!r} is no address of a server such as https://10.0.0.1:6443")


PARTS = {"clusters": "cluster", "contexts": "context", "users": "user"}
"""The lists of a kubeconfig, and where each entry has its contents."""


def _document(path: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(Path(path).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise CliError(f"no cluster: {named(path)}: {one_line(error)}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise CliError(f"no cluster: {named(path)}: is no kubeconfig")
    for key, own in PARTS.items():
        if not _is_list_of(document.get(key) or [], own):
            wanted = f"must be a list of entries with name and {own}"
            raise CliError(f"no cluster: {named(path)}: is no kubeconfig: {key}: {wanted}")
    return document


def _is_list_of(entries: Any, own: str) -> bool:
    return isinstance(entries, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get(own) or {}, dict)
        for one in entries
    )


def _named(documents: Iterable[dict[str, Any]], key: str, name: object) -> dict[str, Any]:
    """Return the contents of an entry, of the first file that has it; empty where none has."""
    entries = (one for document in documents for one in document.get(key) or () if one["name"] == name)
    found: dict[str, Any] = next(entries, {})
    return found.get(PARTS[key]) or {}


def _is_address(server: object) -> bool:
    if not isinstance(server, str) or any(char.isspace() or not char.isprintable() for char in server):
        return False
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        return False


@contextmanager
def errors_of_client() -> Iterator[list[str]]:
    """Collect what the client only logs: where a plugin has no credentials it goes on without any."""
    said: list[str] = []
    collector = _Collector(said)
    logging.getLogger().addHandler(collector)
    try:
        yield said
    finally:
        logging.getLogger().removeHandler(collector)


class _Collector(logging.Handler):
    """Keeps the errors in a list."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one, in one line."""
        self._said.append(" ".join(record.getMessage().split()))
