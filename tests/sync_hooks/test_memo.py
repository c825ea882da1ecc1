"""What is remembered of inputs that come again: bounded in bytes, whatever their number."""

from __future__ import annotations

import base64

import pytest

from sync_hooks.api.memo import ENTRY_BYTES, Memo
from sync_hooks.api.request import ConfigMapChild
from sync_hooks.execution import plan_seen
from sync_hooks.execution.plan_seen import read_plan
from sync_hooks.planning.plan import PLAN_KEY, Group, Plan, encode, sha256


def test_what_was_asked_for_last_stays_and_the_rest_goes_when_there_is_no_room() -> None:
    memo: Memo[str] = Memo(2 * (ENTRY_BYTES + 100))
    memo.keep("a", "A", 100)
    memo.keep("b", "B", 100)
    assert memo.get("a") == "A"
    memo.keep("c", "C", 100)
    assert (memo.get("a"), memo.get("b"), memo.get("c")) == ("A", None, "C")


def test_what_is_kept_twice_is_counted_once() -> None:
    memo: Memo[str] = Memo(2 * (ENTRY_BYTES + 100))
    for _ in range(5):
        memo.keep("a", "A", 100)
    memo.keep("b", "B", 100)
    assert (memo.get("a"), memo.get("b")) == ("A", "B")


def test_what_is_larger_than_all_room_is_given_back_and_drives_out_nothing() -> None:
    memo: Memo[str] = Memo(2 * ENTRY_BYTES)
    memo.keep("a", "A", 10)
    assert memo.keep("b", "B", 10_000) == "B"
    assert (memo.get("a"), memo.get("b")) == ("A", None)


def test_large_plans_are_remembered_as_far_as_there_is_room_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    memo: Memo[tuple[Plan | None, str]] = Memo(1 << 20)
    monkeypatch.setattr(plan_seen, "_PLANS", memo)
    for run in range(20):
        plan = Plan(prefix=f"run-{run}", groups=tuple(Group(nodes=(f"gpu-{number:04}",)) for number in range(2500)))
        packed = encode(plan)
        stored = ConfigMapChild(binary_data={PLAN_KEY: base64.b64encode(packed).decode()})
        assert [read_plan(stored, noted) for noted in ("", "other", sha256(packed))] == [
            (plan, sha256(packed)), (None, sha256(packed)), (plan, sha256(packed)),
        ]  # fmt: skip
    assert 0 < len(memo) < 20


def test_what_was_read_of_one_plan_is_never_the_answer_about_another(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = next(
        content for number in range(100) if b"/" in base64.b64encode(content := encode(Plan(prefix=f"run-{number}")))
    )
    noted, text = sha256(packed), base64.b64encode(packed).decode()
    begin, _, rest = text.partition("/")
    for pairs in ([(f"{noted}/{begin}", rest), (noted, text)], [(noted, text), (f"{noted}/{begin}", rest)]):
        monkeypatch.setattr(plan_seen, "_PLANS", Memo(1 << 20))
        found = {
            hash_: read_plan(ConfigMapChild(binary_data={PLAN_KEY: content}), hash_)[0] for hash_, content in pairs
        }
        assert found[noted] is not None
        assert found[f"{noted}/{begin}"] is None
