"""Health, readiness and metrics on a port of their own: plain HTTP, no token, nothing that a stranger may not know.

One thread answers everybody. Anybody may call, so a caller has one request, little time, and a place until too many
come after it. A probe sends its request at once, and is answered at once.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus

from webhook.metrics import CONTENT_TYPE, READY, exposition

TEXT = "text/plain; charset=utf-8"
SECONDS = 3.0  # for a request, from when it is accepted until it is answered; kubelet waits 5
MOST_CALLERS = 64  # each is an open file; kubelet and Prometheus are a few
BACKLOG = 256  # not accepted yet, no file of ours; the last is answered in a second, even if all ask for metrics
MOST_HEAD_BYTES = 8 << 10
MOST_REST_READS = 16  # of what a caller sends beyond its head, 64 KiB each
NO_FILES_SECONDS = 0.1  # until it is tried again to accept, where none of the files is a caller's

log = logging.getLogger(__name__)


class Health:
    """Whether the process asks for requests. It does from `serve` on, until it is told to end."""

    def __init__(self) -> None:
        self._ready = threading.Event()

    @property
    def ready(self) -> bool:
        """Whether the process asks for requests."""
        return self._ready.is_set()

    def become_ready(self) -> None:
        """Ask for requests."""
        self._ready.set()
        READY.set(1)

    def become_unready(self) -> None:
        """Ask for no more requests; those that come are answered all the same."""
        self._ready.clear()
        READY.set(0)


def listen(port: int) -> socket.socket:
    """Listen at every address, of both families where the system has both. Raises OSError if the port is taken."""
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    listener = socket.create_server(("", port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    listener.setblocking(False)
    return listener


def serve(health: Health, listener: socket.socket) -> Door:
    """Serve the three paths from a thread of their own, until the door is left or the process ends."""
    door = Door(listener)
    threading.Thread(target=_serve, args=(door, health), name="health", daemon=True).start()
    return door


class Door:
    """Where callers come in. Other processes may stand at it too: who comes goes to one that is free, to no other.

    So a process that hangs keeps nobody, and one that leaves takes nobody along.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._left, self._empty = threading.Event(), threading.Event()
        self._wake, self._awake = socket.socketpair()
        self._awake.setblocking(False)

    def leave(self) -> None:
        """Let in nobody else, and wait until those who are in are answered: none takes longer than it may."""
        self._left.set()
        self._wake.close()  # seen by who waits
        self._empty.wait(SECONDS)

    def close(self) -> None:
        """Note that nobody is in any more."""
        self._empty.set()

    async def next_caller(self) -> socket.socket | None:
        """Return the next caller, or None once the door is left. Raises OSError where none can be let in."""
        while not self._left.is_set():
            try:
                caller, _ = self._listener.accept()
            except BlockingIOError:  # nobody is there, or another process was faster
                await self._knock()
            else:
                caller.setblocking(False)
                return caller
        return None

    async def _knock(self) -> None:
        loop, knocked = asyncio.get_running_loop(), asyncio.Event()
        for heard in (self._listener, self._awake):
            loop.add_reader(heard, knocked.set)
        await knocked.wait()
        for heard in (self._listener, self._awake):
            loop.remove_reader(heard)


class _Callers:
    """Who is connected, in the order of coming; the first goes where there is no place for another."""

    def __init__(self) -> None:
        self._talks: dict[asyncio.Task[None], None] = {}

    async def join(self, caller: socket.socket, talk: Coroutine[None, None, None]) -> None:
        """Begin to talk to a caller."""
        if len(self._talks) >= MOST_CALLERS:
            await self.dismiss_first()
        task = asyncio.create_task(talk)
        self._talks[task] = None
        task.add_done_callback(lambda _: self._leave(task, caller))

    async def dismiss_first(self) -> bool:
        """End the talk that has taken longest, and tell whether there was one."""
        first = next(iter(self._talks), None)
        if first is None:
            return False
        first.cancel()
        await asyncio.wait([first])
        return True

    async def hear_out(self) -> None:
        """Wait until all are answered."""
        if self._talks:
            await asyncio.wait(self._talks)

    def _leave(self, task: asyncio.Task[None], caller: socket.socket) -> None:
        del self._talks[task]
        caller.close()


