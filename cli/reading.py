"""What planning reads, answered for a command: from a cluster, or from given nodes and what comes with the product.

Without nodes, and without the kinds that are served, there is no plan: then a cluster raises CliError. Anything else
that it does not tell is `Unreadable`, as it is to the hooks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cli.connection import Cluster, Page, understood
from cli.errors import CliError
from cli.inputs import shipped_profiles
from cli.refusals import NotFound
from cli.simulator.kinds import KINDS
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.observed import LiveObject, Node
from sync_hooks.api.sync import GetLogProfile, GetObject, ListKinds, ListNodes, ListObjects, Read, Unreadable
from webhook.answering import Reader


def of_cluster(cluster: Cluster) -> Reader:
    """Read from a cluster with the rights of whoever runs the command."""

    def read(wanted: Read) -> Any:
        match wanted:
            case ListNodes():
                pages = cluster.pages("v1", "Node")
                return tuple(node for page in pages for node in understood(page, Page[Node]).items or ())
            case ListKinds(api_version):
                return cluster.served_kinds(api_version)
            case _:
                return _object_or_list(cluster, wanted)

    return read


def _object_or_list(cluster: Cluster, wanted: Read) -> Any:
    try:
        match wanted:
            case GetLogProfile(name):
                return understood(cluster.get(API_VERSION, "LogProfile", name), LiveObject)
            case GetObject(api_version, kind, name, namespace):
                return understood(cluster.get(api_version, kind, name, namespace), LiveObject)
            case ListObjects(api_version, kind, namespace):
                pages = cluster.pages(api_version, kind, namespace=namespace)
                return tuple(item for page in pages for item in understood(page, Page[LiveObject]).items or ())
            case _:
                return _not_read(wanted)
    except NotFound:
        return None
    except CliError as error:
        return Unreadable(str(error))


def of_nodes(nodes: Sequence[Node]) -> Reader:
    """Read from these nodes, with the LogProfiles that are shipped, in a namespace that asks for nothing."""

    def read(wanted: Read) -> Any:
        match wanted:
            case ListNodes():
                return tuple(nodes)
            case ListKinds(api_version):
                return tuple(kind.kind for kind in KINDS if kind.api_version == api_version)
            case GetLogProfile(name):
                return _shipped(name)
            case GetObject():
                return None
            case ListObjects():
                return ()
            case _:
                return _not_read(wanted)

    return read


def with_profiles(own: Sequence[Mapping[str, Any]], read: Reader) -> Reader:
    """Read the LogProfiles of a run's own file first: they are created before it. Raises CliError."""
    named = {item["metadata"].get("name"): item for item in own if item["kind"] == "LogProfile"}
    known = {GetLogProfile(name): item for name, item in named.items() if name}  # else the cluster will make one
    return lambda wanted: _live(known[wanted]) if wanted in known else read(wanted)


def _shipped(name: str) -> LiveObject | Unreadable:
    found = next((profile for profile in shipped_profiles() if profile["metadata"]["name"] == name), None)
    if found is None:
        return Unreadable("it does not come with the product, so the cluster has to have it; the run waits 5m for it")
    return _live(found)


def _live(profile: Mapping[str, Any]) -> LiveObject:
    try:
        return msgspec.convert(profile, LiveObject)
    except msgspec.ValidationError as error:
        raise CliError(f"LogProfile {profile['metadata']['name']} cannot be read: {error}") from error


def _not_read(wanted: Read) -> Unreadable:
    return Unreadable(f"{type(wanted).__name__} is not read to plan")
