"""What a connection remembers of its requests changes nothing of what gunicorn makes of their bytes."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from gunicorn.config import Config  # type: ignore[import-untyped]
from gunicorn.http.parser import RequestParser  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.connection import LONGEST_HEAD_BYTES, MOST_HEADS, Connection, Requests

CALLER = ("::ffff:10.0.0.1", 40_000)

GOOD_LINES = [
    "Host: hooks",
    "Accept: application/json, */*",
    "Content-Type: application/json",
    "Authorization: Bearer token",
    "Authorization: Bearer nekot",
    "Connection: keep-alive",
    "Expect: 100-continue",
    "X-Forwarded-Proto: http",
    "X: Content-Length: 3",
]
OTHER_LINES = [
    "Host: other",
    "Connection: close",
    "Expect: the unexpected",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip",
    "X-Forwarded-Proto: https",
    "Content-Length: 3",
    "Content-Length:3",
    "Content-Length: -3",
    "Content-Length : 3",
    "X_Y: 1",
    " folded: 3",
    "no colon",
    "X: \x00",
    "",
]
"""Headers that are refused, or end a connection, some only beside others."""

LINES = st.one_of(*(9 * [st.sampled_from(GOOD_LINES)]), st.sampled_from(OTHER_LINES))
FIRST_LINES = st.sampled_from(
    [
        *(9 * ["POST /validate?timeout=10s HTTP/1.1"]),
        "POST /mutate HTTP/1.1",
        "GET / HTTP/1.0",
        "post / HTTP/1.1",
        "POST",
    ]
)


def configuration() -> Config:
    """The settings that reading depends on, as the server has them."""
    config = Config()
    for name, value in {
        "certfile": "tls.crt",
        "forwarded_allow_ips": "",
        "limit_request_line": 2048,
        "limit_request_fields": 64,
    }.items():
        config.set(name, value)
    return config


CONFIGURATION = configuration()


def head(first: str, lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in (first, *lines, "")).encode("latin-1")


@st.composite
def connections(draw: st.DrawFn) -> list[bytes]:
    """What a caller sends: a few heads, again and again, with bodies of different lengths."""
    lines = draw(st.lists(LINES, max_size=4, unique=True))
    heads = [(draw(FIRST_LINES), lines), (draw(FIRST_LINES), lines[:-1]), (draw(FIRST_LINES), lines[1:])]
    return [draw(requests(*draw(st.sampled_from(heads)))) for _ in range(draw(st.integers(2, 8)))]


@st.composite
def requests(draw: st.DrawFn, first: str, lines: list[str]) -> bytes:
    """A request that begins as others do; some say how long it is in another way, or not at all."""
    body = b"x" * draw(st.sampled_from([3, 3, 40, 2000]))
    framings = [
        *(5 * [([f"Content-Length: {len(body)}"], body)]),
        ([f"content-length: {len(body)}"], body),
        ([f"Content-Length: 0{len(body)}"], body),
        (["Transfer-Encoding: chunked"], b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)),
        ([], b""),
    ]
    said, content = draw(st.sampled_from(framings))
    return head(first, [*lines[:1], *said, *lines[1:]]) + content


def cut(sent: Sequence[bytes], size: int) -> Iterator[bytes]:
    """Let bytes arrive in pieces of a size."""
    whole = b"".join(sent)
    return (whole[start : start + size] for start in range(0, len(whole), size))


def told(parser: RequestParser, taken: int) -> Iterator[Any]:
    """Tell all that is known of each request, a part of its body read, until the connection ends and why."""
    try:
        for request in parser:
            known = {name: value for name, value in vars(request).items() if name not in ("body", "unreader", "_heads")}
            yield known, type(request.body.reader), request.body.read(taken), request.should_close()
    except Exception as error:
        yield type(error), str(error)


@settings(deadline=None, max_examples=400)
@given(sent=connections(), size=st.sampled_from([7, 100, 8192]), taken=st.sampled_from([0, 3, 8192]))
def test_requests_are_what_gunicorn_reads_without_a_memory(sent: list[bytes], size: int, taken: int) -> None:
    remembering = Requests(CONFIGURATION, cut(sent, size), CALLER)
    forgetful = RequestParser(CONFIGURATION, cut(sent, size), CALLER)
    assert list(told(remembering, taken)) == list(told(forgetful, taken))


def uris(heads: Sequence[bytes]) -> list[str]:
    """Return the URIs of requests in turn; of a head that is remembered it is the very same object."""
    return [request.uri for request in Requests(CONFIGURATION, iter(heads), CALLER)]


def numbered(number: int, length: int = 0) -> bytes:
    return head(f"POST /{number} HTTP/1.1", ["Host: hooks", f"Content-Length: {length}"]) + b"x" * length


def test_a_head_is_read_once_for_bodies_of_all_lengths() -> None:
    first, other, again = uris([numbered(1, length=3), numbered(2), numbered(1, length=4000)])
    assert again is first
    assert other is not first


@pytest.mark.parametrize(
    "heads",
    [
        pytest.param([numbered(number) for number in range(MOST_HEADS + 1)], id="too many"),
        pytest.param(
            [head("POST /long HTTP/1.1", [f"X: {'x' * LONGEST_HEAD_BYTES}", "Content-Length: 0"])], id="one too long"
        ),
    ],
)
def test_a_caller_cannot_fill_the_memory(heads: list[bytes]) -> None:
    read = uris([*heads, heads[0]])
    assert read[-1] == read[0]
    assert read[-1] is not read[0]


def test_a_connection_is_closed_once_and_never_in_vain() -> None:
    ours, theirs = socket.socketpair()
    connection = Connection(CONFIGURATION, ours, CALLER, CALLER)
    with theirs:
        connection.close(graceful=True)
        assert theirs.recv(1) == b""
        connection.close()
        connection.close(graceful=True)


def test_a_connection_that_lost_its_socket_is_closed_too() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        connection = Connection(CONFIGURATION, ours, CALLER, CALLER)
        ours.close()  # as a handshake that fails leaves it
        connection.close(graceful=True)
