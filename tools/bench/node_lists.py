"""An API server that only lists nodes: page by page, each node as large as a real one, in a process of its own.

``python -m tools.bench.node_lists COUNT`` prints its port once it listens, and ends with its standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cli.simulator.inventory import make

from .machine import ROOT

NODE_BYTES = 20_000
ADDRESS = "127.0.0.1"
FEATURES = 60  # labels of feature discovery on a real GPU node


def large_node(node: dict[str, Any]) -> dict[str, Any]:
    """Fill a node up to `NODE_BYTES` with what real ones carry: feature labels, and images that were pulled."""
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.F{number:02}": "true" for number in range(FEATURES)}
    metadata = {**node["metadata"], "labels": {**node["metadata"]["labels"], **labels}}
    missing = NODE_BYTES - len(json.dumps({**node, "metadata": metadata}))
    images = [_image(number) for number in range(missing // (len(json.dumps(_image(0))) + 2))]
    return {**node, "metadata": metadata, "status": {**node["status"], "images": images}}


def _image(number: int) -> dict[str, Any]:
    return {"names": [f"registry.example/team/image-{number:03}@sha256:{number:064x}"], "sizeBytes": 1_000_000 + number}


@contextmanager
def serving(count: int) -> Iterator[int]:
    """Serve so many nodes from a process of its own, and give its port."""
    command = [sys.executable, "-m", __name__, str(count)]
    server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield int(server.stdout.readline() if server.stdout else "")
    finally:
        server.communicate()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    nodes: list[bytes]

    def do_GET(self) -> None:
        """Answer a list request with one page and where the next begins."""
        query = parse_qs(urlsplit(self.path).query)
        start, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        following = f'"{start + limit}"' if start + limit < len(self.nodes) else '""'
        items = b",".join(self.nodes[start : start + limit])
        head = f'{{"kind":"NodeList","apiVersion":"v1","metadata":{{"continue":{following}}},"items":['
        body = head.encode() + items + b"]}"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input ends."""
    (count,) = arguments
    _Handler.nodes = [json.dumps(large_node(node)).encode() for node in make(f"aws/h100x{count}")]
    http = ThreadingHTTPServer((ADDRESS, 0), _Handler)
    http.daemon_threads = True
    print(http.server_port, flush=True)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    sys.stdin.read()
    http.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
