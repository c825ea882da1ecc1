"""Carries out what the policy decided: other credentials for the Secret. Pure but for the keys and tokens it draws."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from certs.authority import KeyPair, issue, make_authority
from certs.bundle import bundle
from certs.credentials import Certificates, Credentials, Progress, Tokens
from certs.inspection import usable
from certs.settings import Settings
from certs.situation import Action, Decision, Situation, Track

TOKEN_BYTES = 32


def changed(situation: Situation, decisions: tuple[Decision, ...]) -> Credentials:
    """Return the credentials after these decisions. Raises KeyError for one that its track does not know."""
    certificates, tokens = situation.credentials.certificates, situation.credentials.tokens
    for decision in decisions:
        if decision.track is Track.CERTIFICATES:
            certificates = _CERTIFICATES[decision.action](certificates, situation)
        else:
            tokens = _TOKENS[decision.action](tokens, situation)
    return Credentials(certificates, tokens)


def _make(settings: Settings, now: datetime) -> tuple[KeyPair, KeyPair]:
    authority = make_authority(now, settings.authority_lifetime)
    return authority, issue(authority, settings.names, now, settings.serving_lifetime)


def _replaced(certificates: Certificates, situation: Situation) -> Certificates:
    made = Certificates(*_make(situation.settings, situation.now))
    return _beside_those_before(made, certificates, situation.now)


def _beside_those_before(certificates: Certificates, before: Certificates, now: datetime) -> Certificates:
    """Keep the CAs trusted that pods may still serve by, until none is seen to."""
    return replace(certificates, old_authority=usable(bundle(before), now), progress=Progress(since=now))


def _restored(certificates: Certificates, situation: Situation) -> Certificates:
    remembered = situation.facts.remembered
    return remembered.certificates if remembered else certificates


def _reissued(certificates: Certificates, situation: Situation) -> Certificates:
    settings, authority = situation.settings, certificates.authority
    if authority is None:
        return certificates
    serving = issue(authority, settings.names, situation.now, settings.serving_lifetime)
    return replace(certificates, serving=serving)


def _adopted(certificates: Certificates, situation: Situation) -> Certificates:
    external = situation.facts.external
    if external is None:
        return certificates
    return _beside_those_before(Certificates(authority=KeyPair(external, b"")), certificates, situation.now)


def _published(certificates: Certificates, situation: Situation) -> Certificates:
    authority, serving = _make(situation.settings, situation.now)
    progress = Progress(since=situation.now)
    return replace(certificates, next_authority=authority, next_serving=serving, progress=progress)


def _switched(certificates: Certificates, situation: Situation) -> Certificates:
    old = certificates.authority
    return Certificates(
        authority=certificates.next_authority,
        serving=certificates.next_serving,
        old_authority=old.certificate if old else b"",
        progress=Progress(since=situation.now),
    )


def _dropped(certificates: Certificates, situation: Situation) -> Certificates:  # noqa: ARG001  one signature for all
    return replace(certificates, old_authority=b"", progress=Progress())


def _confirmed(certificates: Certificates, situation: Situation) -> Certificates:
    return replace(certificates, progress=replace(certificates.progress, confirmed=situation.now))


def _resumed(certificates: Certificates, situation: Situation) -> Certificates:
    return replace(certificates, progress=Progress(since=situation.now))


def _token_replaced(tokens: Tokens, situation: Situation) -> Tokens:
    number = max(tokens.values, default=0) + 1
    return Tokens({number: secrets.token_urlsafe(TOKEN_BYTES)}, number, made=situation.now)


def _token_restored(tokens: Tokens, situation: Situation) -> Tokens:
    remembered = situation.facts.remembered
    return remembered.tokens if remembered else tokens


def _token_published(tokens: Tokens, situation: Situation) -> Tokens:
    values = {**tokens.values, max(tokens.values) + 1: secrets.token_urlsafe(TOKEN_BYTES)}
    return replace(tokens, values=values, progress=Progress(since=situation.now))


def _token_switched(tokens: Tokens, situation: Situation) -> Tokens:
    number = tokens.next or tokens.current
    return Tokens(tokens.values, number, made=situation.now, progress=Progress(since=situation.now))


def _token_dropped(tokens: Tokens, situation: Situation) -> Tokens:  # noqa: ARG001
    values = {number: value for number, value in tokens.values.items() if number >= tokens.current}
    return replace(tokens, values=values, progress=Progress())


def _token_confirmed(tokens: Tokens, situation: Situation) -> Tokens:
    return replace(tokens, progress=replace(tokens.progress, confirmed=situation.now))


def _token_resumed(tokens: Tokens, situation: Situation) -> Tokens:
    return replace(tokens, progress=Progress(since=situation.now))


_CERTIFICATES: Mapping[Action, Callable[[Certificates, Situation], Certificates]] = {
    Action.RESTORE: _restored,
    Action.REPLACE: _replaced,
    Action.REISSUE: _reissued,
    Action.ADOPT: _adopted,
    Action.PUBLISH: _published,
    Action.CONFIRM: _confirmed,
    Action.RESUME: _resumed,
    Action.SWITCH: _switched,
    Action.DROP: _dropped,
}
_TOKENS: Mapping[Action, Callable[[Tokens, Situation], Tokens]] = {
    Action.RESTORE: _token_restored,
    Action.REPLACE: _token_replaced,
    Action.PUBLISH: _token_published,
    Action.CONFIRM: _token_confirmed,
    Action.RESUME: _token_resumed,
    Action.SWITCH: _token_switched,
    Action.DROP: _token_dropped,
}
