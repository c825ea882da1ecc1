"""How nodes are put into groups: chunks by name, chunks that keep to a topology domain, or one group a domain.

Every node is at home in exactly one group. Where the last nodes are too few for a group, it is filled up with nodes
that have a home already: those are lent, and the group is an overflow group.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

NO_DOMAIN = ""  # of nodes without the topology label: together they are treated as one more domain


@dataclass(frozen=True, slots=True)
class Placed:
    """Nodes that run together, sorted; ``lent`` are those at home elsewhere."""

    nodes: tuple[str, ...]
    overflow: bool = False
    lent: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()


def place_simply(names: Iterable[str], size: int) -> tuple[Placed, ...]:
    """Cut the sorted names into chunks of ``size``; the rest is filled up with the last nodes of the last chunk.

    Fewer names than ``size`` make one smaller group.
    """
    ordered = sorted(names)
    full = len(ordered) // size * size
    chunks = tuple(Placed(tuple(ordered[start : start + size])) for start in range(0, full, size))
    rest = ordered[full:]
    if not rest:
        return chunks
    lent = ordered[max(0, len(ordered) - size) : full]
    return (*chunks, Placed((*lent, *rest), overflow=bool(lent), lent=tuple(lent)))


def place_by_strict_domain(domain_of: Mapping[str, str]) -> tuple[Placed, ...]:
    """Make one group of every domain, larger ones first, then by name."""
    domains = _by_domain(domain_of)
    ordered = sorted(domains, key=lambda domain: (-len(domains[domain]), domain))
    return tuple(Placed(tuple(domains[domain]), domains=(domain,)) for domain in ordered)


def place_by_domain(domain_of: Mapping[str, str], size: int) -> tuple[Placed, ...]:
    """Form groups of ``size`` that span as few domains as possible, then overflow groups of what is left.

    A full group spans at most as many domains as the largest domain makes necessary, unless no group at all could be
    formed that way.
    """
    domains = _by_domain(domain_of)
    largest = max((len(names) for domain, names in domains.items() if domain != NO_DOMAIN), default=size)
    spread = -(-size // largest)
    left = {domain: list(names) for domain, names in domains.items()}
    full = _full_groups(left, size, spread) or _full_groups(left, size, len(domains))
    used = {name for group in full for name in group}
    overflow = _overflow_groups(domains, used, size)
    homes = _homes((*full, *overflow))
    return tuple(
        Placed(
            nodes=tuple(sorted(group)),
            overflow=bool(full) and number >= len(full),
            lent=tuple(sorted(name for name in group if homes[name] != number)),
            domains=tuple(sorted({domain_of[name] for name in group} - {NO_DOMAIN})),
        )
        for number, group in enumerate((*full, *overflow))
    )


def _homes(groups: Sequence[Sequence[str]]) -> Mapping[str, int]:
    """Tell where each node is at home: in the first group that has it."""
    homes: dict[str, int] = {}
    for number, group in enumerate(groups):
        for name in group:
            homes.setdefault(name, number)
    return homes


def _by_domain(domain_of: Mapping[str, str]) -> dict[str, list[str]]:
    domains: dict[str, list[str]] = {}
    for name in sorted(domain_of):
        domains.setdefault(domain_of[name], []).append(name)
    return domains


def _full_groups(left: dict[str, list[str]], size: int, spread: int) -> list[list[str]]:
    """Take groups from the fullest domains, at most ``spread`` of them a group; ``left`` keeps what is not taken."""
    heap = [(-len(names), domain) for domain, names in left.items()]
    heapq.heapify(heap)
    groups: list[list[str]] = []
    while heap:
        top = [heapq.heappop(heap) for _ in range(min(spread, len(heap)))]
        if -sum(count for count, _ in top) < size:
            break
        group: list[str] = []
        for _, domain in top:
            taken = size - len(group)
            group += left[domain][:taken]
            left[domain] = left[domain][taken:]
            if left[domain]:
                heapq.heappush(heap, (-len(left[domain]), domain))
        groups.append(group)
    return groups


def _overflow_groups(domains: Mapping[str, Sequence[str]], used: set[str], size: int) -> list[list[str]]:
    """Group the nodes that no full group took, each filled up from its own domain first, then from the next one.

    Nodes are lent once as long as there are others; that they run out can only happen to the last group.
    """
    pools = {domain: sorted(names, key=lambda name: (name in used, name)) for domain, names in domains.items()}
    fresh = {domain: sum(name not in used for name in names) for domain, names in pools.items()}
    heap = [(-fresh[domain], -len(names), domain) for domain, names in pools.items()]
    heapq.heapify(heap)
    groups: list[list[str]] = []
    while heap and heap[0][0] < 0:
        group: list[str] = []
        touched: list[str] = []
        while heap and len(group) < size:
            *_, domain = heapq.heappop(heap)
            taken = size - len(group)
            group += pools[domain][:taken]
            pools[domain] = pools[domain][taken:]
            fresh[domain] = max(0, fresh[domain] - taken)
            touched.append(domain)
        for domain in touched:
            if pools[domain]:
                heapq.heappush(heap, (-fresh[domain], -len(pools[domain]), domain))
        groups.append(group)
    if groups:
        groups[-1] += _lent_again(domains, used, groups, size - len(groups[-1]))
    return groups


def _lent_again(
    domains: Mapping[str, Sequence[str]], used: set[str], groups: Sequence[Sequence[str]], count: int
) -> list[str]:
    """Choose nodes to fill up the last group: of its own domains first, then those that run least often."""
    last = set(groups[-1])
    runs = Counter(used)
    for group in groups:
        runs.update(group)
    candidates = [
        (last.isdisjoint(names), runs[name], name) for names in domains.values() for name in names if name not in last
    ]
    return [name for *_, name in heapq.nsmallest(count, candidates)]
