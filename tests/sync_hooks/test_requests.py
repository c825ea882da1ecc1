"""Requests are read in one pass where their kinds are known, and whatever else they hold is kept all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from sync_hooks.api.request import (
    BANDWIDTH_MEASUREMENT,
    GOODPUT_MEASUREMENT,
    JOB,
    KNOWN_KINDS,
    TRAIN_JOB,
    MeasurementChild,
    decode,
)
from tests.support.hooks import manifest
from webhook.apiserver import RESOURCES

CONTROLLERS = Path(__file__).parents[2] / "cli" / "simulator" / "controllers.yaml"
STATUS = {"conditions": [{"type": "Succeeded", "status": "True", "reason": "Ended"}]}


def body(*kinds: str, **parent: Any) -> bytes:
    children = {}
    for kind in kinds:
        name, _, version = kind.partition(".")
        children[kind] = {"default/one": manifest(name, "one", apiVersion=version, status=STATUS)}
    return msgspec.json.encode({"parent": manifest("Job", "run", **parent), "children": children, "finalizing": True})


def test_an_unknown_kind_changes_nothing_of_the_others() -> None:
    known, more = decode(body(*KNOWN_KINDS)), decode(body(*KNOWN_KINDS, "Secret.v1"))
    assert {kind: more.children[kind] for kind in known.children} == known.children
    assert (more.parent, more.finalizing) == (known.parent, True)
    assert more.children["Secret.v1"]["one"].kind == "Secret"


def test_only_kinds_that_a_request_names_are_declared() -> None:
    assert set(decode(body(JOB)).children) == {JOB}
    assert set(decode(body()).children) == set()


def test_every_kind_of_the_shipped_controllers_is_read_in_one_pass() -> None:
    kinds = {(version, resource): f"{kind}.{version}" for (version, kind), resource in RESOURCES.items()}
    controllers = yaml.safe_load(CONTROLLERS.read_text())["items"]
    declared = [item for controller in controllers for item in controller["spec"].get("childResources") or ()]
    assert {kinds[item["apiVersion"], item["resource"]] for item in declared} == set(KNOWN_KINDS)


@pytest.mark.parametrize("kind", [BANDWIDTH_MEASUREMENT, GOODPUT_MEASUREMENT])
def test_what_is_read_of_a_measurement_later_is_what_came(kind: str) -> None:
    assert decode(body(kind, TRAIN_JOB)).of(kind, MeasurementChild)["one"].status == STATUS


@pytest.mark.parametrize("kinds", [(), ("Secret.v1",)], ids=["known kinds", "and another"])
def test_a_shape_that_no_object_has_is_told_whatever_kinds_are_beside_it(kinds: tuple[str, ...]) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"`\$\.parent\.metadata\.generation`"):
        decode(body(JOB, *kinds, metadata={"generation": "one"}))
