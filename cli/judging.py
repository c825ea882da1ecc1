"""What admission would say of the objects of a file, for every command that reads one.

Of our own kinds all is judged. Of what may stand beside a run the metadata is; the rest is left to the API server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cli.errors import CliError
from cli.manifests import Manifest, read_manifests
from sync_hooks.admission.admit import Admitted, admit
from sync_hooks.admission.official.shape import official_errors
from sync_hooks.admission.rules import kind_rules, known_kinds
from sync_hooks.admission.validation.names import STAMPED, metadata_errors, name_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError, cut
from sync_hooks.api.limits import OBJECT_NAMES
from sync_hooks.api.model import API_VERSION

PLAIN_KINDS = ("ConfigMap", "PersistentVolumeClaim", "Secret")
PLAIN_VERSION = "v1"
LISTED = STAMPED | {"finalizers"}  # admission takes the elements of a list for names, as the API server has seen to
JUDGED_OF_PLAIN = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class Judged:
    """An object of a file and what admission says of it."""

    manifest: Manifest
    admitted: Admitted

    @property
    def kind(self) -> str:
        """Kind of the object."""
        return str(self.manifest.object["kind"])

    @property
    def name(self) -> str:
        """Name of the object, or what its name will begin with."""
        metadata = Value(self.manifest.object).field("metadata")
        return metadata.field("name").text or metadata.field("generateName").text

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Fields that are left to the API server, sorted."""
        written = self.manifest.object
        return tuple(sorted(written.keys() - JUDGED_OF_PLAIN)) if _is_plain(self.manifest) else ()

    @property
    def errors(self) -> list[dict[str, str]]:
        """Every error as it stands in JSON."""
        return [{"field": e.field, "type": e.type, "message": e.message} for e in self.admitted.errors]

    @property
    def lines(self) -> list[str]:
        """Every error as a line."""
        return [f"{self.manifest.place}: {error.field}: {error.message}" for error in self.admitted.errors]

    @property
    def warnings(self) -> list[str]:
        """What the author should know, as lines."""
        return [f"{self.manifest.place}: warning: {warning}" for warning in self.admitted.warnings]


def judge_file(file: str) -> list[Judged]:
    """Judge every object of a file. Raises CliError for what cannot be read, and for kinds that no run has to do with.

    Refused objects are results.
    """
    return [_judge(manifest) for manifest in read_manifests(file)]


def _judge(manifest: Manifest) -> Judged:
    obj = manifest.object
    if _is_plain(manifest):
        return Judged(manifest, Admitted(obj, _sorted(_plain_errors(Value(obj).field("metadata")))))
    if kind_rules(obj["apiVersion"], obj["kind"]) is None:
        known = f"{', '.join(known_kinds())} of {API_VERSION}, {', '.join(PLAIN_KINDS)} of {PLAIN_VERSION}"
        found = f"unknown kind {cut(obj['kind'])} of apiVersion {cut(obj['apiVersion'])}"
        raise CliError(f"{manifest.place}: {found}; known are {known}")
    admitted = admit(obj)
    stamped = list(_stamped_errors(Value(obj).field("metadata")))
    errors = _sorted([*admitted.errors, *stamped]) if stamped else admitted.errors
    return Judged(manifest, Admitted(admitted.object, errors, admitted.warnings))


def _is_plain(manifest: Manifest) -> bool:
    return manifest.object["apiVersion"] == PLAIN_VERSION and manifest.object["kind"] in PLAIN_KINDS


def _plain_errors(metadata: Value) -> Iterator[FieldError]:
    yield from name_errors(metadata, OBJECT_NAMES)
    yield from metadata_errors(metadata)
    yield from _stamped_errors(metadata)


def _stamped_errors(metadata: Value) -> Iterator[FieldError]:
    """Check the shape of what admission takes as the API server has left it: a file has not been there."""
    written = {name: part for name, part in metadata.fields.items() if name in LISTED and part is not None}
    if written:
        yield from official_errors(Value(written, metadata.path), "meta.ObjectMeta")


def _sorted(errors: Iterable[FieldError]) -> tuple[FieldError, ...]:
    found = {(error.field, error.type): error for error in errors}
    return tuple(found[key] for key in sorted(found))
