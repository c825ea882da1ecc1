"""What is to be done with the credentials now: named checks in order, the first that applies decides. Pure.

Certificates and tokens rotate alike: what is new is published, then used when everybody knows it, and what is old is
dropped when nobody uses it. Decides only: `changes` carries out.
"""

from __future__ import annotations

from collections.abc import Callable

from certs.advance import go_on
from certs.authority import CLOCK_SKEW, KeyPair
from certs.credentials import ANNOUNCING, Stage
from certs.inspection import Fault, Reason, authority_fault, due, load, load_all, serving_fault, usable
from certs.situation import Action, Decision, Seen, Situation, Track

_Check = Callable[[Situation], Decision | None]


def decide(situation: Situation) -> tuple[Decision, ...]:
    """Return what is to be changed now: at most one change of the certificates and one of the token."""
    certificates = _EXTERNAL_CHECKS if situation.settings.external else _CERTIFICATE_CHECKS
    found = (_first(checks, situation) for checks in (certificates, _TOKEN_CHECKS))
    return tuple(decision for decision in found if decision)


def _first(checks: tuple[_Check, ...], situation: Situation) -> Decision | None:
    return next((decision for check in checks if (decision := check(situation))), None)


def _authority_unusable(situation: Situation) -> Decision | None:
    fault = authority_fault(situation.credentials.certificates.authority, situation.now)
    if fault is None:
        return None
    if situation.credentials.certificates.next_authority and _next_unusable(situation) is None:
        return _certificates(Action.SWITCH, fault)
    return _certificates(Action.RESTORE if _remembers_certificates(situation) else Action.REPLACE, fault)


def _remembers_certificates(situation: Situation) -> bool:
    remembered, settings, now = situation.facts.remembered, situation.settings, situation.now
    known = remembered.certificates if remembered else None
    if known is None or known.authority is None or authority_fault(known.authority, now):
        return False
    return serving_fault(known.serving, known.authority, settings.names, now) is None


def _serving_unusable(situation: Situation) -> Decision | None:
    certificates = situation.credentials.certificates
    assert certificates.authority is not None  # noqa: S101  the check before this one has seen it
    fault = serving_fault(certificates.serving, certificates.authority, situation.settings.names, situation.now)
    return _certificates(Action.REISSUE, fault) if fault else None


def _next_unusable(situation: Situation) -> Decision | None:
    """Make a next pair that is spoilt again, from the beginning."""
    certificates = situation.credentials.certificates
    if certificates.next_authority is None:
        return None
    fault = authority_fault(certificates.next_authority, situation.now) or serving_fault(
        certificates.next_serving, certificates.next_authority, situation.settings.names, situation.now
    )
    return _certificates(Action.PUBLISH, fault) if fault else None


def _old_unusable(situation: Situation) -> Decision | None:
    """Drop old CAs that prove nothing any more, without waiting for anybody."""
    old = situation.credentials.certificates.old_authority
    if not old or usable(old, situation.now):
        return None
    fault = authority_fault(KeyPair(old, b""), situation.now, with_key=False)
    return _certificates(Action.DROP, fault) if fault else None


def _certificates_asked(situation: Situation) -> Decision | None:
    if not situation.facts.asked or situation.credentials.certificates.stage is not Stage.STEADY:
        return None
    return _certificates(Action.PUBLISH, Fault(Reason.ASKED, "a rotation was asked for"))


def _authority_due(situation: Situation) -> Decision | None:
    certificates = situation.credentials.certificates
    if certificates.stage is not Stage.STEADY or certificates.authority is None:
        return None
    fault = due(certificates.authority.certificate, situation.settings.renew_fraction, situation.now)
    return _certificates(Action.PUBLISH, _about("CA", fault)) if fault else None


def _serving_due(situation: Situation) -> Decision | None:
    """Renew in every stage: a rotation that cannot go on must not let the certificate run out.

    One that ends with its CA, which is being replaced, would only be made again and again.
    """
    certificates = situation.credentials.certificates
    authority, serving = certificates.authority, certificates.serving
    if authority is None or serving is None or _ends_together(authority, serving):
        return None
    fault = due(serving.certificate, situation.settings.renew_fraction, situation.now)
    return _certificates(Action.REISSUE, _about("serving certificate", fault)) if fault else None


def _certificates_go_on(situation: Situation) -> Decision | None:
    certificates, facts = situation.credentials.certificates, situation.facts
    seen = _seen(facts.trusted) if certificates.stage in ANNOUNCING else facts.served
    return go_on(Track.CERTIFICATES, certificates.stage, seen, situation)


_CERTIFICATE_CHECKS: tuple[_Check, ...] = (
    _authority_unusable,
    _serving_unusable,
    _next_unusable,
    _old_unusable,
    _certificates_asked,
    _authority_due,
    _serving_due,
    _certificates_go_on,
)


def _external_changed(situation: Situation) -> Decision | None:
    external, authority = situation.facts.external, situation.credentials.certificates.authority
    if external is None or not load_all(external) or (authority and authority.certificate == external):
        return None
    return _certificates(Action.ADOPT, Fault(Reason.CHANGED_ELSEWHERE, "there is another CA"))


_EXTERNAL_CHECKS: tuple[_Check, ...] = (_external_changed, _old_unusable, _certificates_go_on)


def _token_missing(situation: Situation) -> Decision | None:
    tokens, remembered = situation.credentials.tokens, situation.facts.remembered
    if tokens.current in tokens.values:
        return None
    known = remembered is not None and remembered.tokens.current in remembered.tokens.values
    action = Action.RESTORE if known else Action.REPLACE
    return Decision(Track.TOKEN, action, Reason.MISSING, "there is no usable token")


def _token_asked(situation: Situation) -> Decision | None:
    if not situation.facts.asked or situation.credentials.tokens.stage is not Stage.STEADY:
        return None
    return Decision(Track.TOKEN, Action.PUBLISH, Reason.ASKED, "a rotation was asked for")


def _token_due(situation: Situation) -> Decision | None:
    tokens, now = situation.credentials.tokens, situation.now
    if tokens.stage is not Stage.STEADY:
        return None
    if tokens.made and tokens.made <= now + CLOCK_SKEW and now < tokens.made + situation.settings.token_lifetime:
        return None
    return Decision(Track.TOKEN, Action.PUBLISH, Reason.DUE, "the token is old enough, or its age is not known")


def _token_goes_on(situation: Situation) -> Decision | None:
    tokens, facts = situation.credentials.tokens, situation.facts
    seen = facts.accepted if tokens.stage in ANNOUNCING else _seen(facts.shown)
    return go_on(Track.TOKEN, tokens.stage, seen, situation)


_TOKEN_CHECKS: tuple[_Check, ...] = (_token_missing, _token_asked, _token_due, _token_goes_on)


def _seen(fact: bool) -> Seen:  # noqa: FBT001  the fact is all there is
    return Seen.ALL if fact else Seen.NOT_ALL


def _ends_together(authority: KeyPair, serving: KeyPair) -> bool:
    theirs, ours = load(authority.certificate), load(serving.certificate)
    return theirs is not None and ours is not None and ours.not_valid_after_utc >= theirs.not_valid_after_utc


def _about(what: str, fault: Fault) -> Fault:
    return Fault(fault.reason, f"the {what}: {fault.message}")


def _certificates(action: Action, fault: Fault) -> Decision:
    return Decision(Track.CERTIFICATES, action, fault.reason, fault.message)
