"""Admission on real nodes while its replicas are replaced, under load, and while strangers hold connections open."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from certs.api import ApiError
from tests.cluster.chart.release import INSTANCE, NAME, Release
from tests.e2e.installed import Product, values, wait_for_pods

A_SECOND = 50
CALLS_AT_ONCE = 16
SETTLED_SECONDS = 3.0
SILENT = 20
TLS_PORT = 8443
ADMISSION = f"--selector={INSTANCE},app.kubernetes.io/component=admission"


@dataclass
class Load:
    """What was asked, and what was answered with anything but yes."""

    asked: int = 0
    refused: list[str] = field(default_factory=list)


@contextmanager
def load(release: Release) -> Iterator[Load]:
    """Create WorkloadRuns as dry runs, fifty a second whatever becomes of them; admission is asked all the same."""
    seen, stop, local = Load(), threading.Event(), threading.local()

    def ask() -> None:
        if not hasattr(local, "api"):
            local.api = release.api
        try:
            release.ask(local.api)
        except ApiError as error:
            seen.refused.append(str(error))

    def keep() -> None:
        began = time.monotonic()
        with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
            while not stop.wait(max(0.0, began + seen.asked / A_SECOND - time.monotonic())):
                pool.submit(ask)
                seen.asked += 1

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def admission_pods(release: Release) -> dict[str, str]:
    """Return the addresses of admission's pods, those that are ending included, by name."""
    pods = release.cluster.kubectl.list("pods", ADMISSION)
    return {pod["metadata"]["name"]: pod["status"].get("podIP", "") for pod in pods}


def test_no_request_fails_while_both_replicas_of_admission_are_replaced(product: Product) -> None:
    release = product.release
    before = admission_pods(release)
    with load(release) as seen:
        time.sleep(SETTLED_SECONDS)
        release.cluster.kubectl("rollout", "restart", f"deployment/{NAME}-admission")
        wait_for_pods(release)
        release.cluster.eventually(lambda: not before.keys() & admission_pods(release).keys(), 120)
        time.sleep(SETTLED_SECONDS)
    assert seen.refused == []
    assert seen.asked > A_SECOND * SETTLED_SECONDS


def test_silent_connections_hold_up_no_admission(product: Product) -> None:
    """The API server gives up after one second here: a WorkloadRun that is created was answered within it."""
    release = product.release
    release.upgrade(*values(), "admission.timeoutSeconds=1")
    try:
        with ExitStack() as held:
            for address in admission_pods(release).values():
                for _ in range(SILENT):
                    held.enter_context(socket.create_connection((address, TLS_PORT)))
            api = release.api
            for _ in range(SILENT):
                release.ask(api)
    finally:
        release.rollback()
    wait_for_pods(release)
