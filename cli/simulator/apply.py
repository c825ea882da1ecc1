"""What Metacontroller makes of a child that is updated in place: three ways are merged, none by what its kind means.

Fields that were asked for before and are not any more go, those that are asked for now are set, all others stay. Lists
of objects are merged by the first well-known key that all items have, any other list is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from cli.simulator.entry import Object, encode_sorted, with_metadata
from cli.simulator.metadata import READ_ONLY, status_replaced
from sync_hooks.api.names import ANNOTATION_APPLIED

LAST_APPLIED = ANNOTATION_APPLIED
MERGE_KEYS = ("containerPort", "port", "mountPath", "name", "uid", "ip", "path")


class ApplyError(Exception):
    """Two of the three disagree on the type of a field."""


def updated(observed: Object, desired: Object) -> Object:
    """Return the observed object with what is desired; equal to the observed one where there is nothing to do.

    Raises ApplyError.
    """
    noted = (observed["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    wanted = _without_note(desired)
    merged: Object = _merge("", observed, msgspec.json.decode(noted) if noted else None, wanted)
    system = {field: observed["metadata"].get(field) for field in READ_ONLY}
    annotations = {**(merged["metadata"].get("annotations") or {}), LAST_APPLIED: encode_sorted(wanted).decode()}
    return status_replaced(with_metadata(merged, **system, annotations=annotations), observed)


def _without_note(desired: Object) -> Object:
    annotations = (desired.get("metadata") or {}).get("annotations") or {}
    if LAST_APPLIED not in annotations:
        return desired
    return with_metadata(desired, annotations={key: text for key, text in annotations.items() if key != LAST_APPLIED})


def _merge(path: str, observed: Any, applied: Any, desired: Any) -> Any:
    for type_ in (dict, list):
        if isinstance(observed, type_):
            wrong = next((name for name, side in (("lastApplied", applied), ("desired", desired))
                          if side is not None and not isinstance(side, type_)), None)  # fmt: skip
            if wrong:
                raise ApplyError(f"can't merge desired changes: {wrong}{path}: unexpected type")
    if isinstance(observed, dict):
        return _merge_maps(path, observed, applied or {}, desired or {})
    if isinstance(observed, list):
        return _merge_lists(path, observed, applied or [], desired)
    return desired


def _merge_maps(path: str, observed: Object, applied: Object, desired: Object) -> Object:
    kept = {key: value for key, value in observed.items() if key in desired or key not in applied}
    return kept | {
        key: _merge(f"{path}[{key}]", kept.get(key), applied.get(key), value) for key, value in desired.items()
    }


def _merge_lists(path: str, observed: list[Any], applied: list[Any], desired: list[Any] | None) -> list[Any] | None:
    key = _merge_key([*observed, *applied, *(desired or ())])
    if key is None:
        return desired
    sides = [{str(item[key]): item for item in side} for side in (observed, applied, desired or ())]
    return list(_merge_maps(path, *sides).values())


def _merge_key(items: Iterable[Any]) -> str | None:
    items = list(items)
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    return next((key for key in MERGE_KEYS if all(key in item for item in items)), None)
