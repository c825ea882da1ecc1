"""CA and certificate of admission are replaced again and again while the real API server asks it: nothing is refused.

Two servers as gunicorn runs them, two rotators with the rights of the chart, objects created all the while.
ROTATION_SECONDS makes it longer, ROTATION_EVERY rarer: `ROTATION_SECONDS=180 ROTATION_EVERY=20`.
"""

from __future__ import annotations

import base64
import os
import socket
import ssl
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from certs import files
from certs.api import ApiError
from certs.credentials import Stage
from certs.replicas import Endpoint, serving
from certs.rotator import Rotator
from certs.situation import Seen
from tests.cluster import processes
from tests.cluster.chart import servers
from tests.cluster.chart.balancer import balancing
from tests.cluster.chart.release import NAME, Release

SECONDS = float(os.environ.get("ROTATION_SECONDS", "30"))
ROTATE_EVERY = float(os.environ.get("ROTATION_EVERY", "8"))
SETTLE = timedelta(seconds=2)  # one API server, which notices in some milliseconds
LATE = 1.2  # seconds: less than the time to settle
CREATE_EVERY = 0.1
CONFIGURATION = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{NAME}"


@dataclass
class Pods:
    """Both servers, which the rotators ask themselves as they would ask pods."""

    ports: list[int] = field(default_factory=list)

    def serving(self, certificate: bytes) -> Seen:
        return serving([Endpoint("127.0.0.1", port, "127.0.0.1") for port in self.ports], certificate)

    def accepting(self, token: str, trusted: bytes) -> Seen:
        return Seen.ALL


def rotators(release: Release, folder: Path, pods: Pods) -> list[Rotator]:
    """Return one rotator a server; the certificate names the address."""
    found = [release.rotator(folder / str(number), replicas=pods) for number in range(2)]
    settings = replace(found[0].settings, names=("127.0.0.1",), settle=SETTLE, patience=timedelta(hours=1))
    return [replace(rotator, settings=settings) for rotator in found]


def look_until(stop: threading.Event, rotator: Rotator, trouble: list[str]) -> None:
    while not stop.wait(0.2):
        try:
            rotator.look()
        except ApiError as error:
            trouble.append(str(error))


def create_until(stop: threading.Event, release: Release, asked: list[float], refused: list[str]) -> None:
    """Create a WorkloadRun ten times a second, as a dry run: admission is asked all the same."""
    api = release.api
    while not stop.wait(CREATE_EVERY):
        asked.append(time.monotonic())
        try:
            release.ask(api)
        except ApiError as error:
            refused.append(str(error))


def connect_until(stop: threading.Event, release: Release, ports: list[int], refused: list[str]) -> None:
    """Connect to both servers as an API server that notices changes late, and trusts nothing else."""
    api = release.api
    while not stop.is_set():
        read = time.monotonic()
        trusted = base64.b64decode(api.get(CONFIGURATION)["webhooks"][0]["clientConfig"]["caBundle"])
        context = ssl.create_default_context(cadata=trusted.decode())
        stop.wait(LATE)
        for port in ports:
            trouble = handshake(port, context)
            if trouble and time.monotonic() < read + SETTLE.total_seconds():  # later, it may be refused
                refused.append(trouble)


def handshake(port: int, context: ssl.SSLContext) -> str:
    """Connect once and return what went wrong."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1"),
        ):
            return ""
    except OSError as error:
        return f"port {port}: {error}"


def rotate_once(release: Release, rotator: Rotator) -> None:
    release.cluster.kubectl("annotate", "--overwrite", "secret", f"{NAME}-tls", "cre.nvidia.com/rotate=now")
    before = rotator.remembered

    def done() -> bool:
        now = rotator.remembered
        assert now
        assert before
        other = now.certificates.authority != before.certificates.authority
        return other and now.certificates.stage is Stage.STEADY

    release.cluster.eventually(done)


def test_nothing_is_refused_while_certificates_rotate(release3: Release, tmp_path: Path) -> None:
    release3.install()
    port, *ports = processes.free_ports(3)
    pods = Pods()
    looking = rotators(release3, tmp_path, pods)
    for rotator in looking:
        rotator.look()
    stop, rounds = threading.Event(), 0
    asked: list[float] = []
    refused: list[str] = []
    trouble: list[str] = []
    with ExitStack() as stack:
        for number, own in enumerate(ports):
            stack.enter_context(servers.serving(tmp_path / str(number), f"admission-{number}", "admission", own))
        stack.enter_context(balancing(port, ports))
        pods.ports = ports
        release3.call_by_address(port)
        release3.cluster.eventually(release3.admits)
        threads = [threading.Thread(target=look_until, args=(stop, each, trouble)) for each in looking]
        threads.append(threading.Thread(target=create_until, args=(stop, release3, asked, refused)))
        threads.append(threading.Thread(target=connect_until, args=(stop, release3, ports, refused)))
        for thread in threads:
            thread.start()
        try:
            end = time.monotonic() + SECONDS
            while (began := time.monotonic()) < end:
                rotate_once(release3, looking[0])
                rounds += 1
                time.sleep(max(0.0, began + ROTATE_EVERY - time.monotonic()))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        last = files.stored(tmp_path / "0")
        assert last == files.stored(tmp_path / "1")
        assert last
        assert serving([Endpoint("127.0.0.1", each, "127.0.0.1") for each in ports], last.certificate) is Seen.ALL
    assert refused == []
    assert trouble == []
    assert rounds >= 2
    assert len(asked) > 2 * SECONDS
