"""Grammars that the table of values names: what text in a field of an official type may be, told as a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from sync_hooks.admission.validation.grammar import (
    Check,
    annotation_key,
    config_key,
    dns_label,
    dns_subdomain,
    env_name,
    image,
    label_key,
    label_value,
)

MOST_PORT = 65535

_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_RESOURCE = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.*)")


def absolute_path(text: str) -> str | None:
    """Check a path from the root."""
    return None if text.startswith("/") else "must be an absolute path"


def relative_path(text: str) -> str | None:
    """Check a path that stays within the place it is relative to."""
    return "must be a relative path without '..'" if text.startswith("/") or ".." in text.split("/") else None


def no_parent(text: str) -> str | None:
    """Check that a path does not lead up."""
    return "must be a path without '..'" if ".." in text.split("/") else None


def csi_driver(text: str) -> str | None:
    """Check the name of a CSI driver, which may have capitals."""
    if len(text) <= 63 and dns_subdomain(text.lower()) is None:
        return None
    return "must be a driver's name: at most 63 letters, digits, '-' and '.', alphanumeric at both ends"


def port_name(text: str) -> str | None:
    """Check the name of a port."""
    if len(text) <= 15 and _PORT_NAME.fullmatch(text):
        return None
    return "must be a port's name: at most 15 lower case letters, digits and single '-', one letter at least"


def port(text: str) -> str | None:
    """Check a port given by number or name; a number comes here as text."""
    if text.lstrip("-").isdecimal():
        return None if 1 <= int(text[:9]) <= MOST_PORT else f"must be from 1 to {MOST_PORT}, or the name of a port"
    return port_name(text)


def measured_resource(text: str) -> str | None:
    """Check the name of an amount that a container can be told."""
    if _RESOURCE.fullmatch(text):
        return None
    return "must be limits or requests of cpu, memory, ephemeral-storage or hugepages-<size>"


GRAMMARS: Mapping[str, Check] = MappingProxyType(
    {
        check.__name__: check
        for check in (
            absolute_path,
            annotation_key,
            config_key,
            csi_driver,
            dns_label,
            dns_subdomain,
            env_name,
            image,
            label_key,
            label_value,
            measured_resource,
            no_parent,
            port,
            port_name,
            relative_path,
        )
    }
)
