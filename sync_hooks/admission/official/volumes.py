"""What volumes, claims and mounts may say together: one function a type."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, invalid, required
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.quantity import parse_quantity

ALONE = "ReadWriteOncePod"
MOST_UNITS = 255  # of a target
CLAIM = "PersistentVolumeClaim"
CERTIFICATE_PATHS = ("certificateChainPath", "credentialBundlePath", "keyPath")


def volume_errors(volume: Value) -> Iterator[FieldError]:
    """Check the source of a volume."""
    if len(sources := _sources(volume)) > 1:
        yield invalid(volume, f"exactly one source may be given, not {' and '.join(sources)}")
    limit = volume.field("emptyDir", "sizeLimit")
    if (size := parse_quantity(limit.json)) is not None and size < 0:
        yield invalid(limit, "must not be negative")


def sourceless_errors(volume: Value) -> Iterator[FieldError]:
    """Check that a volume has a source."""
    if not _sources(volume):
        yield required(volume, "a source must be given, for example emptyDir: {}")


def _sources(volume: Value) -> list[str]:
    return sorted(name for name in volume.fields if name != "name" and volume.field(name).present)


def claim_errors(claim: Value) -> Iterator[FieldError]:
    """Check the spec of a claim, or a part of one."""
    modes = claim.field("accessModes")
    texts = {mode.text for mode in modes.elements()}
    if ALONE in texts and len(texts) > 1:
        yield forbidden(modes, f"{ALONE} goes with no other")
    storage = claim.field("resources", "requests").key("storage")
    if (size := parse_quantity(storage.json)) is not None and size <= 0:
        yield invalid(storage, "must be greater than 0")
    for source in (claim.field("dataSource"), claim.field("dataSourceRef")):
        kind = source.field("kind")
        if kind.text and kind.text != CLAIM and not source.field("apiGroup").text:
            yield invalid(kind, f"must be {CLAIM} where no apiGroup is given")


def storageless_errors(claim: Value) -> Iterator[FieldError]:
    """Check that a claim says how much it wants."""
    storage = claim.field("resources", "requests").key("storage")
    if not storage.present:
        yield required(storage, "must be given")


def claim_template_errors(template: Value) -> Iterator[FieldError]:
    """Check what a claim that a pod brings may carry: its name is made of the pod's."""
    metadata = template.field("metadata")
    for name in sorted(metadata.fields.keys() - {"annotations", "labels"}):
        if metadata.field(name).present:
            yield forbidden(metadata.field(name), "only labels and annotations may be given")


def projected_errors(volume: Value) -> Iterator[FieldError]:
    """Check that no two files of a volume have one path."""
    seen: set[str] = set()
    for path in _projected_paths(volume):
        if path.text and path.text in seen:
            yield duplicate(path)
        seen.add(path.text)


def _projected_paths(volume: Value) -> Iterator[Value]:
    for source in volume.field("sources").elements():
        for kind in ("secret", "configMap", "downwardAPI"):
            yield from (item.field("path") for item in source.field(kind, "items").elements())
        yield source.field("clusterTrustBundle", "path")
        yield from (source.field("podCertificate", name) for name in CERTIFICATE_PATHS)


def certificate_errors(projection: Value) -> Iterator[FieldError]:
    """Check that a certificate is written somewhere."""
    if not any(projection.field(name).text for name in CERTIFICATE_PATHS):
        yield required(projection, f"one of {', '.join(CERTIFICATE_PATHS)} must be given")


def secret_errors(csi: Value) -> Iterator[FieldError]:
    """Check that the driver's secret has a name."""
    secret = csi.field("nodePublishSecretRef")
    if isinstance(secret.json, dict) and not secret.field("name").text:
        yield required(secret.field("name"), "must be given")


def azure_errors(disk: Value) -> Iterator[FieldError]:
    """Check that a disk of Azure is named as its kind is: Shared unless another one is given."""
    uri = disk.field("diskURI")
    start = "/subscriptions/" if disk.field("kind").json == "Managed" else "https://"
    if uri.text and not uri.text.startswith(start):
        yield invalid(uri, f"must begin with {start}, as disks of this kind do")


def channel_errors(disk: Value) -> Iterator[FieldError]:
    """Check that a disk of a target says which of it."""
    lun = disk.field("lun")
    if disk.field("targetWWNs").json and not lun.present:
        yield required(lun, "must be given with targetWWNs")
    elif disk.field("targetWWNs").json and lun.number is not None and not 0 <= lun.number <= MOST_UNITS:
        yield invalid(lun, f"must be from 0 to {MOST_UNITS}")


def file_source_errors(file: Value) -> Iterator[FieldError]:
    """Check that an amount says of which container it is: a file is of none."""
    reference = file.field("resourceFieldRef")
    if isinstance(reference.json, dict) and not reference.field("containerName").text:
        yield required(reference.field("containerName"), "must be given in a file")


def mount_errors(mount: Value) -> Iterator[FieldError]:
    """Check the paths of a mount."""
    path = mount.field("mountPath")
    if ":" in path.text:
        yield invalid(path, "must be a path without ':', which separates paths where containers are made")
    plain, expanded = mount.field("subPath"), mount.field("subPathExpr")
    if plain.text and expanded.text:
        yield invalid(expanded, "may not be given together with subPath")
    for path in (plain, expanded):
        if path.text.startswith("/") or ".." in path.text.split("/"):
            yield invalid(path, "must be a relative path without '..'")


def read_only_errors(mount: Value) -> Iterator[FieldError]:
    """Check what a mount must be to be read only all the way down."""
    recursive = mount.field("recursiveReadOnly")
    if recursive.json not in ("Enabled", "IfPossible"):
        return
    if mount.field("readOnly").json is not True:
        yield forbidden(recursive, "only a mount with readOnly: true may be so")
    if mount.field("mountPropagation").json not in (None, "", "None"):
        yield forbidden(recursive, "only a mount without mountPropagation may be so")
