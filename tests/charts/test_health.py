"""Argo CD's health of our kinds: the scripts run in a real Lua 5.1 with the two libraries that Argo CD opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lupa.lua51 as lua
import pytest
import yaml

from sync_hooks.api.kinds import KINDS
from tests.charts.helm import CHART

SCRIPTS = CHART / "argocd"
CASES = yaml.safe_load((Path(__file__).parent / "health.yaml").read_text())
OPEN = ("ipairs", "pairs", "next", "type", "tostring", "tonumber", "select", "unpack", "table")


def health(script: str, obj: dict[str, Any]) -> dict[str, str]:
    """Run a script as Argo CD does: the object is the global `obj`, what it returns is the health."""
    runtime = lua.LuaRuntime(unpack_returned_tuples=True)
    known = runtime.globals()
    environment = runtime.table_from({name: known[name] for name in OPEN} | {"obj": _table(runtime, obj)})
    chunk = known.loadstring(script)
    assert not isinstance(chunk, tuple), chunk
    return dict(known.setfenv(chunk, environment)())


def _table(runtime: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return runtime.table_from({key: _table(runtime, item) for key, item in value.items()})
    if isinstance(value, list):
        return runtime.table_from([_table(runtime, item) for item in value])
    return value


def cases() -> list[Any]:
    return [
        pytest.param(kind, case["object"], case["health"], id=f"{kind}: {case['name']}")
        for kind, rows in CASES.items()
        for case in rows
    ]


@pytest.mark.parametrize(("kind", "obj", "expected"), cases())
def test_health(kind: str, obj: dict[str, Any], expected: dict[str, str]) -> None:
    whole = {"kind": kind, **obj, "metadata": {"name": "one", "generation": 1, **obj.get("metadata", {})}}
    assert health((SCRIPTS / f"{kind}.lua").read_text(), whole) == expected


def test_every_kind_has_a_script_and_cases() -> None:
    kinds = {kind.kind for kind in KINDS}
    assert {path.stem for path in SCRIPTS.glob("*.lua")} == kinds == set(CASES)


@pytest.mark.parametrize("kind", sorted(kind.kind for kind in KINDS if kind.status is not None))
@pytest.mark.parametrize("status", [None, {}, {"conditions": []}, {"observedGeneration": 1}], ids=str)
def test_a_status_that_says_nothing_is_in_progress(kind: str, status: dict[str, Any] | None) -> None:
    obj: dict[str, Any] = {"metadata": {"name": "one", "generation": 1}}
    if status is not None:
        obj["status"] = status
    assert health((SCRIPTS / f"{kind}.lua").read_text(), obj)["status"] == "Progressing"
