"""A real admission server, gunicorn with TLS on loopback, and callers of it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certs.authority import KeyPair, issue, make_authority
from tests.sync_hooks.admission.cases import manifest

START_SECONDS = 60.0
ROOT = Path(__file__).parents[2]
NAMES = ["localhost", "127.0.0.1"]


@dataclass
class Server:
    """A running server: its process, ports and files."""

    process: subprocess.Popen[bytes]
    port: int
    health_port: int
    tls: Path
    authority: KeyPair
    log: Path

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.certificate.decode())

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.port, timeout=20, context=self.context())

    def call(self) -> ssl.SSLSocket:
        """Connect and shake hands, and say nothing yet."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return self.context().wrap_socket(plain, server_hostname="localhost")

    def worker(self) -> int:
        """Return the process that answers."""
        (number,) = self.workers()
        return number

    def workers(self) -> list[int]:
        """Return all processes that may answer, the oldest first."""
        of_master = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(number) for number in of_master.read_text().split()]

    def review(self, obj: dict[str, Any], connection: http.client.HTTPSConnection | None = None) -> dict[str, Any]:
        used = connection or self.connect()
        used.request("POST", "/validate", review(obj), {"Content-Type": "application/json"})
        answer = json.loads(used.getresponse().read())
        if connection is None:
            used.close()
        response: dict[str, Any] = answer["response"]
        return response

    def health(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def serve(self, pair: KeyPair) -> None:
        """Put another certificate in place, as a mounted Secret does: both files at once."""
        for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key)):
            renewed = self.tls / f".{name}"
            renewed.write_bytes(content)
            renewed.replace(self.tls / name)


def review(obj: dict[str, Any]) -> bytes:
    request = {
        "uid": "705ab4f5",
        "kind": {"group": "cre.nvidia.com", "version": "v1alpha1", "kind": obj["kind"]},
        "operation": "CREATE",
        "name": "run",
        "object": obj,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def post(body: bytes, *headers: str, path: str = "/validate", length: int | None = None) -> bytes:
    """Write a request; a length other than the body's is a lie."""
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: h",
        "Content-Type: application/json",
        *headers,
        f"Content-Length: {len(body) if length is None else length}",
    )
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode() + body


def chunked(content: bytes, path: str = "/validate") -> bytes:
    """Write a request whose body comes in chunks: what is given, and nothing more."""
    lines = (f"POST {path} HTTP/1.1", "Host: h", "Content-Type: application/json", "Transfer-Encoding: chunked", "")
    return "".join(f"{line}\r\n" for line in lines).encode() + content


def answer(caller: socket.socket) -> tuple[int, dict[str, Any], http.client.HTTPMessage]:
    """Read an answer in JSON: its status, what it says, and its headers."""
    response = http.client.HTTPResponse(caller)
    response.begin()
    return response.status, json.loads(response.read()), response.headers


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def start(folder: Path, files: int | None = None, options: tuple[str, ...] = ()) -> Server:
    """Start a server, which may open a number of files, with options of gunicorn's."""
    authority = make_authority(datetime.now(UTC))
    server_files = folder / "tls"
    server_files.mkdir()
    log = folder / "log"
    port, health_port = free_port(), free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "WORKLOADRUN_ROLE": "admission",
        "WORKLOADRUN_PORT": str(port),
        "WORKLOADRUN_HEALTH_PORT": str(health_port),
        "WORKLOADRUN_TLS_DIR": str(server_files),
    }
    server = Server(None, port, health_port, server_files, authority, log)  # type: ignore[arg-type]
    server.serve(issue(authority, NAMES, datetime.now(UTC)))
    command = [sys.executable, "-m", "gunicorn", "-c", "python:webhook.gunicorn_conf", *options]
    limited = ["prlimit", f"--nofile={files}", *command] if files else command
    with log.open("wb") as output:
        server.process = subprocess.Popen(limited, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    wait_until_ready(server)
    return server


def wait_until_ready(server: Server) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.process.poll() is None:
        try:
            if server.health("/readyz")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {server.log.read_text()}")


def stop(server: Server) -> None:
    if server.process.poll() is None:
        server.process.terminate()
        server.process.wait(30)


GOOD = manifest("WorkloadRun", {})
BAD = manifest("WorkloadRun", {"image": ""})
