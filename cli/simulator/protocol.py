"""The wire between Metacontroller and its hooks, version v2: requests built of bytes, answers decoded strictly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

import msgspec

from cli.simulator.entry import Entry, encode

HookName = Literal["sync", "finalize"]


@dataclass(frozen=True, slots=True)
class HookResponse:
    """What a hook's server answered; ``retry_after`` is the header in seconds, None where it is missing."""

    status: int
    body: bytes = b""
    retry_after: int | None = None


HookCaller = Callable[[str, str, bytes], HookResponse]
"""Calls a hook: name of the CompositeController, ``sync`` or ``finalize``, JSON body."""


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of an answer. Version v2 is read strictly: a key that Metacontroller does not know is an error."""

    status: dict[str, Any] | None = None
    children: list[dict[str, Any]] | None = None
    resync_after_seconds: float = 0
    finalized: bool = False


class HookFailed(Exception):
    """The hook gave no usable answer; the text is what Metacontroller would log."""


class TooManyRequests(Exception):
    """The hook answered 429; ``after`` is in seconds, 0 where no delay was given."""

    def __init__(self, after: int) -> None:
        super().__init__(f"too many requests, again after {after} s")
        self.after = after


_decode = msgspec.json.Decoder(Answer).decode
_NAME = attrgetter("qualified_name")


def request_body(
    controller: bytes, parent: Entry, children: Mapping[str, Iterable[Entry]], *, finalizing: bool
) -> bytes:
    """Write the body of a sync or finalize request; ``children`` by key of their kind, every declared kind present.

    The members stand in the order in which Metacontroller writes them, children sorted by namespace and name. Related
    objects are always empty: no customize hook is ever installed.
    """
    groups = [
        encode(key) + b":{" + b",".join([entry.fragment for entry in sorted(entries, key=_NAME)]) + b"}"
        for key, entries in sorted(children.items())
    ]
    flag = b"true" if finalizing else b"false"
    return b"".join((
        b'{"controller":', controller, b',"parent":', parent.json,
        b',"children":{', b",".join(groups), b'},"related":{},"finalizing":', flag, b"}",
    ))  # fmt: skip


def read_answer(hook: HookName, response: HookResponse) -> Answer:
    """Decode an answer; raises TooManyRequests for a 429 and HookFailed for everything that is no proper 200."""
    if response.status == 429:
        raise TooManyRequests(max(0, response.retry_after or 0))
    if response.status != 200:
        text = response.body.decode(errors="replace")
        raise HookFailed(f"{hook} hook failed (version=v2): unsupported status code: {response.status} body: {text}")
    try:
        answer = _decode(response.body)
    except msgspec.DecodeError as error:
        problem = f"can't unmarshal webhookResponse (version: v2, type: {hook}): {error}"
        raise HookFailed(f"{hook} hook failed (version=v2): {problem}") from error
    for child in answer.children or ():
        if not isinstance(child.get("kind"), str) or not child["kind"]:
            raise HookFailed(
                f"{hook} hook failed (version=v2): can't unmarshal webhookResponse: Object 'Kind' is missing"
            )
    return answer
