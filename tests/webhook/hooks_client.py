"""A client of the hooks' application, whose API server does not answer."""

from __future__ import annotations

from pathlib import Path

from flask.testing import FlaskClient

from webhook.app import create_app
from webhook.settings import HOOKS, Settings

TOKEN = "0123456789abcdef0123456789abcdef"
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: nobody, user: {}}]
"""


def client_of_hooks(folder: Path) -> FlaskClient:
    """Return a client of hooks that take `TOKEN`; the folder gets their files."""
    (folder / "token").write_text(TOKEN)
    (folder / "config").write_text(KUBECONFIG)
    settings = Settings(HOOKS, token_file=folder / "token", kubeconfig=str(folder / "config"))
    return create_app(HOOKS, settings).test_client()
