"""The measuring tool itself: what meets a target, how turns are taken, what is kept and how two runs are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.bench import __main__ as command
from tools.bench import history
from tools.bench.machine import Machine
from tools.bench.rounds import Rounds, alternate, in_turn
from tools.bench.row import Row, Target, below, compared, ratio_at_least, ratio_at_most, watched
from tools.bench.table import document, text

MACHINE = Machine("2026-01-01T00:00:00Z", "abc1234", "a processor", 2, "Linux x86_64", "3.11.7", 0.5)


@pytest.mark.parametrize(
    ("target", "value", "ratio", "met"),
    [
        (ratio_at_most(2), 900.0, 2.0, True),
        (ratio_at_most(2), 1.0, 2.1, False),
        (ratio_at_least(0.5), 1.0, 0.4, False),
        (below(10), 10.0, 0.1, False),
        (below(10), 9.9, None, True),
    ],
    ids=["equal is enough", "too much", "too little", "below is below", "without a reference"],
)
def test_a_target_is_met_by_what_it_asks_of(target: Target, value: float, ratio: float | None, *, met: bool) -> None:
    row = watched("x", value, "ms", target) if ratio is None else compared("x", value, "ms", "peer", 1.0, ratio, target)
    assert row.ok is met


def test_a_target_of_a_ratio_without_one_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="needs a reference"):
        watched("x", 1.0, "ms", ratio_at_most(2))


def test_the_ratio_is_of_rounds_and_one_busy_moment_does_not_move_it() -> None:
    rounds = Rounds({"own": [2.0, 20.0, 200.0], "peer": [1.0, 10.0, 1.0]})
    assert rounds.ratio("own", "peer") == 2.0
    assert rounds.median("own") == 20.0


def test_parties_take_turns_and_the_first_turn_counts_nothing() -> None:
    turns: list[str] = []

    def party(name: str) -> float:
        turns.append(name)
        return float(len(turns))

    rounds = alternate({"a": lambda: party("a"), "b": lambda: party("b")}, rounds=2)
    assert "".join(turns) == "ab" + "ab" + "ba"
    assert rounds.costs == {"a": [3.0, 6.0], "b": [4.0, 5.0]}
    assert in_turn("ab", 1) == ["b", "a"]


def test_the_table_names_the_machine_the_reference_and_what_is_missed() -> None:
    row = compared("reading", 9.0, "ms", "peer", 3.0, 3.0, ratio_at_most(2))
    shown = text(MACHINE, {"logs": [row]})
    assert "a processor" in shown
    assert "| logs: reading | 9 ms  | peer: 3 ms          | 3.00  | ratio <= 2 | NO  |" in shown


def test_histories_are_compared_by_their_newest_rows_and_by_ratios(tmp_path: Path) -> None:
    for name, ratios in (("old", (9.0, 1.0)), ("new", (1.5,))):
        for ratio in ratios:
            rows = [Row("reading", 100 * ratio, "ms", "peer: 100 ms", ratio), Row(name, 1.0, "ms")]
            history.append(tmp_path / name, document(MACHINE, {"logs": rows}))
    shown = history.compare(history.newest_rows(tmp_path / "old"), history.newest_rows(tmp_path / "new"))
    assert "| logs: reading | 1   | 1.5 | +50%   | look here |" in shown
    assert "logs: old" not in shown
    assert json.loads((tmp_path / "old").read_text().splitlines()[0])["commit"] == "abc1234"


def test_what_is_called_wrongly_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["nope"]) == 2
    assert command.main(["--compare", str(tmp_path / "none"), str(tmp_path / "none")]) == 2
    assert "no such group: nope" in capsys.readouterr().err
