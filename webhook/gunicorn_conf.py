"""How gunicorn runs the server: ``gunicorn -c python:webhook.gunicorn_conf``. One worker, many threads, TLS.

One worker a process, because snapshots of the cluster and compiled expressions are shared by threads; more capacity is
more replicas. On SIGTERM: readiness off, go on answering until callers have noticed, then end.
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
from types import FrameType
from typing import Any

from webhook.health import Health, serve
from webhook.limits import THREADS, most_connections
from webhook.memory import give_back_early
from webhook.settings import SettingsError, read_settings
from webhook.tls import CERTIFICATE, KEY, ServingCertificate

DRAIN_SECONDS = 4.0  # endpoints are told within a second or two; what comes until then is still answered
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
    THREADS  # made when needed; a slow caller holds one for REQUEST_SECONDS at most, and for its head HEAD_SECONDS
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
_health = Health()


def ssl_context(config: Any, default_ssl_context_factory: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:  # noqa: ARG001
    """Return the TLS context of one connection: gunicorn asks for it at each handshake."""
    return _certificate.context()


def post_worker_init(worker: Any) -> None:
    """Begin to serve health and to ask for requests, once the application is loaded."""
    _settle(worker.cfg)
    give_back_early()
    gc.freeze()  # what is loaded now stays for ever: no collection needs to look at it again
    serve(_health, settings.health_port)
    _health.become_ready()
    signal.signal(signal.SIGTERM, _draining(worker))


def _settle(config: Any) -> None:
    """Put the settings where an attribute is looked for first: gunicorn asks for fifty a request, at 0.03 ms in all."""
    vars(config).update({name: setting.get() for name, setting in config.settings.items()})


def _draining(worker: Any) -> Callable[[int, FrameType | None], None]:
    """Put the drain before gunicorn's own end, which drops what waits to be accepted."""

    def drain(number: int, frame: FrameType | None) -> None:
        _health.become_unready()
        timer = threading.Timer(DRAIN_SECONDS, worker.handle_exit, (number, frame))
        timer.daemon = True
        timer.start()

    return drain
