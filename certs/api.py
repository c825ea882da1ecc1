"""The API server as far as certificates need it: JSON objects by path, and patches. Decides nothing.

`Api` is what the rotator asks for; `ClusterApi` asks a real server with the pod's credentials, or a kubeconfig's.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

MERGE = "application/merge-patch+json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
FIELD_MANAGER = "workloadrun"
SECONDS = 10  # for one request; the next look comes anyway
MOST_BYTES_TOLD = 300  # of an answer that says no more than itself

UNREACHABLE = 0
NOT_FOUND = 404
CONFLICT = 409

Object = dict[str, Any]


class ApiError(Exception):
    """The API server refused or could not be reached; ``status`` is UNREACHABLE for the latter.

    What answers with anything but an object of Kubernetes is no API server; without a token none can be reached.
    """

    def __init__(self, status: int, message: str) -> None:
        """Keep the HTTP status and one line for people."""
        super().__init__(message)
        self.status = status


class Api(Protocol):
    """Requests about one object by its path. All raise ApiError."""

    def get(self, path: str) -> Object:
        """Read an object, or a list."""

    def put(self, path: str, body: Object) -> Object:
        """Replace an object; refused with 409 where it is not the version that was read."""

    def patch(self, path: str, body: Object, content_type: str) -> Object:
        """Change an object; refused with 409 where it is not the version that the patch names."""

    def post(self, path: str, body: Object) -> Object:
        """Create an object."""


class ClusterApi:
    """One API server, by the official client's configuration; it reads the pod's token anew before it ends."""

    def __init__(self, kubeconfig: str | None = None) -> None:
        import urllib3
        from kubernetes import client, config

        configuration = client.Configuration()
        if kubeconfig:
            config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        configuration.retries = False
        self._client: Any = client.ApiClient(configuration)
        self._host: str = configuration.host
        self._refused: Any = client.ApiException
        self._unreachable: tuple[type[Exception], ...] = (
            OSError,
            urllib3.exceptions.HTTPError,
            config.ConfigException,  # the pod's token is empty for a moment, or a kubeconfig's command failed
        )

    def get(self, path: str) -> Object:
        """Read an object, or a list."""
        return self._request("GET", path)

    def put(self, path: str, body: Object) -> Object:
        """Replace an object."""
        return self._request("PUT", f"{path}?fieldManager={FIELD_MANAGER}", body)

    def patch(self, path: str, body: Object, content_type: str) -> Object:
        """Change an object; an apply takes what it names from other managers."""
        force = "&force=true" if content_type == APPLY else ""
        return self._request("PATCH", f"{path}?fieldManager={FIELD_MANAGER}{force}", body, content_type)

    def post(self, path: str, body: Object) -> Object:
        """Create an object."""
        return self._request("POST", path, body)

    def _request(
        self, method: str, path: str, body: Object | None = None, content_type: str = "application/json"
    ) -> Object:
        headers: dict[str, str] = {"Accept": "application/json", "Content-Type": content_type}
        try:
            self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
            response = self._client.rest_client.request(
                method, self._host + path, headers=headers, body=body, _request_timeout=SECONDS
            )
            content: bytes = response.read()
        except self._refused as error:
            raise ApiError(error.status or UNREACHABLE, f"{method} {path}: {error.reason}") from error
        except self._unreachable as error:
            raise ApiError(UNREACHABLE, f"{method} {path}: {error}") from error
        found = _object(content)
        if response.status >= 300:
            raise ApiError(response.status, f"{method} {path}: {response.status} {_message(found, content)}")
        if not isinstance(found.get("metadata"), dict):  # every object and every list has it; a proxy's page has not
            what = f"{len(content)} bytes of {response.headers.get('Content-Type', 'no type')}"  # may be half a Secret
            raise ApiError(UNREACHABLE, f"{method} {path}: no API server answers so: {what}")
        return found


def _object(content: bytes) -> Object:
    """Read an object, an empty one where there is none: pages of proxies are HTML, text, or JSON of their own."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        return {}
    return found if isinstance(found, dict) else {}


def _message(found: Object, content: bytes) -> str:
    text = str(found["message"]) if "message" in found else content[:MOST_BYTES_TOLD].decode(errors="replace")
    return " ".join(text[:MOST_BYTES_TOLD].split())