def _serve(door: Door, health: Health) -> None:
    asyncio.run(_receive(door, health))
    door.close()


async def _receive(door: Door, health: Health) -> None:
    """Let callers in one by one; each that has sent its request is answered before the next one is let in."""
    callers = _Callers()
    while True:
        try:
            caller = await door.next_caller()
        except OSError as error:  # the process has no file left, or the caller is gone already
            log.debug("no caller of health could be accepted: %s", error)
            if not await callers.dismiss_first():
                await asyncio.sleep(NO_FILES_SECONDS)
            continue
        if caller is None:
            return await callers.hear_out()
        await callers.join(caller, _talk(caller, health))
        await asyncio.sleep(0)  # where many wait, accepting alone never gives way to the others


async def _talk(caller: socket.socket, health: Health) -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(SECONDS):
            await loop.sock_sendall(caller, _answer(await _head(caller), health))
            caller.shutdown(socket.SHUT_WR)
            await _hear_out(caller)
    except OSError as error:  # a timeout is one too
        log.debug("a caller of health was left: %s", error)


async def _head(caller: socket.socket) -> bytes:
    """Read a request's head, or what there is of it when the caller ends or has sent too much."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MOST_HEAD_BYTES:
        received = await asyncio.get_running_loop().sock_recv(caller, MOST_HEAD_BYTES - len(head))
        if not received:
            break
        head += received
    return head


async def _hear_out(caller: socket.socket) -> None:
    """Read on until the caller has closed: to close before it takes the answer away from whoever sends a body."""
    for _ in range(MOST_REST_READS):
        if not await asyncio.get_running_loop().sock_recv(caller, 64 << 10):
            return


def _answer(head: bytes, health: Health) -> bytes:
    line, _, _ = head.partition(b"\r\n")
    method, _, rest = line.decode("latin-1").partition(" ")
    target, _, version = rest.partition(" ")
    if b"\r\n\r\n" not in head or not version.startswith("HTTP/1."):
        too_long = len(head) >= MOST_HEAD_BYTES
        return _refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if too_long else HTTPStatus.BAD_REQUEST)
    if method == "HEAD":  # nobody needs it, and its answer has no body
        return _written(HTTPStatus.METHOD_NOT_ALLOWED, TEXT, b"")
    answer = _PATHS.get(target.partition("?")[0])
    if answer is None:
        return _refused(HTTPStatus.NOT_FOUND)
    return _written(*answer(health)) if method == "GET" else _refused(HTTPStatus.METHOD_NOT_ALLOWED)


def _refused(status: HTTPStatus) -> bytes:
    return _written(status, TEXT, f"{status.phrase.lower()}\n".encode())


def _written(status: HTTPStatus, content_type: str, body: bytes) -> bytes:
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        *(("Allow: GET",) if status is HTTPStatus.METHOD_NOT_ALLOWED else ()),
        "Connection: close",
    )
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1") + body


def _readiness(health: Health) -> tuple[HTTPStatus, str, bytes]:
    return (HTTPStatus.OK, TEXT, b"ready\n") if health.ready else (HTTPStatus.SERVICE_UNAVAILABLE, TEXT, b"not ready\n")


_PATHS: Mapping[str, Callable[[Health], tuple[HTTPStatus, str, bytes]]] = {
    "/healthz": lambda _: (HTTPStatus.OK, TEXT, b"ok\n"),
    "/readyz": _readiness,
    "/metrics": lambda _: (HTTPStatus.OK, CONTENT_TYPE, exposition()),
}
