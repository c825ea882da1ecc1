"""Events are told beside the answers: they never delay one, nor the end of a process, and never fail one."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from prometheus_client import REGISTRY

from sync_hooks.api.observed import LiveObject, Metadata
from sync_hooks.api.sync import Event
from tests.support.hooks import NOW
from webhook import events
from webhook.apiserver import ApiError
from webhook.events import MOST_WAITING, EventPoster

PARENT = LiveObject("cre.nvidia.com/v1alpha1", "Job", Metadata(name="job", namespace="ns", uid="uid"))


class Api:
    """An API server that takes events once it is told to, or refuses them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.began, self.go_on, self.enough = threading.Event(), threading.Event(), threading.Event()
        self.posted: list[str] = []

    def post(self, _: Any, body: dict[str, Any]) -> None:
        self.began.set()
        self.go_on.wait(10)
        self.posted.append(body["message"])
        if body["message"] == "last":
            self.enough.set()
        if self.error is not None:
            raise self.error


def told(message: str) -> tuple[Event, ...]:
    return (Event("Warning", "Reason", message, message),)


def dropped() -> float:
    return REGISTRY.get_sample_value("workloadrun_events_dropped_total") or 0


def test_more_events_than_may_wait_are_dropped_and_counted() -> None:
    api, before = Api(), dropped()
    poster = EventPoster(api)  # type: ignore[arg-type]
    poster.post(PARENT, told("first"), NOW)
    assert api.began.wait(10)
    for number in range(MOST_WAITING + 7):
        poster.post(PARENT, told(str(number)), NOW)
    assert dropped() == before + 7
    api.go_on.set()


@pytest.mark.parametrize("error", [ApiError(403, "forbidden"), RuntimeError("ours")], ids=str)
def test_an_event_that_is_not_taken_is_counted_and_the_next_one_is_posted(error: Exception) -> None:
    api, before = Api(error), dropped()
    api.go_on.set()
    poster = EventPoster(api)  # type: ignore[arg-type]
    poster.post(PARENT, told("first"), NOW)
    poster.post(PARENT, told("last"), NOW)
    assert api.enough.wait(10)
    assert api.posted == ["first", "last"]
    assert dropped() >= before + 1


def test_an_event_that_cannot_be_written_fails_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> dict[str, Any]:
        raise ValueError("ours")

    monkeypatch.setattr(events, "event_object", failing)
    before = dropped()
    EventPoster(Api()).post(PARENT, told("first"), NOW)  # type: ignore[arg-type]
    assert dropped() == before + 1


SLOW = """
from datetime import UTC, datetime
from threading import Event as Flag
from sync_hooks.api.observed import LiveObject, Metadata
from sync_hooks.api.sync import Event
from webhook.events import EventPoster

class Api:
    def post(self, *_):
        Flag().wait(60)

poster, parent = EventPoster(Api()), LiveObject("v1", "Job", Metadata(name="job"))
for number in range(20):
    poster.post(parent, (Event("Warning", "R", "m", str(number)),), datetime.now(UTC))
"""


def test_events_that_still_wait_do_not_delay_the_end_of_a_process() -> None:
    subprocess.run([sys.executable, "-c", SLOW], timeout=30, check=True)
