"""Bodies are bounded, alone and together, and whatever goes wrong while they come is said to their sender."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from gunicorn.http.errors import InvalidChunkSize, NoMoreData  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.hooks_client import TOKEN, client_of_hooks
from webhook.app import create_app
from webhook.body import BUDGET, Budget
from webhook.limits import MOST_BYTES, SMALL_BYTES
from webhook.settings import ADMISSION, Settings

LARGE = MOST_BYTES[ADMISSION]
ROOM = LARGE + (1 << 20)  # for one of the largest, not for two
UID = b'{"request":{"uid":"705ab4f5"}}'
CHUNKED = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
FRAMINGS = pytest.mark.parametrize("framing", [{}, CHUNKED], ids=["announced", "in chunks"])


@pytest.fixture
def app() -> Flask:
    app = create_app(ADMISSION, Settings(ADMISSION))
    app.config[BUDGET] = Budget(ROOM)
    return app


@pytest.fixture
def client(app: Flask) -> Iterator[FlaskClient]:
    """A client of admission, after whose calls no room is taken."""
    yield app.test_client()
    assert app.config[BUDGET].take(ROOM)


def call(client: FlaskClient, body: Any, framing: dict[str, str], length: int | None = None) -> Any:
    stream = io.BytesIO(body) if isinstance(body, bytes) else body
    announced = str(len(body) if length is None else length)
    return client.post(
        "/validate",
        input_stream=stream,
        content_type="application/json",
        environ_overrides={"CONTENT_LENGTH": announced, **framing},
    )


class _Broken(io.RawIOBase):
    """A connection that gives some bytes and then an error."""

    def __init__(self, error: Exception) -> None:
        self._given, self._error = io.BytesIO(UID), error

    def read(self, size: int = -1) -> bytes:
        given = self._given.read(size)
        if not given:
            raise self._error
        return given

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return 0

    def seek(self, position: int, whence: int = 0) -> int:
        return LARGE if whence else position  # as long as it says that it is

    def __len__(self) -> int:
        return LARGE


BROKEN = pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(ConnectionResetError(104, "the request took too long"), 408, id="it stops"),
        pytest.param(TimeoutError("timed out"), 408, id="it stops in another way"),
        pytest.param(InvalidChunkSize(b"x"), 400, id="a chunk has no size"),
        pytest.param(NoMoreData(), 400, id="it is broken off"),
    ],
)


@FRAMINGS
@pytest.mark.parametrize("size", [LARGE, LARGE - 1, SMALL_BYTES, SMALL_BYTES + 1])
def test_a_body_up_to_the_limit_is_read(client: FlaskClient, framing: dict[str, str], size: int) -> None:
    answer = call(client, UID.ljust(size), framing)
    assert answer.status_code == 400  # read, and found to be no review
    assert answer.json["response"]["uid"] == "705ab4f5"


@FRAMINGS
def test_a_body_that_is_too_large_is_refused_with_its_uid(client: FlaskClient, framing: dict[str, str]) -> None:
    answer = call(client, UID.ljust(LARGE + 1), framing)
    assert answer.status_code == 413
    assert answer.json["response"]["uid"] == "705ab4f5"
    assert answer.json["response"]["status"]["reason"] == "RequestEntityTooLarge"


@FRAMINGS
def test_where_there_is_no_room_callers_are_asked_to_come_again(
    client: FlaskClient, app: Flask, framing: dict[str, str]
) -> None:
    app.config[BUDGET].take(ROOM - SMALL_BYTES)
    assert call(client, UID.ljust(SMALL_BYTES), framing).status_code == 400
    answer = call(client, UID.ljust(SMALL_BYTES + 1), framing)
    app.config[BUDGET].give_back(ROOM - SMALL_BYTES)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    assert answer.json["response"]["uid"] == "705ab4f5"
    assert answer.json["response"]["allowed"] is False


def test_a_body_that_ends_early_is_refused(client: FlaskClient) -> None:
    answer = call(client, UID, {}, length=LARGE)
    assert answer.status_code == 400
    assert answer.json["response"]["status"]["message"] == "the body ended before its length"


@FRAMINGS
@BROKEN
def test_a_body_that_does_not_come_is_the_senders_trouble(
    client: FlaskClient, framing: dict[str, str], error: Exception, status: int
) -> None:
    answer = call(client, _Broken(error), framing)
    assert answer.status_code == status
    assert answer.json["response"]["allowed"] is False


@BROKEN
def test_a_hooks_body_that_does_not_come_is_the_senders_trouble(tmp_path: Any, error: Exception, status: int) -> None:
    answer = client_of_hooks(tmp_path).post(
        "/hooks/cre-jobs/sync",
        input_stream=_Broken(error),
        headers={"Authorization": f"Bearer {TOKEN}"},
        environ_overrides={"CONTENT_LENGTH": str(LARGE)},
    )
    assert answer.status_code == status
    assert answer.json is not None
    assert answer.json["error"]["message"]


def test_a_stranger_takes_no_room_of_the_hooks(tmp_path: Any) -> None:
    client = client_of_hooks(tmp_path)
    client.application.config[BUDGET] = Budget(0)
    large = {"CONTENT_LENGTH": str(SMALL_BYTES + 1)}
    for token, status in (("", 401), (TOKEN, 429)):
        headers = {"Authorization": f"Bearer {token}"}
        answer = client.post("/hooks/cre-jobs/sync", headers=headers, environ_overrides=large)
        assert answer.status_code == status
    assert answer.headers["Retry-After"] == "1"


@pytest.mark.parametrize(
    "error", [ConnectionResetError(104, "gone"), InvalidChunkSize(b"x")], ids=["silent", "malformed"]
)
def test_a_sender_that_stops_is_told_that_it_was_too_large_all_the_same(client: FlaskClient, error: Exception) -> None:
    answer = call(client, _Broken(error), {}, length=LARGE + 1)
    assert answer.status_code == 413
    assert answer.json["response"]["uid"] == "705ab4f5"


def test_trouble_that_nobody_thought_of_is_a_review_too(client: FlaskClient) -> None:
    answer = call(client, _Broken(RuntimeError("unthought of")), {})
    assert answer.status_code == 500
    assert answer.json["response"]["allowed"] is False
    assert "unthought" not in answer.text


@given(most=st.integers(0, 100), asked=st.lists(st.integers(1, 60)))
def test_no_more_is_ever_taken_than_there_is_and_all_of_it_comes_back(most: int, asked: list[int]) -> None:
    budget = Budget(most)
    taken = [size for size in asked if budget.take(size)]
    assert sum(taken) <= most
    for size in taken:
        budget.give_back(size)
    assert budget.take(most)
    assert not budget.take(1)
