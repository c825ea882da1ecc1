"""What the policy decides: one row a situation. Content is good unless a row says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from certs.authority import CLOCK_SKEW, KeyPair, issue
from certs.changes import changed
from certs.credentials import Certificates, Credentials, Progress, Stage, Tokens
from certs.inspection import Reason, authority_fault, serving_fault
from certs.policy import decide
from certs.settings import Settings
from certs.situation import Action, Decision, Facts, Seen, Situation, Track
from tests.support.installation import NAMES, NOW, SETTINGS, TOKEN, credentials, pair

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
GOOD = credentials()
NEXT_AUTHORITY, NEXT_SERVING = pair()
SETTLE, PATIENCE = SETTINGS.settle, SETTINGS.patience
BEGUN = Progress(since=NOW)
DONE = Progress(since=NOW, confirmed=NOW)

CERTIFICATES, TOKEN_TRACK = Track.CERTIFICATES, Track.TOKEN

NOTHING = Facts()
NOTICED = dict.fromkeys(Track, NOW)


def with_certificates(**changes: object) -> Credentials:
    return replace(GOOD, certificates=replace(GOOD.certificates, **changes))  # type: ignore[arg-type]


def with_tokens(*numbers: int, current: int, progress: Progress = BEGUN) -> Credentials:
    return replace(GOOD, tokens=Tokens(dict.fromkeys(numbers, TOKEN), current, made=NOW, progress=progress))


def publishing(progress: Progress) -> Credentials:
    return with_certificates(next_authority=NEXT_AUTHORITY, next_serving=NEXT_SERVING, progress=progress)


def switching(progress: Progress) -> Credentials:
    assert GOOD.certificates.authority
    old = GOOD.certificates.authority.certificate
    return replace(GOOD, certificates=Certificates(NEXT_AUTHORITY, NEXT_SERVING, old_authority=old, progress=progress))


def decisions(
    content: Credentials, facts: Facts = NOTHING, now: datetime = NOW, settings: Settings = SETTINGS
) -> list[tuple[Track, Action, Reason]]:
    found = decide(Situation(content, facts, settings, now, NOTICED))
    return [(decision.track, decision.action, decision.reason) for decision in found]


def test_good_content_is_left_alone() -> None:
    assert decisions(GOOD) == []


def test_an_empty_secret_gets_everything() -> None:
    assert decisions(Credentials()) == [
        (CERTIFICATES, Action.REPLACE, Reason.MISSING),
        (TOKEN_TRACK, Action.REPLACE, Reason.MISSING),
    ]


FOREIGN = pair()[1]
assert GOOD.certificates.authority
SHORT = issue(GOOD.certificates.authority, NAMES[:1], NOW)


@pytest.mark.parametrize(
    ("content", "now", "action", "reason"),
    [
        pytest.param(
            with_certificates(authority=KeyPair(b"garbage", b"garbage")),
            NOW,
            Action.REPLACE,
            Reason.UNREADABLE,
            id="a corrupt CA is replaced",
        ),
        pytest.param(
            with_certificates(authority=FOREIGN),
            NOW,
            Action.REPLACE,
            Reason.NOT_AN_AUTHORITY,
            id="a serving certificate in the CA's place is replaced",
        ),
        pytest.param(GOOD, NOW + 4000 * DAY, Action.REPLACE, Reason.EXPIRED, id="an expired CA is replaced"),
        pytest.param(
            with_certificates(serving=None), NOW, Action.REISSUE, Reason.MISSING, id="a missing certificate is issued"
        ),
        pytest.param(
            with_certificates(serving=FOREIGN), NOW, Action.REISSUE, Reason.FOREIGN, id="a foreign certificate too"
        ),
        pytest.param(
            with_certificates(serving=SHORT), NOW, Action.REISSUE, Reason.WRONG_NAMES, id="one without a name too"
        ),
        pytest.param(GOOD, NOW + 300 * DAY, Action.REISSUE, Reason.DUE, id="one in its last quarter too"),
        pytest.param(GOOD, NOW + 400 * DAY, Action.REISSUE, Reason.EXPIRED, id="an expired one too"),
        pytest.param(
            with_certificates(serving=issue(GOOD.certificates.authority, NAMES, NOW + 2700 * DAY)),
            NOW + 2800 * DAY,
            Action.PUBLISH,
            Reason.DUE,
            id="a CA in its last quarter gets a successor",
        ),
        pytest.param(
            with_certificates(next_authority=KeyPair(b"garbage", b""), next_serving=NEXT_SERVING, progress=BEGUN),
            NOW,
            Action.PUBLISH,
            Reason.UNREADABLE,
            id="a corrupt next CA is made again",
        ),
        pytest.param(
            with_certificates(next_authority=NEXT_AUTHORITY, progress=BEGUN),
            NOW,
            Action.PUBLISH,
            Reason.MISSING,
            id="a next CA without a certificate too",
        ),
        pytest.param(
            with_certificates(old_authority=b"garbage", progress=BEGUN),
            NOW,
            Action.DROP,
            Reason.UNREADABLE,
            id="a corrupt old CA is dropped",
        ),
    ],
)
def test_certificates(content: Credentials, now: datetime, action: Action, reason: Reason) -> None:
    content = replace(content, tokens=replace(content.tokens, made=now))
    assert decisions(content, now=now) == [(CERTIFICATES, action, reason)]


@pytest.mark.parametrize(
    ("content", "facts", "after", "expected"),
    [
        pytest.param(
            publishing(BEGUN), Facts(), PATIENCE * 9, None, id="nothing goes on while a client trusts the old only"
        ),
        pytest.param(publishing(BEGUN), Facts(trusted=True), DAY * 0, Action.CONFIRM, id="all clients trust the next"),
        pytest.param(publishing(DONE), Facts(trusted=True), SETTLE / 2, None, id="they are given time to settle"),
        pytest.param(publishing(DONE), Facts(trusted=True), SETTLE, Action.SWITCH, id="then it is used"),
        pytest.param(
            publishing(Progress(since=NOW + DAY, confirmed=NOW + DAY)),
            Facts(trusted=True),
            SETTLE,
            Action.SWITCH,
            id="whatever another replica's clock said",
        ),
        pytest.param(
            publishing(Progress(since=NOW - DAY, confirmed=NOW - DAY)),
            Facts(trusted=True),
            SETTLE / 2,
            None,
            id="and not before that",
        ),
        pytest.param(
            publishing(Progress()), Facts(trusted=True), DAY * 0, Action.CONFIRM, id="a lost stamp is no loss"
        ),
        pytest.param(publishing(DONE), Facts(), SETTLE, Action.RESUME, id="unless one has lost it again"),
        pytest.param(
            switching(BEGUN),
            Facts(served=Seen.NOT_ALL),
            PATIENCE * 9,
            None,
            id="a replica that serves the old is waited for",
        ),
        pytest.param(
            switching(BEGUN),
            Facts(served=Seen.UNKNOWN),
            PATIENCE / 2,
            None,
            id="one that cannot be asked is waited for",
        ),
        pytest.param(
            switching(BEGUN),
            Facts(served=Seen.UNKNOWN),
            PATIENCE,
            Action.CONFIRM,
            id="but not longer than patience says",
        ),
        pytest.param(switching(BEGUN), Facts(served=Seen.ALL), DAY * 0, Action.CONFIRM, id="all serve the new"),
        pytest.param(
            switching(DONE), Facts(served=Seen.ALL), SETTLE / 2, None, id="connections are given time to settle"
        ),
        pytest.param(switching(DONE), Facts(served=Seen.ALL), SETTLE, Action.DROP, id="then the old CA goes"),
        pytest.param(
            switching(DONE),
            Facts(served=Seen.NOT_ALL),
            SETTLE,
            Action.RESUME,
            id="unless a replica came up with the old",
        ),
    ],
)
def test_a_rotation_goes_on_when_all_are_as_far(
    content: Credentials, facts: Facts, after: timedelta, expected: Action | None
) -> None:
    found = decisions(content, facts, NOW + after)
    assert [action for _, action, _ in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("content", "facts", "after", "expected"),
    [
        pytest.param(with_tokens(current=0), Facts(), DAY * 0, Action.REPLACE, id="a missing token is made"),
        pytest.param(with_tokens(1, current=1), Facts(), DAY * 89, None, id="a young token stays"),
        pytest.param(with_tokens(1, current=1), Facts(), DAY * 90, Action.PUBLISH, id="an old one gets a successor"),
        pytest.param(
            with_tokens(1, 2, current=1),
            Facts(accepted=Seen.NOT_ALL),
            PATIENCE * 9,
            None,
            id="a replica that refuses it is waited for",
        ),
        pytest.param(
            with_tokens(1, 2, current=1),
            Facts(accepted=Seen.ALL),
            DAY * 0,
            Action.CONFIRM,
            id="all replicas accept the next",
        ),
        pytest.param(
            with_tokens(1, 2, current=1, progress=DONE),
            Facts(accepted=Seen.ALL),
            SETTLE,
            Action.SWITCH,
            id="then it is shown",
        ),
        pytest.param(
            with_tokens(1, 2, current=2), Facts(), PATIENCE * 9, None, id="nothing goes while one shows the old"
        ),
        pytest.param(with_tokens(1, 2, current=2), Facts(shown=True), DAY * 0, Action.CONFIRM, id="all show the new"),
        pytest.param(
            with_tokens(1, 2, current=2, progress=DONE), Facts(shown=True), SETTLE, Action.DROP, id="then the old goes"
        ),
        pytest.param(
            with_tokens(1, 2, current=2, progress=DONE),
            Facts(),
            SETTLE,
            Action.RESUME,
            id="unless one shows the old again",
        ),
    ],
)
def test_tokens(content: Credentials, facts: Facts, after: timedelta, expected: Action | None) -> None:
    found = [row for row in decisions(content, facts, NOW + after) if row[0] is TOKEN_TRACK]
    assert [action for _, action, _ in found] == ([expected] if expected else [])


AGES = [
    pytest.param(with_tokens(1, current=1), timedelta(0), None, id="made now"),
    pytest.param(with_tokens(1, current=1), CLOCK_SKEW, None, id="made by a clock that is ahead"),
    pytest.param(with_tokens(1, current=1), CLOCK_SKEW + SECOND, Action.PUBLISH, id="made in the future"),
    pytest.param(with_tokens(1, current=1), -400 * DAY, Action.PUBLISH, id="made long ago"),
    pytest.param(with_tokens(1, 2, current=1), -400 * DAY, None, id="made long ago, and its successor is published"),
]


@pytest.mark.parametrize(("content", "age", "expected"), AGES)
def test_a_token_gets_one_successor_for_its_age(content: Credentials, age: timedelta, expected: Action | None) -> None:
    aged = replace(content, tokens=replace(content.tokens, made=NOW + age))
    found = [row for row in decisions(aged) if row[0] is TOKEN_TRACK]
    assert found == ([(TOKEN_TRACK, expected, Reason.DUE)] if expected else [])


def test_what_is_asked_for_begins_both_rotations() -> None:
    assert decisions(GOOD, Facts(asked=True)) == [
        (CERTIFICATES, Action.PUBLISH, Reason.ASKED),
        (TOKEN_TRACK, Action.PUBLISH, Reason.ASKED),
    ]


def test_a_rotation_under_way_is_not_begun_again() -> None:
    assert decisions(publishing(BEGUN), Facts(asked=True)) == [(TOKEN_TRACK, Action.PUBLISH, Reason.ASKED)]


def test_what_this_replica_remembers_is_written_back_in_place_of_garbage() -> None:
    lost = Credentials(Certificates(authority=KeyPair(b"garbage", b"")))
    situation = Situation(lost, Facts(remembered=GOOD), SETTINGS, NOW)
    found = decide(situation)
    assert [decision.action for decision in found] == [Action.RESTORE, Action.RESTORE]
    assert changed(situation, found) == GOOD


def test_what_it_remembers_is_not_written_back_when_it_is_over() -> None:
    facts = Facts(remembered=GOOD)
    assert decisions(Credentials(), facts, NOW + 400 * DAY)[0] == (CERTIFICATES, Action.REPLACE, Reason.MISSING)


def test_a_next_ca_takes_over_at_once_from_one_that_ended() -> None:
    later = NOW + 3660 * DAY
    authority, serving = pair(later)
    content = replace(publishing(BEGUN).certificates, next_authority=authority, next_serving=serving)
    assert decisions(Credentials(content, GOOD.tokens), now=later)[0] == (CERTIFICATES, Action.SWITCH, Reason.EXPIRED)


def test_a_certificate_that_ends_with_its_ca_is_not_made_again_and_again() -> None:
    authority, serving = pair(days=100)
    content = Credentials(Certificates(authority, serving, NEXT_AUTHORITY, NEXT_SERVING, progress=BEGUN), GOOD.tokens)
    assert decisions(content, now=NOW + 80 * DAY) == []


EXTERNAL = replace(SETTINGS, external=True)


def external(content: Credentials, facts: Facts, now: datetime = NOW) -> list[tuple[Track, Action, Reason]]:
    return decisions(content, facts, now, EXTERNAL)


def test_a_ca_of_somebody_else_is_adopted_beside_the_one_before() -> None:
    facts = Facts(external=NEXT_AUTHORITY.certificate)
    situation = Situation(GOOD, facts, EXTERNAL, NOW)
    found = decide(situation)
    assert [(decision.action, decision.reason) for decision in found] == [(Action.ADOPT, Reason.CHANGED_ELSEWHERE)]
    adopted = changed(situation, found).certificates
    assert (adopted.authority, adopted.old_authority) == (
        KeyPair(NEXT_AUTHORITY.certificate, b""),
        GOOD.certificates.authority.certificate,  # type: ignore[union-attr]
    )
    assert adopted.stage is Stage.SWITCHING
    assert external(Credentials(adopted, GOOD.tokens), facts) == []


@pytest.mark.parametrize("ca", [None, b"garbage"])
def test_without_a_ca_of_somebody_else_nothing_is_done(ca: bytes | None) -> None:
    assert external(GOOD, Facts(external=ca)) == []


def test_certificates_of_somebody_else_are_never_made_here() -> None:
    assert [track for track, _, _ in external(Credentials(), Facts())] == [TOKEN_TRACK]


CHANGES: tuple[Callable[[], Credentials], ...] = (
    Credentials,
    lambda: GOOD,
    lambda: publishing(DONE),
    lambda: switching(DONE),
    lambda: with_certificates(serving=FOREIGN),
    lambda: with_tokens(1, 2, current=1, progress=DONE),
)


@pytest.mark.parametrize("make", CHANGES, ids=range(len(CHANGES)))
@pytest.mark.parametrize("seen", list(Seen))
def test_whatever_is_decided_leaves_certificates_that_can_be_served(
    make: Callable[[], Credentials], seen: Seen
) -> None:
    facts = Facts(trusted=True, shown=True, served=seen, accepted=seen, asked=True)
    now = NOW + SETTLE
    situation = Situation(make(), facts, SETTINGS, now, NOTICED)
    found: tuple[Decision, ...] = decide(situation)
    after = changed(situation, found).certificates
    assert authority_fault(after.authority, now) is None
    assert after.authority
    assert serving_fault(after.serving, after.authority, NAMES, now) is None
