"""How certificates and tokens are made and replaced: named defaults, each with its reason. Reads no environment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from certs.authority import AUTHORITY_LIFETIME, SERVING_LIFETIME

RENEW_FRACTION = 0.25  # of a life, from its end: months to notice that renewal fails
TOKEN_LIFETIME = timedelta(days=90)
SETTLE = timedelta(seconds=30)  # several API servers, and Metacontroller's restart of its controllers
PATIENCE = timedelta(minutes=10)  # kubelets bring a changed Secret to its pods within two minutes


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator may set, and the names that servers are reached by."""

    names: tuple[str, ...]
    """DNS names of the serving certificate."""
    authority_lifetime: timedelta = AUTHORITY_LIFETIME
    serving_lifetime: timedelta = SERVING_LIFETIME
    renew_fraction: float = RENEW_FRACTION
    token_lifetime: timedelta = TOKEN_LIFETIME
    settle: timedelta = SETTLE
    """How long everybody who trusts or shows something is given to take notice of a change."""
    patience: timedelta = PATIENCE
    """How long a replica that cannot be asked holds up a rotation."""
    external: bool = False
    """Whether certificates are made by somebody else; then only tokens are made here, and a CA is passed on."""
