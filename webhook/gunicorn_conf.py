"""How gunicorn runs the server: ``gunicorn -c python:webhook.gunicorn_conf``. One worker, many threads, TLS.

One worker a process, because snapshots of the cluster and compiled expressions are shared by threads; more capacity is
more replicas, so signals that ask for another worker or another server beside this one are not heard. On SIGTERM:
readiness off, go on answering until callers have noticed, then end. On SIGHUP: a new worker, and the old one goes on
answering until that one does.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from time import sleep
from types import FrameType
from typing import Any

from webhook.health import Door, Health, listen, serve
from webhook.limits import THREADS, most_connections
from webhook.memory import give_back_early
from webhook.settings import SettingsError, read_settings
from webhook.succession import Succession
from webhook.tls import CERTIFICATE, KEY, ServingCertificate

DRAIN_SECONDS = 4.0  # endpoints are told within a second or two; what comes until then is still answered
SUCCESSOR_SECONDS = 25.0  # to load; gunicorn waits for the end of the worker before as long as for requests under way
HEARTBEATS = "/dev/shm"  # noqa: S108  in memory: a slow disk must not look like a hanging worker

try:
    settings = read_settings(os.environ)
except SettingsError as error:
    sys.exit(f"error: {error}")
if settings.tls_dir is None:
    raise AssertionError("read_settings lets no server without TLS through")

wsgi_app = "webhook.app:from_environment()"
_ANY = "[::]" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104  pods are reached at every address they have
bind = [f"{_ANY}:{settings.port}"]
worker_class = "webhook.worker.PatientWorker"  # gthread
workers = 1
threads = (
    THREADS  # made when needed; a slow caller holds one for seconds, see `webhook.tls`, or until others wait for it
)
worker_connections = most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
worker_tmp_dir = HEARTBEATS if os.access(HEARTBEATS, os.W_OK) else None
timeout = 60  # without a heartbeat of the worker's main loop, which no request holds up
graceful_timeout = 30  # for requests under way; the time in which callers are let go included
keepalive = 75  # the API server keeps connections for 90 s; a connection a request costs a handshake each
certfile = str(settings.tls_dir / CERTIFICATE)
keyfile = str(settings.tls_dir / KEY)
do_handshake_on_connect = True
limit_request_line = 2048
limit_request_fields = 64
limit_request_field_size = 8190
forwarded_allow_ips = ""  # nobody stands between the API server and us whose word of a client would count
control_socket_disable = True  # nobody steers a running server, and the root file system is read-only
accesslog = None
errorlog = "-"
loglevel = "info"

_certificate = ServingCertificate(settings.tls_dir)
_succession = Succession()
_doors: list[socket.socket] = []  # of health: one, opened before there are workers and never closed


def ssl_context(config: Any, default_ssl_context_factory: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:  # noqa: ARG001
    """Return the TLS context of one connection: gunicorn asks for it at each handshake."""
    return _certificate.context()


def on_starting(server: Any) -> None:  # noqa: ARG001  the signature is gunicorn's
    """Open the port of health, once for all workers to come: two of them overlap where one follows another."""
    try:
        _doors.append(listen(settings.health_port))
    except OSError as error:
        sys.exit(f"error: the port of health, {settings.health_port}, cannot be listened at: {error.strerror}")


def when_ready(server: Any) -> None:  # noqa: ARG001
    """Close the ears of the first process to signals that would put a second worker or server beside the first."""
    for number in (signal.SIGTTIN, signal.SIGTTOU, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)


def pre_fork(server: Any, worker: Any) -> None:  # noqa: ARG001
    """Tell the worker before that another follows."""
    _succession.begin(worker.age)


def post_worker_init(worker: Any) -> None:
    """Begin to serve health and to ask for requests, once the application is loaded."""
    _settle(worker.cfg)
    give_back_early()
    gc.freeze()  # what is loaded now stays for ever: no collection needs to look at it again
    health = Health()
    health.become_ready()  # first: who has knocked meanwhile is let in at once
    door = serve(health, _doors[0])
    signal.signal(signal.SIGTERM, _ending(worker, health, door))
    _succession.take_over(worker.age)


def _settle(config: Any) -> None:
    """Put the settings where an attribute is looked for first: gunicorn asks for fifty a request, at 0.03 ms in all."""
    vars(config).update({name: setting.get() for name, setting in config.settings.items()})


def _ending(worker: Any, health: Health, door: Door) -> Callable[[int, FrameType | None], None]:
    """Put the drain, or the wait for a successor, before gunicorn's own end, which drops what waits to be accepted."""

    def wait_for_successor() -> None:
        _succession.wait_for_successor(worker.age, SUCCESSOR_SECONDS)
        door.leave()
        worker.handle_exit(signal.SIGTERM, None)

    def drain() -> None:
        sleep(DRAIN_SECONDS)
        worker.handle_exit(signal.SIGTERM, None)

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signature is the handler's
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is under way
        followed = _succession.is_followed(worker.age)
        if not followed:
            health.become_unready()
        threading.Thread(target=wait_for_successor if followed else drain, name="end", daemon=True).start()

    return end
