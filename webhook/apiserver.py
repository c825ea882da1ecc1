"""The Kubernetes API server as bytes: GET, POST and DELETE with given credentials, nothing decoded here.

Configuration and token refresh are the official client's; its models are not used, because lists of thousands of nodes
and pods are decoded to a few fields by the observer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from webhook.wire import Wire

RESOURCES: Mapping[tuple[str, str], str] = {
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "Event"): "events",
    ("v1", "Namespace"): "namespaces",
    ("v1", "Node"): "nodes",
    ("v1", "PersistentVolumeClaim"): "persistentvolumeclaims",
    ("v1", "Pod"): "pods",
    ("v1", "ResourceQuota"): "resourcequotas",
    ("cre.nvidia.com/v1alpha1", "BandwidthMeasurement"): "bandwidthmeasurements",
    ("cre.nvidia.com/v1alpha1", "GoodputMeasurement"): "goodputmeasurements",
    ("cre.nvidia.com/v1alpha1", "Job"): "jobs",
    ("cre.nvidia.com/v1alpha1", "LogProfile"): "logprofiles",
    ("cre.nvidia.com/v1alpha1", "Workflow"): "workflows",
    ("cre.nvidia.com/v1alpha1", "WorkloadRun"): "workloadruns",
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): "jobsets",
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): "resourceclaimtemplates",
    ("resource.nvidia.com/v1beta1", "ComputeDomain"): "computedomains",
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): "trainjobs",
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): "trainingruntimes",
}
"""The kinds that are ever read or written, and the resource each is served as."""

_PLAIN = re.compile(r"[a-z0-9-]+")
"""Names that no path has to be guarded against, and by far the most."""

CONNECT_SECONDS = 5
READ_SECONDS = 20  # below the hooks' timeout of 60 s
JSON = "application/json"


class ApiError(Exception):
    """The API server refused or could not be reached; ``status`` is 0 for the latter.

    ``answer`` is the server's own Status object, empty where it sent none.
    """

    def __init__(self, status: int, message: str, answer: Mapping[str, Any] | None = None) -> None:
        """Keep the HTTP status and one line for people."""
        super().__init__(message)
        self.status = status
        self.answer: Mapping[str, Any] = answer or {}


@dataclass(frozen=True, slots=True)
class Path:
    """A path of the API, built from what it names."""

    api_version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def url(self, query: Mapping[str, str | int] | None = None) -> str:
        """Write the path with its query; a name that a tenant made up stays one part of it, whatever it contains."""
        prefix = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        where = f"/namespaces/{_part(self.namespace)}" if self.namespace else ""
        parts = [_part(part) for part in (self.resource, self.name) if part]
        parts += [self.subresource] if self.subresource else []
        tail = f"?{urlencode(query)}" if query else ""
        return "/".join([prefix + where, *parts]) + tail


def _part(text: str) -> str:
    """Quote a part of a path; dots too where they would mean a folder above."""
    if _PLAIN.fullmatch(text):
        return text
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


class ApiServer:
    """A connection pool to one API server; safe to share between threads."""

    def __init__(self, kubeconfig: str | None = None, context: str | None = None, *, direct: bool = False) -> None:
        """Load credentials: from a kubeconfig file where one is given, else from the pod's service account.

        ``context`` is one of the file's; absent means its current one. ``direct`` reads and creates over connections of
        our own, which cost a tenth; where the configuration names a proxy that is left alone.
        """
        import urllib3
        from kubernetes import client, config

        configuration = client.Configuration()
        if kubeconfig:
            load_kube_config: Any = config.load_kube_config  # untyped in the client
            load_kube_config(config_file=kubeconfig, context=context, client_configuration=configuration)
        else:
            load_incluster_config: Any = config.load_incluster_config
            load_incluster_config(client_configuration=configuration)
        configuration.connection_pool_maxsize = 64
        configuration.retries = False
        self._client: Any = client.ApiClient(configuration)
        self._host: str = configuration.host
        self._errors: Any = client.ApiException
        self._unreachable = urllib3.exceptions.HTTPError
        self._wire = Wire(configuration) if direct and not configuration.proxy else None

    def get(
        self,
        path: Path,
        query: Mapping[str, str | int] | None = None,
        *,
        seconds: float = READ_SECONDS,
        accept: str = JSON,
    ) -> bytes:
        """Return the body of a GET; raises ApiError."""
        if self._wire is None:
            return self._request("GET", path.url(query), None, seconds, accept)
        return self._read(self._wire, path.url(query), seconds, accept)

    def post(self, path: Path, body: Mapping[str, Any], query: Mapping[str, str | int] | None = None) -> bytes:
        """Create an object and return it as stored; raises ApiError."""
        if self._wire is None:
            return self._request("POST", path.url(query), body)
        return self._create(self._wire, path.url(query), json.dumps(body).encode())

    def delete(self, path: Path, options: Mapping[str, Any]) -> bytes:
        """Delete an object, with Kubernetes' DeleteOptions; raises ApiError."""
        return self._request("DELETE", path.url(), options)

    def _read(self, wire: Wire, url: str, seconds: float, accept: str) -> bytes:
        headers = self._authorized("GET", url, {"Accept": accept})
        try:
            status, content = wire.get(url, headers, CONNECT_SECONDS, seconds)
        except OSError as error:
            raise ApiError(0, f"GET {url}: {error}") from error
        return _checked("GET", url, status, content)

    def _create(self, wire: Wire, url: str, body: bytes) -> bytes:
        """Create an object; one that has a name is made once, however often it is sent."""
        headers = self._authorized("POST", url, {"Accept": JSON, "Content-Type": JSON})
        try:
            status, content = wire.post(url, headers, body, CONNECT_SECONDS, READ_SECONDS)
        except OSError as error:
            raise ApiError(0, f"POST {url}: {error}") from error
        return _checked("POST", url, status, content)

    def _authorized(self, method: str, url: str, headers: dict[str, str]) -> dict[str, str]:
        """Add the token as it is now: the official client reads it again when it is old."""
        self._client.update_params_for_auth(headers, [], ["BearerToken"], url, method, None)
        return headers

    def _request(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None,
        seconds: float = READ_SECONDS,
        accept: str = JSON,
    ) -> bytes:
        headers = self._authorized(method, url, {"Accept": accept, "Content-Type": JSON})
        try:
            response = self._client.rest_client.request(
                method, self._host + url, headers=headers, body=body, _request_timeout=(CONNECT_SECONDS, seconds)
            )
            content: bytes = response.read()
        except self._errors as error:
            raise ApiError(error.status or 0, f"{method} {url}: {error.reason}") from error
        except (OSError, self._unreachable) as error:
            raise ApiError(0, f"{method} {url}: {error}") from error
        return _checked(method, url, response.status, content)


def _checked(method: str, url: str, status: int, content: bytes) -> bytes:
    if status >= 400:
        answer = _answer(content)
        said = str(answer.get("message", "")) if answer else content.decode(errors="replace")
        raise ApiError(status, f"{method} {url}: {status} {said[:300]}", answer)
    return content


def _answer(content: bytes) -> dict[str, Any]:
    """Read what the server says; a proxy in between may say something else."""
    try:
        answer = json.loads(content)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
