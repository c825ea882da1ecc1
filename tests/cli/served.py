"""The simulator's store as an API server over HTTP, so that commands run against it as against a real cluster.

Speaks what the command line asks for: objects, pages, tables, metadata alone, creation, deletion, and refusals in the
API server's own words. Virtual time goes on a little with every look at a run. Loopback only.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from cli.hooking import admission, hooks
from cli.inputs import shipped_profiles
from cli.simulate import START
from cli.simulator.entry import Entry
from cli.simulator.errors import AlreadyExists, ApiError, NotFound
from cli.simulator.inventory import make
from cli.simulator.kinds import KINDS, Kind
from cli.simulator.scenario import Scenario
from cli.simulator.simulation import Refused, Simulation
from cli.simulator.store import Store
from sync_hooks.api.kinds import KINDS as OUR_KINDS

PATH = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+/[^/]+))(?:/namespaces/(?P<namespace>[^/]+)(?=/[a-z]))?(?:/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?)?/?"
)
STEP_SECONDS = 2.0  # of virtual time, at every look at a run
USER = "jane"


@dataclass(slots=True)
class Served:
    """One API server; a test arranges it, runs commands with its kubeconfig, and looks at what was asked."""

    kubeconfig: Path
    store: Store
    create: Callable[[dict[str, Any]], None]
    """Stores an object as admission would have it; raises Refused."""
    advance: Callable[[], None] = lambda: None
    calls: Counter[str] = field(default_factory=Counter)
    """Requests by method and path."""
    forbidden: set[str] = field(default_factory=set)
    """Resources that the user has no right to, whatever the verb."""
    absent: set[str] = field(default_factory=set)
    """API groups that are not served."""
    steps: int = 1
    """How much virtual time a look at a run is worth, in steps of `STEP_SECONDS`."""
    drops: int = 0
    """How many of the next requests get no answer."""
    answers: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    """Answers by method and path that come in place of the store's."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, url: str, accept: str, body: dict[str, Any] | None) -> tuple[int, Any]:
        """Answer one request; the body of a refusal is a Status."""
        parts = urlsplit(url)
        path, query = unquote(parts.path), {key: value[0] for key, value in parse_qs(parts.query).items()}
        with self.lock:
            self.calls[f"{method} {path}"] += 1
            if f"{method} {path}" in self.answers:
                return self.answers[f"{method} {path}"]
            try:
                return self._answer(method, path, query, accept, body)
            except ApiError as error:
                return error.code, status(error.code, error.reason, str(error), _details(str(error)))
            except Refused as error:
                causes = [{"field": e.field, "reason": e.type, "message": e.message} for e in error.errors]
                message = f'admission webhook "mutate.cre.nvidia.com" denied the request: {error}'
                return 422, status(422, "Invalid", message, {"causes": causes})

    def _answer(
        self, method: str, path: str, query: Mapping[str, str], accept: str, body: dict[str, Any] | None
    ) -> tuple[int, Any]:
        if path in ("/apis", "/apis/"):
            groups = sorted({kind.group for kind in KINDS if kind.group} - self.absent)
            return 200, {"kind": "APIGroupList", "groups": [{"name": group} for group in groups]}
        match = PATH.fullmatch(path)
        if match is None or (match["group"] or "").split("/")[0] in self.absent:
            return 404, "404 page not found\n"
        version = match["group"] or "v1"
        if not match["resource"]:
            kinds = [kind for kind in KINDS if kind.api_version == version]
            return (
                (200, {"resources": [{"kind": kind.kind} for kind in kinds]})
                if kinds
                else (404, "404 page not found\n")
            )
        kind = self.store.discovery.of_resource(version, match["resource"])
        if kind is None:
            return 404, "404 page not found\n"
        if kind.resource in self.forbidden:
            return 403, forbidden(method, kind, match["namespace"] or "")
        return self._of_kind(method, kind, match["namespace"], match["name"], query, accept, body)

    def _of_kind(
        self,
        method: str,
        kind: Kind,
        namespace: str | None,
        name: str | None,
        query: Mapping[str, str],
        accept: str,
        body: dict[str, Any] | None,
    ) -> tuple[int, Any]:
        if method == "POST":
            assert body is not None
            return self._create(kind, body, dry_run="dryRun" in query)
        if name is None:
            return 200, self._list(kind, namespace, query, accept)
        for _ in range(self.steps if kind.kind == "WorkloadRun" else 0):
            self.advance()
        entry = self.store.get(kind.api_version, kind.kind, namespace or "", name)
        if method == "DELETE":
            self.store.delete(entry)
            return 200, status(200, "", "")
        return 200, entry.obj

    def _create(self, kind: Kind, body: dict[str, Any], *, dry_run: bool) -> tuple[int, Any]:
        metadata = body["metadata"]
        if self.store.find(kind.api_version, kind.kind, metadata.get("namespace", ""), metadata.get("name", "")):
            raise AlreadyExists(f'{kind.group_resource} "{metadata["name"]}" already exists')
        admitted = admission("CREATE", body)
        if not isinstance(admitted, dict):
            raise Refused(body, admitted)
        if dry_run:
            return 201, body
        before = {entry.uid for entry in self.store.select(kind.api_version, kind.kind)}
        self.create(body)
        new = [entry for entry in self.store.select(kind.api_version, kind.kind) if entry.uid not in before]
        return 201, new[0].obj

    def _list(self, kind: Kind, namespace: str | None, query: Mapping[str, str], accept: str) -> dict[str, Any]:
        entries = [
            entry
            for entry in self.store.select(kind.api_version, kind.kind, namespace)
            if selected(entry, query.get("labelSelector", ""))
        ]
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "500"))
        page = entries[start : start + limit]
        following = {"continue": str(start + limit)} if start + limit < len(entries) else {}
        if "as=Table" in accept:
            return {**table(kind, page), "metadata": following}
        if "as=PartialObjectMetadataList" in accept:
            items = [{"metadata": entry.metadata} for entry in page] or None  # as Go writes an empty one
            return {"items": items, "metadata": following}
        return {"items": [entry.obj for entry in page], "metadata": following}


