"""Reads a run and everything that belongs to it from a cluster. What may not be read becomes a note, not a gap.

Only objects whose owner is this very run's Workflow count: a run of the same name that was deleted leaves some behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeVar

from cli.connection import Cluster, Page, understood
from cli.errors import CliError
from cli.node_view import needs_labels
from cli.refusals import NotFound, Unreachable
from cli.run_facts import BandwidthObject, GoodputObject, JobObject, MetadataOnly, WorkflowObject
from cli.run_objects import RunObjects, wanted, with_config_maps
from cli.run_status import checked
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.names import LABEL_WORKLOAD_RUN
from sync_hooks.api.observed import Facts, Metadata
from sync_hooks.api.request import ConfigMapChild

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
MOST_NAMES = 10  # in a message

F = TypeVar("F", bound=Facts)


def read_run_object(cluster: Cluster, name: str) -> dict[str, Any]:
    """Read a WorkloadRun. Raises CliError; for an unknown one it names those that there are."""
    try:
        return checked(understood(cluster.get(API_VERSION, "WorkloadRun", name), dict[str, Any]))
    except NotFound as error:
        raise CliError(f"{error}; {_others(cluster, name)}") from error


def gather(cluster: Cluster, run: Mapping[str, Any]) -> RunObjects:
    """Read what belongs to a run. Raises CliError only where the cluster is gone."""
    notes: list[str] = []
    found = RunObjects(run=run, workflow=_own_workflow(cluster, run))
    found = with_config_maps(found, _config_maps(cluster, run, notes))
    uid = found.workflow.metadata.uid if found.workflow else ""
    jobs = _owned(_list(cluster, run, "Job", JobObject, notes), uid)
    bandwidth = _list(cluster, run, "BandwidthMeasurement", BandwidthObject, notes) if _asked(run, "bandwidth") else []
    goodput = _list(cluster, run, "GoodputMeasurement", GoodputObject, notes) if _asked(run, "goodput") else []
    found = replace(
        found,
        jobs=tuple(jobs),
        bandwidth=tuple(_owned(bandwidth, uid)),
        goodput=tuple(_owned(goodput, uid)),
        notes=(*found.notes, *notes),
    )
    return replace(found, labels=_labels(cluster)) if needs_labels(found) and found.status.get("progress") else found


def list_metadata(
    cluster: Cluster, api_version: str, kind: str, selector: str = "", namespace: str | None = None
) -> list[Metadata]:
    """List objects by name and labels alone, which is little even where there are thousands. Raises CliError."""
    query = {"labelSelector": selector} if selector else {}
    pages = cluster.pages(api_version, kind, query, namespace=namespace, accept=METADATA_ONLY)
    return [item.metadata for page in pages for item in understood(page, Page[MetadataOnly]).items or ()]


def _others(cluster: Cluster, name: str) -> str:
    """Name the runs that could have been meant; says nothing where that cannot be read either."""
    try:
        names = [item.name for item in list_metadata(cluster, API_VERSION, "WorkloadRun")]
    except CliError:
        return "which runs there are cannot be read"
    if not names:
        return f"there are no runs in namespace {cluster.namespace}"
    near = get_close_matches(name, names, n=3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"there are {', '.join(names[:MOST_NAMES])}{more}"


def _own_workflow(cluster: Cluster, run: Mapping[str, Any]) -> WorkflowObject | None:
    try:
        body = cluster.get(API_VERSION, "Workflow", run["metadata"]["name"])
    except NotFound:
        return None
    workflow = understood(body, WorkflowObject)
    return workflow if workflow.metadata.controller_uid() == run["metadata"]["uid"] else None


def _config_maps(cluster: Cluster, run: Mapping[str, Any], notes: list[str]) -> dict[str, ConfigMapChild]:
    found: dict[str, ConfigMapChild] = {}
    for name in wanted(run):
        try:
            found[name] = understood(cluster.get("v1", "ConfigMap", name), ConfigMapChild)
        except NotFound:
            continue  # the plan of a run that has none yet, the result of an iteration under way
        except Unreachable:
            raise
        except CliError as error:
            notes.append(f"plan, results and lists of nodes are not shown: {error}")
            break
    return found


def _list(cluster: Cluster, run: Mapping[str, Any], kind: str, type_: type[F], notes: list[str]) -> list[F]:
    page_of: type[Page[F]] = Page[type_]  # type: ignore[valid-type]  # known at run time only
    query = {"labelSelector": f"{LABEL_WORKLOAD_RUN}={run['metadata']['name']}"}
    try:
        pages = cluster.pages(API_VERSION, kind, query)
        return [item for page in pages for item in understood(page, page_of).items or ()]
    except Unreachable:
        raise
    except CliError as error:
        notes.append(f"{kind}s are not shown: {error}")
        return []


Owned = TypeVar("Owned", BandwidthObject, GoodputObject, JobObject)


def _owned(objects: Iterable[Owned], uid: str) -> list[Owned]:
    return [item for item in objects if any(owner.uid == uid for owner in item.metadata.owner_references)]


def _asked(run: Mapping[str, Any], measurement: str) -> bool:
    return f"{measurement}Measurement" in (run.get("spec") or {})


def _labels(cluster: Cluster) -> dict[str, dict[str, str]] | None:
    """Read the labels of all nodes, which most users of a namespace may not: groups then tell the domains."""
    try:
        nodes = list_metadata(cluster, "v1", "Node")
    except Unreachable:
        raise
    except CliError:
        return None
    return {node.name: node.labels or {} for node in nodes}
