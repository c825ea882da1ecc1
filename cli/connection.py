"""The way to a cluster: kubeconfig, context and namespace as kubectl finds them, and requests that are tried again.

Every failure is a CliError in words for the person at the terminal; `cli.refusals` has the words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from cli.errors import CliError, one_line
from cli.kubeconfig import (
    DEFAULT_KUBECONFIG,
    SERVICE_ACCOUNT,
    check_kubeconfig,
    errors_of_client,
    find_kubeconfig,
    named,
    own_namespace,
)
from cli.options import ClusterFlags
from cli.output import print_note
from cli.refusals import Asked, refusal
from sync_hooks.api.limits import OBJECT_NAMES
from webhook.apiserver import RESOURCES, ApiError, ApiServer, Path

PAGE = 500  # objects a list request
PAUSES = (0.5, 2.0)  # seconds before a second and a third try
TRANSIENT = frozenset({0, 429, 500, 502, 503, 504})

_NAME = re.compile(OBJECT_NAMES.pattern)


Item = TypeVar("Item")


class _Continue(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, Generic[Item]):
    """One page of a list. An empty one may be null: Go writes a list that nobody has filled so."""

    items: tuple[Item, ...] | None


T = TypeVar("T")


def understood(body: bytes, type_: type[T]) -> T:
    """Decode an answer. Raises CliError: a proxy in between may say anything."""
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.DecodeError as error:
        raise CliError(f"the cluster's answer cannot be understood: {error}") from error


class _Place(msgspec.Struct):
    metadata: _Continue = msgspec.field(default_factory=_Continue)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster and the namespace that a command is about."""

    api: ApiServer
    namespace: str
    flags: ClusterFlags
    sleep: Callable[[float], None] = time.sleep
    pauses: tuple[float, ...] = PAUSES

    def at(self, namespace: str) -> Cluster:
        """Return the same cluster for another namespace."""
        if namespace == self.namespace:
            return self
        return replace(self, namespace=namespace, flags=replace(self.flags, namespace=namespace))

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> bytes:
        """Read one object. Raises CliError, NotFound among them."""
        check_name(kind, name)
        asked = Asked("get", *self._place(api_version, kind, namespace), name)
        return self._patiently(asked, lambda: self.api.get(asked.path))

    def pages(
        self,
        api_version: str,
        kind: str,
        query: Mapping[str, str | int] | None = None,
        *,
        namespace: str | None = None,
        accept: str = "application/json",
    ) -> Iterator[bytes]:
        """Read a list page by page; an empty ``namespace`` means all. Raises CliError."""
        asked = Asked("list", *self._place(api_version, kind, namespace))
        following: str | None = None
        while following != "":
            wanted = {**(query or {}), "limit": PAGE, **({"continue": following} if following else {})}
            body = self._patiently(asked, partial(self.api.get, asked.path, wanted, accept=accept))
            following = understood(body, _Place).metadata.continue_
            yield body

    def create(self, obj: Mapping[str, Any], *, dry_run: bool = False) -> bytes:
        """Create an object and return it as stored. Raises CliError; never tried again, it may have been done."""
        metadata = obj["metadata"]
        place = self._place(obj["apiVersion"], obj["kind"], metadata.get("namespace"))
        asked = Asked("create", *place, metadata.get("name", ""))
        collection = Path(asked.api_version, asked.resource, asked.namespace)
        query = {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
        try:
            return self.api.post(collection, obj, query)
        except ApiError as error:
            raise refusal(asked, error) from error

    def delete(self, api_version: str, kind: str, name: str) -> bytes:
        """Delete an object and, in the background, what belongs to it. Raises CliError, NotFound among them."""
        check_name(kind, name)
        asked = Asked("delete", *self._place(api_version, kind, None), name)
        return self._patiently(asked, lambda: self.api.delete(asked.path, {"propagationPolicy": "Background"}))

    def served_groups(self) -> frozenset[str]:
        """Name the API groups that are served. Raises CliError."""
        asked = Asked("list", "", "", "")
        found = understood(self._patiently(asked, lambda: self.api.get(asked.path)), _Groups)
        return frozenset(group.name for group in found.groups)

    def served_kinds(self, api_version: str) -> frozenset[str]:
        """Name the kinds that are served of one group and version; none where it is not served. Raises CliError."""
        asked = Asked("list", api_version, "", "")
        try:
            body = self.api.get(asked.path)
        except ApiError as error:
            if error.status == 404:
                return frozenset()
            raise refusal(asked, error) from error
        return frozenset(resource.kind for resource in understood(body, _Kinds).resources)

    def _place(self, api_version: str, kind: str, namespace: str | None) -> tuple[str, str, str]:
        """Return apiVersion, resource and namespace; no namespace means this command's own."""
        resource = NAMED.get((api_version, kind))
        if resource is None:
            raise CliError(f"{kind} of {api_version} is no kind that runs have to do with")
        own = self.namespace if namespace is None else namespace
        return api_version, resource, "" if kind in CLUSTER_SCOPED else own

    def _patiently(self, asked: Asked, call: Callable[[], bytes]) -> bytes:
        """Try again what may be tried again, and say so."""
        for pause in self.pauses:
            try:
                return call()
            except ApiError as error:
                if error.status not in TRANSIENT:
                    raise refusal(asked, error) from error
                print_note(f"{refusal(asked, error)}; trying again in {pause:g}s")
            self.sleep(pause)
        try:
            return call()
        except ApiError as error:
            raise refusal(asked, error) from error


NAMED = {**RESOURCES, ("v1", "Secret"): "secrets"}  # a run's file may bring one; nobody else ever touches Secrets
CLUSTER_SCOPED = frozenset({"LogProfile", "Node", "Namespace"})


class _Group(msgspec.Struct):
    name: str = ""


class _Groups(msgspec.Struct):
    groups: tuple[_Group, ...] = ()


class _Kind(msgspec.Struct):
    kind: str = ""


class _Kinds(msgspec.Struct):
    resources: tuple[_Kind, ...] = ()


def connect(flags: ClusterFlags) -> Cluster:
    """Find the cluster as kubectl does: --kubeconfig, KUBECONFIG, ~/.kube/config, else the pod's service account.

    Raises CliError where there is none.
    """
    flags.check_namespace()
    file = find_kubeconfig(flags.kubeconfig)
    if not file and not SERVICE_ACCOUNT.exists():
        raise CliError(f"no cluster: there is no {DEFAULT_KUBECONFIG}; give one by --kubeconfig or KUBECONFIG")
    if not file and flags.context:
        raise CliError("--context: there is no kubeconfig that could have a context")
    if file:
        check_kubeconfig(file, flags.context)
    namespace = flags.namespace or own_namespace(file, flags.context)
    return Cluster(_api_server(file, flags.context), namespace, flags)


def check_name(kind: str, name: str) -> None:
    """Refuse what cannot be a name before it becomes part of a path. Raises CliError."""
    if not _NAME.fullmatch(name) or len(name) > OBJECT_NAMES.longest:
        raise CliError(f"{name!r} is no name that a {kind} can have")


def _api_server(file: str, context: str) -> ApiServer:
    where = f"no cluster: {named(file) or 'service account'}"
    with errors_of_client() as said:
        try:
            api = ApiServer(file or None, context or None)
        except Exception as error:  # whatever the client makes of what it cannot use
            raise CliError(f"{where}: {one_line(error)}") from error
    if said:
        raise CliError(f"{where}: there are no credentials: {'; '.join(said)}")
    return api
