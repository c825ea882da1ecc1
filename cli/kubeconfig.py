"""Finds kubeconfig, context and namespace as kubectl does. Connects to nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cli.errors import CliError, one_line

DEFAULT_KUBECONFIG = "~/.kube/config"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE = "default"


def find_kubeconfig(given: str) -> str:
    """Return the file or files to read; empty where only the pod's service account is left. Raises CliError."""
    if given:
        if not Path(given).expanduser().is_file():
            raise CliError(f"--kubeconfig: {given}: no such file")
        return str(Path(given).expanduser())
    listed = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        known = [part for part in listed if Path(part).expanduser().is_file()]
        if not known:
            raise CliError(f"no cluster: KUBECONFIG names {', '.join(listed)}: no such file")
        return os.pathsep.join(known)
    usual = Path(DEFAULT_KUBECONFIG).expanduser()
    return str(usual) if usual.is_file() else ""


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
    except (config.ConfigException, OSError, ValueError, TypeError) as error:
        raise CliError(f"no cluster: {file}: {one_line(error)}") from error
    names = [item["name"] for item in contexts]
    if context and context not in names:
        raise CliError(f"--context: {context!r} is not in {file}; it has {', '.join(names) or 'none'}")
    chosen = next((item for item in contexts if item["name"] == context), active)
    return str(chosen["context"].get("namespace") or DEFAULT_NAMESPACE)
