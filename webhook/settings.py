"""Settings of the server, from its environment and nowhere else. What is wrong with them is one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ADMISSION = "admission"
HOOKS = "hooks"
ROLES = (ADMISSION, HOOKS)

ROLE = "WORKLOADRUN_ROLE"
PORT = "WORKLOADRUN_PORT"
HEALTH_PORT = "WORKLOADRUN_HEALTH_PORT"
TLS_DIR = "WORKLOADRUN_TLS_DIR"
TOKEN_FILE = "WORKLOADRUN_TOKEN_FILE"  # noqa: S105  the name of a variable, no secret
KUBECONFIG = "KUBECONFIG"

DEFAULT_PORT = 8443
DEFAULT_HEALTH_PORT = 8080
LARGEST_PORT = 65535


class SettingsError(Exception):
    """What is wrong with the environment, as one line for whoever starts the server."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one process serves. Port 0 lets the system choose, for tests."""

    role: str
    port: int = DEFAULT_PORT
    health_port: int = DEFAULT_HEALTH_PORT
    tls_dir: Path | None = None
    """Folder with tls.crt and tls.key; unset serves without TLS, which the environment cannot ask for."""
    token_file: Path | None = None
    """File of bearer tokens, one a line; unset lets nobody call a hook."""
    kubeconfig: str | None = None
    """Credentials for the cluster; unset means those of the pod."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings. Raises SettingsError."""
    role = environment.get(ROLE, "")
    if role not in ROLES:
        raise SettingsError(f"{ROLE} must be {' or '.join(ROLES)}, not {role!r}")
    tls_dir, token_file = environment.get(TLS_DIR, ""), environment.get(TOKEN_FILE, "")
    if not tls_dir:
        raise SettingsError(f"{TLS_DIR} is not set: it names the folder with tls.crt and tls.key")
    if role == HOOKS and not token_file:
        raise SettingsError(f"{TOKEN_FILE} is not set: hooks are closed to callers without a token")
    port, health_port = _port(environment, PORT, DEFAULT_PORT), _port(environment, HEALTH_PORT, DEFAULT_HEALTH_PORT)
    if port == health_port:
        raise SettingsError(f"{PORT} and {HEALTH_PORT} must differ, both are {port}")
    return Settings(
        role=role,
        port=port,
        health_port=health_port,
        tls_dir=Path(tls_dir),
        token_file=Path(token_file) if token_file else None,
        kubeconfig=environment.get(KUBECONFIG) or None,
    )


def _port(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= LARGEST_PORT):
        raise SettingsError(f"{name} must be a port from 1 to {LARGEST_PORT}, not {text!r}")
    return int(text)
