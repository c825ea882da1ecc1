"""Grammars of names, labels and images, as Kubernetes has them. A check says what would be accepted, None if fine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sync_hooks.admission.causes import invalid, required
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

Check = Callable[[str], str | None]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_ENV_NAME = re.compile(r"[ -<>-~]+")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")

# The reference grammar of container registries: [domain[:port]/]path[:tag][@digest], the path in lower case.
_DOMAIN = (
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])"
)
_PATH = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_DOMAIN}(?::[0-9]+)?/)?{_PATH}(?:/{_PATH})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@(?:sha256:[0-9a-fA-F]{64}|(?!sha256:)[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)


def check(where: Value, grammar: Check) -> Iterator[FieldError]:
    """Yield an error where text does not meet a grammar; what is absent or no text is judged elsewhere."""
    if isinstance(where.json, str):
        if not where.json:
            yield required(where, "must not be empty")
        elif sentence := grammar(where.json):
            yield invalid(where, sentence)


def dns_label(text: str) -> str | None:
    """Check a name of at most 63 characters, such as that of a volume."""
    if len(text) <= 63 and _DNS_LABEL.fullmatch(text):
        return None
    return "must be a DNS label: at most 63 lower case letters, digits and '-', alphanumeric at both ends"


def dns_subdomain(text: str) -> str | None:
    """Check the name of an object."""
    if len(text) <= 253 and _DNS_SUBDOMAIN.fullmatch(text):
        return None
    return "must be an object's name: at most 253 lower case letters, digits, '-' and '.', alphanumeric at both ends"


def label_key(text: str) -> str | None:
    """Check the key of a label, annotation or taint, or a resource's name: a name with or without a domain."""
    domain, slash, name = text.rpartition("/")
    if (not slash or dns_subdomain(domain) is None) and len(name) <= 63 and _NAME_PART.fullmatch(name):
        return None
    return (
        "must be a label key: a name of at most 63 letters, digits, '-', '_' and '.', with or without a domain and '/'"
    )


def annotation_key(text: str) -> str | None:
    """Check the key of an annotation, whose domain may have capitals."""
    return label_key(text.lower())


def label_value(text: str) -> str | None:
    """Check the value of a label; empty is one."""
    if not text or (len(text) <= 63 and _NAME_PART.fullmatch(text)):
        return None
    return "must be a label value: at most 63 letters, digits, '-', '_' and '.', alphanumeric at both ends"


def env_name(text: str) -> str | None:
    """Check the name of an environment variable, as Kubernetes takes it from 1.34 on."""
    if _ENV_NAME.fullmatch(text):
        return None
    return "must consist of printable ASCII characters, and have no '='"


def config_key(text: str) -> str | None:
    """Check the key of a ConfigMap, which becomes a file's name."""
    if len(text) <= 253 and _CONFIG_KEY.fullmatch(text) and not text.startswith(".."):
        return None
    return "must be a file name: at most 253 letters, digits, '-', '_' and '.'"


def image(text: str) -> str | None:
    """Check an image reference: a pod with a bad one waits for ever."""
    if len(text) <= 1024 and _IMAGE.fullmatch(text):
        return None
    return "must be an image reference such as registry.example/path/name:tag, without spaces, its path in lower case"


def no_padding(text: str) -> str | None:
    """Check that text does not begin or end with white space, and holds no NUL, which no process can be given."""
    if text == text.strip() and "\0" not in text:
        return None
    return "must not begin or end with white space, nor hold a NUL character"
