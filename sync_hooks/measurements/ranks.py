"""Whether the ranks that printed a bandwidth table are those that were to run. Judges no speed.

Fewer ranks than planned are somebody's choice as long as every node has as many of them as the others. Ranks of one
node alone, where the group has several, measured NVLink and nothing between the nodes; programs that were to be one and
did not find each other print such tables, and exit well.
"""

from __future__ import annotations

from dataclasses import dataclass

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementStatus


@dataclass(frozen=True, slots=True)
class Planned:
    """What was to run: nodes of the group and ranks over all of them, where known; whether one mpirun starts them."""

    nodes: int | None = None
    ranks: int | None = None
    mpi: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the ranks; ``certain`` where the test cannot have been the one that was asked for."""

    message: str
    certain: bool = False


def ranks_apart(seen: BandwidthMeasurementStatus, planned: Planned) -> Finding | None:
    """Hold the ranks that a log lists against those that were planned; None where nothing is wrong or known."""
    nodes, ranks = planned.nodes or 1, seen.ranks
    if ranks is None or nodes == 1:
        return None
    share = planned.ranks // nodes if planned.ranks else None
    asked = f"{planned.ranks} on {nodes} nodes were to run" if planned.ranks else f"those of {nodes} nodes were to run"
    if _of_one_node(seen, share):
        apart = ", by programs that did not find each other" if seen.ranks_apart else ""
        text = f"the table is of {ranks} ranks on one node{apart}; {asked}, and nothing between nodes was measured"
        return Finding(text, certain=planned.mpi)
    if seen.ranks_apart:
        return Finding(f"the tables are of programs apart, one of {ranks} ranks; {asked}")
    missing = _missing(seen, ranks, nodes, share)
    return Finding(f"the table is of {ranks} ranks; {asked}, and {missing}") if missing else None


def count_note(listed: int | None, planned: int | None) -> str:
    """Say that another number of ranks ran than was planned; empty where it is the same, or not known."""
    differs = listed and planned and listed != planned
    return f"the log lists {listed} ranks, {planned} were to run" if differs else ""


def _missing(seen: BandwidthMeasurementStatus, ranks: int, nodes: int, share: int | None) -> str:
    """Say that nodes have no ranks, or fewer than others; empty where that does not show.

    Fewer hosts than nodes prove nothing where all ranks are there: names may be the same up to the first dot.
    """
    fewer, spread = share is not None and ranks < share * nodes, seen.rank_spread
    if share and (seen.ranks_on_first_host or 0) >= share and ranks <= share * (nodes - 1):
        return "not every node took part"
    if fewer and spread is not None and spread.hosts < nodes:
        return f"not every node took part: they are on {spread.hosts} hosts"
    if spread is not None and spread.hosts >= nodes and spread.fewest < spread.most:
        return f"not every node has its share: one has {spread.fewest} of them, another {spread.most}"
    return "not every node has its share" if fewer and ranks % nodes else ""


def _of_one_node(seen: BandwidthMeasurementStatus, share: int | None) -> bool:
    """Tell whether all ranks are on one host, and not more than a node's share of them.

    Hosts alone do not tell: names are printed up to the first dot. Where tables are apart, lines of several programs
    may be mixed, and the number alone tells.
    """
    few = share is None or (seen.ranks or 0) <= share
    return few and (seen.several_hosts is False or bool(seen.ranks_apart))
