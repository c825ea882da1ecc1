"""Objects that a run brings along: only of kinds that our controllers declare, in the run's own namespace."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from sync_hooks.admission.causes import duplicate, forbidden, invalid, not_supported, required, unknown, wrong_type
from sync_hooks.admission.official.shape import official_errors, official_types
from sync_hooks.admission.validation.grammar import check, config_key, dns_subdomain
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.trainer import CLAIM_TEMPLATE, COMPUTE_DOMAIN, CONFIG_MAP, TRAINING_RUNTIME, VOLUME_CLAIM

KINDS: Mapping[tuple[str, str], Mapping[str, str]] = MappingProxyType(
    {
        CLAIM_TEMPLATE: {"spec": "device.ClaimTemplateSpec"},
        COMPUTE_DOMAIN: {"spec": "device.ComputeDomainSpec"},
        CONFIG_MAP: {"binaryData": "map string", "data": "map string", "immutable": "boolean"},
        TRAINING_RUNTIME: {"spec": "trainer.TrainingRuntimeSpec"},
        VOLUME_CLAIM: {"spec": "PersistentVolumeClaimSpec"},
    }
)
"""Kinds that may come along, each with its fields and their types."""

METADATA = frozenset({"annotations", "labels", "name", "namespace"})
"""What may be said of an object besides its content: what else there is, the cluster or our controllers say."""

COMMON = ("apiVersion", "kind", "metadata")


def dependency_errors(dependency: Value) -> Iterator[FieldError]:
    """Check one object; it may also be a patch of one that is rendered, so that nothing else is required."""
    yield from _kind_errors(dependency)
    yield from _identity_errors(dependency.field("metadata"))
    if dependency.field("when").present:
        yield forbidden(dependency.field("when"), "the conditions of an object are those of the override it stands in")
    fields = KINDS.get((dependency.field("apiVersion").text, dependency.field("kind").text))
    if fields is not None:
        known = (*COMMON, *fields)
        yield from (unknown(dependency, name, known) for name in dependency.fields if name not in (*known, "when"))
        for name, type_ in fields.items():
            yield from official_errors(dependency.field(name), type_, patch=True)
    yield from _content_errors(dependency)


def _content_errors(dependency: Value) -> Iterator[FieldError]:
    """Check the files of a ConfigMap."""
    binary, data = dependency.field("binaryData"), dependency.field("data")
    for key, content in (*binary.entries(), *data.entries()):
        if sentence := config_key(key):
            yield invalid(Value(key, content.path), sentence)
    for key, content in binary.entries():
        if content.present and data.key(key).present:
            yield duplicate(Value(key, content.path))
        elif not _is_base64(content.text):
            yield invalid(content, "must be base64")


def _is_base64(text: str) -> bool:
    try:
        b64decode("".join(text.splitlines()), validate=True)
    except ValueError:
        return False
    return True


def _kind_errors(dependency: Value) -> Iterator[FieldError]:
    version, kind = dependency.field("apiVersion"), dependency.field("kind")
    for where in (version, kind):
        if not where.text:
            yield required(where, "must be given") if not where.json else wrong_type(where, "a string")
    if not version.text or not kind.text or (version.text, kind.text) in KINDS:
        return
    versions = [version for version, name in sorted(KINDS) if name == kind.text]
    if versions:
        yield not_supported(version, versions)
    else:
        yield not_supported(kind, sorted(name for _, name in KINDS))


def _identity_errors(metadata: Value) -> Iterator[FieldError]:
    name = metadata.field("name")
    if not name.present or name.json == "":
        yield required(name, "must be given")
    elif not isinstance(name.json, str):
        yield wrong_type(name, "a string")
    else:
        yield from check(name, dns_subdomain)
    yield from official_errors(metadata, "meta.ObjectMeta", patch=True)
    for other in sorted(metadata.fields.keys() - METADATA):
        if other in official_types()["meta.ObjectMeta"]:
            yield forbidden(metadata.field(other), f"only {', '.join(sorted(METADATA))} may be given")
