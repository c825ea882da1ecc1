"""Whole runs that end well and have not shown what was asked for: none of them is Passed without a word."""

from __future__ import annotations

import dataclasses

from cli.simulator.scenario import Rule, Scenario
from tests.properties.laws import Laws, check_end
from tests.properties.plays import Performance, Play
from tests.sync_hooks.measurements.listings import listed, uneven
from tests.sync_hooks.measurements.tables import SWEEP, table
from tests.sync_hooks.measurements.worlds import example

HOSTS = ("gpu-0000", "gpu-0001", "gpu-0002", "gpu-0003")
OVER_FABRIC = "gpu-0000:311:342 [0] NCCL INFO Using network AWS Libfabric"
MEASURED = Play("aws/h100x2", "mpi", bandwidth=True)


def ended(play: Play) -> tuple[str, str, Performance]:
    laws = Laws()
    performance = Performance(play, laws.watch).run(4 * 3600.0)
    check_end(performance, laws)
    status = performance.status()
    return status["verdict"], "; ".join(status.get("verdictReasons") or ()), performance


def printing(lines: list[str], play: Play = MEASURED) -> Play:
    return Play(play.inventory, play.framework, play.size, bandwidth=True, rules=(Rule(log=tuple(lines)),))


def test_a_whole_table_of_all_ranks_passes_without_a_word():
    assert ended(printing(example("all-reduce.log")))[:2] == ("Passed", "")


def test_programs_that_did_not_find_each_other_fail_and_their_figures_are_in_no_result():
    log = [line for host in HOSTS for line in (*listed(host, each=8), *table(SWEEP))]
    verdict, reasons, performance = ended(printing(log, Play("aws/h100x4", "mpi", 4)))
    assert verdict == "Failed"
    assert "RanksApart: group 0: the table is of 8 ranks on one node, by programs that did not find" in reasons
    assert "results" not in performance.status()
    assert performance.status()["coverage"] == {"targeted": 4, "tested": 0, "excluded": 0, "inconclusive": 4}


def test_a_table_without_its_end_is_incomplete():
    log = example("all-reduce.log")
    last = max(index for index, line in enumerate(log) if " float " in line)
    verdict, reasons, _ = ended(printing(log[: last - 10]))
    assert verdict == "Incomplete"
    assert reasons.endswith("bandwidth: the table is not whole: the footer, or lines before it, are missing")


def test_a_row_that_cannot_be_read_is_incomplete():
    torn = [line.replace("420.00", "42O.00") if line.split()[:1] == ["1073741824"] else line for line in table(SWEEP)]
    assert torn != table(SWEEP)
    verdict, reasons, _ = ended(printing(torn))
    assert verdict == "Incomplete"
    assert "rows of the table could not be read" in reasons


def test_sockets_between_nodes_of_which_nobody_knows_a_fabric_are_incomplete():
    log = example("all-reduce-sockets.log")
    verdict, reasons, _ = ended(printing(log, Play("aws/h200x2", "mpi", bandwidth=True)))
    assert verdict == "Incomplete"
    assert "it is not known whether there is a fabric" in reasons


def test_a_network_that_nccl_was_not_asked_to_name_is_incomplete_where_there_is_a_fabric():
    log = [line for line in example("all-reduce-sockets.log") if "NCCL INFO" not in line]
    verdict, reasons, performance = ended(printing(log))
    assert verdict == "Incomplete"
    assert "bandwidth: NetworkUnknown: the log does not say which network was used between nodes" in reasons
    assert "NCCL_DEBUG=INFO" in reasons
    assert performance.status()["coverage"]["tested"] == 2


def test_results_that_were_not_checked_pass_with_a_word():
    unchecked = [dataclasses.replace(item, last="N/A", in_place_last="N/A") for item in SWEEP]
    verdict, reasons, _ = ended(printing([OVER_FABRIC, *listed("gpu-0000", "gpu-0001", each=8), *table(unchecked)]))
    assert (verdict, reasons) == ("Passed", "group 0: bandwidth: the test did not check the results of 32 rows")


def test_rows_of_another_collective_that_nobody_chose_are_incomplete():
    log = [*listed("gpu-0000", "gpu-0001", each=8), *table(SWEEP), *table(SWEEP, test="broadcast")]
    verdict, reasons, _ = ended(printing(log))
    assert verdict == "Incomplete"
    assert "are left out: only the first collective counts where testType names none" in reasons


def test_a_sweep_that_printed_its_header_and_died_is_incomplete():
    verdict, reasons, _ = ended(printing([*example("all-reduce.log"), *table(SWEEP)[:4]]))
    assert verdict == "Incomplete"
    assert "a test began and did not come to a first result" in reasons


def test_a_node_with_one_gpu_in_the_test_is_incomplete():
    ranks = uneven(**dict.fromkeys(HOSTS[:3], 8), **{HOSTS[3]: 1})
    verdict, reasons, _ = ended(printing([*ranks, *table(SWEEP)], Play("aws/h100x4", "mpi", 4)))
    assert verdict == "Incomplete"
    assert "not every node has its share: one has 1 of them, another 8" in reasons


def test_a_group_that_passes_only_when_tried_again_passes_with_a_word():
    play = Play(retries=1, rules=(Rule(outcome="Failed", nodes=frozenset({"gpu-0000"}), after=10.0),))
    laws = Laws()
    performance = Performance(play, laws.watch)
    repaired = Rule(outcome="Succeeded")
    performance.clock.schedule(
        15.0, lambda: setattr(performance.simulation.director, "_scenario", Scenario((repaired,)))
    )
    performance.run(4 * 3600.0)
    check_end(performance, laws)
    status = performance.status()
    assert status["verdict"] == "Passed"
    assert status["verdictReasons"] == ["group 0: failed and passed only when tried again, on retry 1"]


def test_a_group_that_fails_again_is_not_said_to_have_passed():
    fails = Rule(outcome="Failed", nodes=frozenset({"gpu-0000"}), after=10.0)
    verdict, reasons, _ = ended(Play(retries=1, rules=(fails,)))
    assert verdict == "Failed"
    assert "only when tried again" not in reasons
