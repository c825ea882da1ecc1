"""Grammars that the table of values names: what text in a field of an official type may be, told as a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address as ip_address_of
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
    no_padding,
)

_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_ISCSI = re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[-.A-Za-z0-9]+:[^,;*&$|\s]+|eui\.[A-Za-z0-9]{16}|naa\.[A-Za-z0-9]{32}")
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_RULE = re.compile("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_SEARCH = re.compile(r"(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]*[a-z0-9])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9])?)*")
_SERVICE = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_RESOURCE = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.*)")


def absolute_path(text: str) -> str | None:
    """Check a path from the root."""
    return None if text.startswith("/") else "must be an absolute path"


def relative_path(text: str) -> str | None:
    """Check a path that stays within the place it is relative to."""
    return "must be a relative path without '..'" if text.startswith("/") or ".." in text.split("/") else None


def file_path(text: str) -> str | None:
    """Check the path of a file that the kubelet writes, beside its own."""
    return relative_path(text) or ("must not begin with '..'" if text.startswith("..") else None)


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


def http_header(text: str) -> str | None:
    """Check the name of a header."""
    return None if _HEADER.fullmatch(text) else "must be a header's name: letters, digits and '-'"


def ip_address(text: str) -> str | None:
    """Check an address of either family."""
    try:
        address = ip_address_of(text)
    except ValueError:
        return "must be an IP address, such as 10.9.8.7 or 2001:db8::ffff"
    return "must be an IP address without a zone" if getattr(address, "scope_id", None) else None


def iscsi_name(text: str) -> str | None:
    """Check the name of an iSCSI target."""
    if _ISCSI.fullmatch(text):
        return None
    return "must be a target's name, such as iqn.2001-04.com.example:disk, or begin with eui. or naa."


def search_domain(text: str) -> str | None:
    """Check a domain that is searched; newer versions take underscores and the root alone."""
    if text == "." or _SEARCH.fullmatch(text.removesuffix(".")):
        return None
    return "must be a domain, such as example.com"


def sysctl(text: str) -> str | None:
    """Check the name of a kernel's setting."""
    if len(text) <= 253 and _SYSCTL.fullmatch(text):
        return None
    return "must be a setting's name, such as net.core.somaxconn"


def domain_path(text: str) -> str | None:
    """Check a name with a domain before it, such as that of a controller."""
    domain, slash, path = text.partition("/")
    if slash and dns_subdomain(domain) is None and _PATH.fullmatch(path):
        return None
    return "must be a domain, '/' and a name, such as example.com/tool"


def service_name(text: str) -> str | None:
    """Check the name of a Service."""
    if len(text) <= 63 and _SERVICE.fullmatch(text):
        return None
    return "must be at most 63 lower case letters, digits and '-', begin with a letter and end alphanumeric"


def rule_name(text: str) -> str | None:
    """Check the name of a rule of JobSet's failure policy."""
    if len(text) <= 128 and _RULE.fullmatch(text):
        return None
    return "must be at most 128 letters, digits, '_', ',' and ':', begin with a letter and end with no ',' or ':'"


def uri(text: str) -> str | None:
    """Check where something is stored."""
    return None if _URI.fullmatch(text) else "must be a URI, such as hf://owner/name"


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
            domain_path,
            env_name,
            file_path,
            http_header,
            image,
            ip_address,
            iscsi_name,
            label_key,
            label_value,
            measured_resource,
            no_padding,
            no_parent,
            port_name,
            relative_path,
            rule_name,
            search_domain,
            service_name,
            sysctl,
            uri,
        )
    }
)
