"""The Secret's content is read whatever it is, and written so that reading it gives the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certs.authority import KeyPair
from certs.credentials import Certificates, Credentials, Progress, Stage, Tokens, is_ours, read, write

MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
KEYS = [
    "ca.crt",
    "ca.key",
    "tls.crt",
    "next-ca.crt",
    "old-ca.crt",
    "rotation.json",
    "tokens",
    "token-1",
    "token-x",
    "a",
]

pairs = st.builds(KeyPair, st.binary(min_size=1, max_size=8), st.binary(max_size=8))
moments = st.none() | st.datetimes(min_value=datetime(2020, 1, 1), timezones=st.just(UTC))
progress = st.builds(Progress, moments, moments)
token_texts = st.text("abcXYZ019_-", min_size=32, max_size=40)


@st.composite
def tokens(draw: st.DrawFn) -> Tokens:
    values = draw(st.dictionaries(st.integers(1, 999), token_texts, min_size=1, max_size=3))
    return Tokens(values, draw(st.sampled_from(sorted(values))), draw(moments), draw(progress))


certificates = st.builds(
    Certificates,
    st.none() | pairs,
    st.none() | pairs,
    st.none() | pairs,
    st.none() | pairs,
    st.binary(max_size=8),
    progress,
)


@given(st.builds(Credentials, certificates, tokens()))
def test_what_was_written_is_read_back(credentials: Credentials) -> None:
    assert read(write(credentials)) == credentials


@given(st.dictionaries(st.sampled_from(KEYS), st.binary(max_size=40)))
def test_any_content_is_read(data: dict[str, bytes]) -> None:
    read(data)


@given(st.dictionaries(st.sampled_from(KEYS), st.binary(max_size=40)))
def test_writing_what_was_read_settles_at_once(data: dict[str, bytes]) -> None:
    once = write(read(data))
    assert write(read(once)) == once


@given(st.builds(Credentials, certificates, tokens()))
def test_every_key_that_is_written_is_ours(credentials: Credentials) -> None:
    assert all(is_ours(key) for key in write(credentials))


@pytest.mark.parametrize("key", ["user.crt", "token-", "token-0", "token-1a", "TOKENS", "tls.crt.bak"])
def test_other_keys_are_not_ours(key: str) -> None:
    assert not is_ours(key)


A, B = KeyPair(b"a", b"a"), KeyPair(b"b", b"b")


@pytest.mark.parametrize(
    ("certificates", "stage"),
    [
        pytest.param(Certificates(A, A), Stage.STEADY, id="nothing but the current ones"),
        pytest.param(Certificates(A, A, B, B), Stage.PUBLISHING, id="a next CA"),
        pytest.param(
            Certificates(A, A, B, B, progress=Progress(MOMENT, MOMENT)), Stage.PUBLISHED, id="a next CA that all know"
        ),
        pytest.param(Certificates(B, B, old_authority=b"a"), Stage.SWITCHING, id="an old CA"),
        pytest.param(
            Certificates(B, B, old_authority=b"a", progress=Progress(MOMENT, MOMENT)),
            Stage.SWITCHED,
            id="an old CA that nobody needs",
        ),
    ],
)
def test_the_stage_follows_from_what_is_there(certificates: Certificates, stage: Stage) -> None:
    assert certificates.stage is stage


@pytest.mark.parametrize(
    ("numbers", "confirmed", "stage"),
    [
        ([2], False, Stage.STEADY),
        ([2, 3], False, Stage.PUBLISHING),
        ([2, 3], True, Stage.PUBLISHED),
        ([1, 2], False, Stage.SWITCHING),
        ([1, 2], True, Stage.SWITCHED),
    ],
)
def test_tokens_go_through_the_same_stages(numbers: list[int], confirmed: bool, stage: Stage) -> None:
    tokens = Tokens(dict.fromkeys(numbers, "t"), 2, progress=Progress(MOMENT, MOMENT if confirmed else None))
    assert tokens.stage is stage


def test_without_its_record_the_newest_token_is_the_current_one() -> None:
    data = write(Credentials(tokens=Tokens({3: "c" * 40, 4: "d" * 40}, 3)))
    assert read({**data, "rotation.json": b"{"}).tokens.current == 4


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({"tokens": {"current": []}}, id="a list for a number"),
        pytest.param({"tokens": {"current": {}}}, id="an object for a number"),
        pytest.param({"tokens": {"made": "0001-01-01T00:00:00+23:00"}}, id="before the first year"),
        pytest.param({"certificates": {"since": "9999-12-31T23:59:59-23:00"}}, id="after the last year"),
        pytest.param({"certificates": {"confirmed": [1]}}, id="a list for a time"),
    ],
)
def test_a_spoilt_record_of_the_rotation_is_none(record: dict[str, Any]) -> None:
    spoilt = {"token-3": b"x" * 40, "rotation.json": json.dumps(record).encode()}
    assert read(spoilt) == read({"token-3": b"x" * 40})
    assert write(read(spoilt))


def test_a_record_nested_too_deeply_is_none() -> None:
    assert read({"rotation.json": b"[" * 100_000}) == Credentials()


def test_the_file_of_tokens_has_one_a_line() -> None:
    data = write(Credentials(tokens=Tokens({4: "d" * 40, 3: "c" * 40}, 3)))
    assert data["tokens"] == b"c" * 40 + b"\n" + b"d" * 40 + b"\n"


def test_a_token_that_is_none_is_absent() -> None:
    assert read({"token-1": b"short", "token-2": b"two\nlines" + b"x" * 32}).tokens == replace(Tokens(), values={})
