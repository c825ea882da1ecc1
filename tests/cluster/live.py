"""The driver's API client on a real API server: the `Api` of cli.simulator, over the official client's connections.

Bytes in, JSON out: bodies pass through no models, so what the server stores is what the driver sees. Refusals become
the errors that the store in memory raises; what could not be asked at all is `Unavailable`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import urllib3
from kubernetes import client, config

from cli.simulator import errors
from cli.simulator.entry import Entry, Object, encode
from cli.simulator.kinds import Kind
from cli.simulator.store import Propagation
from cli.simulator.tally import Tally
from tests.cluster.rest import as_unavailable, group_path, kind_from, path_of, refusal, typed

Objects = list[Object]
TIMEOUT_SECONDS = 30.0
CONNECTIONS = 64  # kept open; more threads than that are never there
MERGE_PATCH = "application/merge-patch+json"

_decode = msgspec.json.decode


class LiveApi:
    """One client, its writes counted; safe to share between threads."""

    def __init__(self, kubeconfig: Path, actor: str = "") -> None:
        self.calls = 0
        self.tally = Tally()
        self._actor = actor
        self._counting = threading.Lock()
        configuration = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
        configuration.connection_pool_maxsize = CONNECTIONS
        self._client: Any = client.ApiClient(configuration)
        self._pool: urllib3.PoolManager = self._client.rest_client.pool_manager
        self._host: str = self._client.configuration.host
        self._kinds: dict[str, tuple[Kind, ...]] = {}

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def kind_of(self, api_version: str, kind: str) -> Kind | None:
        """Find a served kind by its own name."""
        return self._find(api_version, "kind", kind)

    def resource(self, api_version: str, resource: str) -> Kind | None:
        """Find a served kind by its plural name."""
        return self._find(api_version, "resource", resource)

    def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """Read one live object; raises NotFound."""
        return self._call("GET", path_of(kind, namespace, name))

    def list(self, kind: Kind, namespace: str | None, labels: Mapping[str, str]) -> Iterable[Object]:
        """Read live objects by namespace and equal labels."""
        return self.list_with_version(kind, namespace, labels)[0]

    def list_with_version(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> tuple[Objects, str]:
        """Read live objects, and the resourceVersion that a watch goes on from."""
        query = {"labelSelector": ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))}
        answer = self._call("GET", path_of(kind, namespace or "", ""), query=query)
        return [typed(kind, item) for item in answer["items"]], answer["metadata"]["resourceVersion"]

    def create(self, obj: Object) -> Object:
        """Create an object; raises AlreadyExists."""
        kind = self._kind(obj)
        path = path_of(kind, obj["metadata"].get("namespace", ""), "")
        return self._counted("create", kind, self._call("POST", path, obj))

    def update(self, obj: Object) -> Object:
        """Replace an object but its status; raises Conflict."""
        kind = self._kind(obj)
        return self._counted("update", kind, self._call("PUT", self._path_of(kind, obj), obj))

    def update_status(self, obj: Object) -> Object:
        """Replace the status of an object; raises Conflict."""
        kind = self._kind(obj)
        return self._counted("update_status", kind, self._call("PUT", f"{self._path_of(kind, obj)}/status", obj))

    def patch(self, entry: Entry, patch: Object) -> Object:
        """Apply a JSON merge patch."""
        path = path_of(entry.kind, entry.namespace, entry.name)
        return self._counted("update", entry.kind, self._call("PATCH", path, patch, content_type=MERGE_PATCH))

    def delete(self, entry: Entry, propagation: Propagation) -> None:
        """Delete the object with this UID; raises NotFound and Conflict."""
        options = {"preconditions": {"uid": entry.uid}, "propagationPolicy": propagation}
        self._call("DELETE", path_of(entry.kind, entry.namespace, entry.name), options)
        self._count("delete", entry.kind, 0)

    def watch(self, kind: Kind, version: str, seconds: int) -> urllib3.BaseHTTPResponse:
        """Open a watch of all namespaces from a resourceVersion; an event a line, over by itself after ``seconds``."""
        query = {
            "watch": "1",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
            "allowWatchBookmarks": "true",
        }
        return self._send("GET", f"{path_of(kind, '', '')}?{urlencode(query)}", timeout=seconds + TIMEOUT_SECONDS)

    def _find(self, api_version: str, field: str, value: str) -> Kind | None:
        for attempt in ("cached", "asked again"):
            if attempt == "asked again" or api_version not in self._kinds:
                self._kinds[api_version] = self._discover(api_version)
            found = next((kind for kind in self._kinds[api_version] if getattr(kind, field) == value), None)
            if found is not None:
                return found
        return None

    def _discover(self, api_version: str) -> tuple[Kind, ...]:
        try:
            answer = self._call("GET", group_path(api_version))
        except errors.NotFound:
            return ()
        plain = [item for item in answer["resources"] if "/" not in item["name"]]
        return tuple(kind_from(api_version, item) for item in plain)

    def _kind(self, obj: Object) -> Kind:
        kind = self.kind_of(obj["apiVersion"], obj["kind"])
        if kind is None:
            raise errors.NotFound(f"no matches for kind {obj['kind']!r} in version {obj['apiVersion']!r}")
        return kind

    def _path_of(self, kind: Kind, obj: Object) -> str:
        return path_of(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])

    def _counted(self, verb: str, kind: Kind, stored: Object) -> Object:
        self._count(verb, kind, len(encode(stored)))
        return stored

    def _count(self, verb: str, kind: Kind, size: int) -> None:
        with self._counting:
            self.tally.count(self._actor, verb, kind, size)

    def _call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        self.calls += 1
        target = f"{path}?{urlencode(query)}" if query else path
        with as_unavailable():
            response = self._send(method, target, body, content_type=content_type)
            data = response.data
        if response.status >= 400:
            raise refusal(response.status, data)
        answer: Object = _decode(data)
        return answer

    def _send(
        self,
        method: str,
        target: str,
        body: Object | None = None,
        *,
        content_type: str = "application/json",
        timeout: float = TIMEOUT_SECONDS,
    ) -> urllib3.BaseHTTPResponse:
        return self._pool.request(
            method,
            f"{self._host}{target}",
            body=None if body is None else encode(body),
            headers={"Content-Type": content_type, "Accept": "application/json"},
            timeout=timeout,
            retries=False,
            preload_content=False,
        )