def _details(message: str) -> dict[str, str]:
    """Say which object a refusal is about, as the API server does beside its words."""
    found = re.match(r'([a-z]+)(?:\.([a-z0-9.]+))? "([^"]+)"', message)
    return {"kind": found[1], "group": found[2] or "", "name": found[3]} if found else {}


def selected(entry: Entry, selector: str) -> bool:
    """Tell whether an object's labels match a selector: key=value, key in (a, b), or key alone."""
    for part in filter(None, re.split(r",(?![^(]*\))", selector)):
        among = re.fullmatch(r"\s*(\S+) in \((.*)\)\s*", part)
        key, _, value = part.strip().partition("=")
        if among and entry.labels.get(among[1]) not in {one.strip() for one in among[2].split(",")}:
            return False
        if not among and value and entry.labels.get(key) != value:
            return False
        if not among and not value and key not in entry.labels:
            return False
    return True


def table(kind: Kind, entries: Sequence[Entry]) -> dict[str, Any]:
    """Write objects as the columns of their CRD: those that are plain paths."""
    ours = next((one for one in OUR_KINDS if one.kind == kind.kind), None)
    columns = [column for column in (ours.columns if ours else ()) if "[" not in column.path]
    names = [{"name": "Name"}, *({"name": column.name} for column in columns)]
    rows = [{"cells": [entry.name, *(at(entry.obj, column.path) for column in columns)]} for entry in entries]
    return {"kind": "Table", "columnDefinitions": names, "rows": rows or None}


def at(obj: Any, path: str) -> Any:
    """Follow a path of plain keys; None where it ends."""
    for key in path.strip(".").split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def status(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Write a Status object."""
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": dict(details or {})}


def forbidden(method: str, kind: Kind, namespace: str) -> dict[str, Any]:
    """Refuse as the API server does where no role gives the right."""
    verb = {"GET": "get", "POST": "create", "DELETE": "delete"}[method]
    message = (
        f'{kind.group_resource} is forbidden: User "{USER}" cannot {verb} resource "{kind.resource}" in API group '
        f'"{kind.group}" in the namespace "{namespace}"'
    )
    return status(403, "Forbidden", message)


@contextmanager
def simulated(folder: Path, nodes: str = "aws/h100x8", scenario: Scenario | None = None) -> Iterator[Served]:
    """Serve a simulated cluster with the product installed; a run in it goes on with every look at it."""
    simulation = Simulation(make(nodes), scenario or Scenario(()), hooks, START)
    simulation.apply(shipped_profiles(), admission)

    def create(obj: dict[str, Any]) -> None:
        simulation.apply([obj], admission)

    def advance() -> None:
        simulation.run(simulation.clock.time + STEP_SECONDS)

    with serving(Served(folder / "kubeconfig", simulation.store, create, advance)) as served:
        yield served


@contextmanager
def serving(served: Served) -> Iterator[Served]:
    """Listen on a free port of loopback and write the kubeconfig."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            if served.drops > 0:
                served.drops -= 1
                self.close_connection = True
                return
            code, answer = served.answer(self.command, self.path, self.headers.get("Accept", ""), body)
            content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain" if isinstance(answer, str) else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = _handle  # noqa: N815 - names that the standard library looks for

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    served.kubeconfig.write_text(json.dumps(_kubeconfig(f"http://127.0.0.1:{server.server_port}")))
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _kubeconfig(address: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": address}}],
        "users": [{"name": USER, "user": {"token": "t"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "it", "user": USER, "namespace": "default"}},
            {"name": "lab", "context": {"cluster": "it", "user": USER, "namespace": "lab"}},
        ],
        "current-context": "here",
    }


__all__ = ["NotFound", "Served", "serving", "simulated", "status"]
