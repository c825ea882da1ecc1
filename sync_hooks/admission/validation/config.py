"""Configuration files: one source, names that can be files."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, required
from sync_hooks.admission.validation.grammar import check, config_key, dns_subdomain
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError


def config_errors(spec: Value) -> Iterator[FieldError]:
    """Check that exactly one of the two sources is given: with none, pods would wait for a ConfigMap nobody makes."""
    config = spec.field("config")
    inline, reference = config.field("inline"), config.field("configMapRef")
    if inline.present and reference.present:
        yield invalid(config, "exactly one of inline and configMapRef may be given, not both")
    elif config.json == {}:
        yield required(config, "exactly one of inline and configMapRef must be given")
    yield from check(reference.field("name"), dns_subdomain)
    for key, content in inline.entries():
        if sentence := config_key(key):
            yield invalid(Value(key, content.path), sentence)
