import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_hooks.cluster.placement import NO_DOMAIN, Placed, place_by_domain, place_by_strict_domain, place_simply

names = st.lists(st.integers(0, 999).map(lambda number: f"gpu-{number:03d}"), unique=True, max_size=60)
domains = st.dictionaries(
    st.integers(0, 999).map(lambda number: f"gpu-{number:03d}"),
    st.sampled_from(["rack-a", "rack-b", "rack-c", "rack-d", NO_DOMAIN]),
    max_size=60,
)


@pytest.mark.parametrize(
    ("count", "size", "groups"),
    [
        (4, 2, [("0", "1"), ("2", "3")]),
        (7, 3, [("0", "1", "2"), ("3", "4", "5"), ("4", "5", "6")]),
        (5, 5, [("0", "1", "2", "3", "4")]),
        (2, 3, [("0", "1")]),
        (3, 1, [("0",), ("1",), ("2",)]),
        (0, 2, []),
    ],
)
def test_names_are_cut_into_chunks(count, size, groups):
    placed = place_simply([str(number) for number in range(count)], size)
    assert [group.nodes for group in placed] == groups


def test_the_rest_is_filled_up_with_the_last_nodes_of_the_last_group():
    assert place_simply("abcdefg", 3)[-1] == Placed(("e", "f", "g"), overflow=True, lent=("e", "f"))


@pytest.mark.parametrize(
    ("domain_of", "size", "groups"),
    [
        ({"a": "1", "b": "1", "c": "2", "d": "2"}, 2, [("a", "b"), ("c", "d")]),
        ({"a": "1", "b": "2", "c": "1", "d": "2"}, 2, [("a", "c"), ("b", "d")]),
        ({"a": "1", "b": "1", "c": "1", "d": "2", "e": "2", "f": "2"}, 6, [("a", "b", "c", "d", "e", "f")]),
        ({"a": "1", "b": "1", "c": "1", "d": "2"}, 2, [("a", "b"), ("a", "c"), ("b", "d")]),
        ({"a": "1", "b": "2", "c": "3", "d": "4"}, 3, [("a", "b", "c"), ("a", "b", "d")]),
        ({"a": "", "b": "", "c": ""}, 2, [("a", "b"), ("a", "c")]),
        ({"a": "1", "b": "1", "c": "1", "d": "1", "e": "2"}, 3, [("a", "b", "c"), ("a", "b", "d"), ("c", "d", "e")]),
    ],
    ids=[
        "racks",
        "racks over names",
        "two racks are needed",
        "the rest with its rack first",
        "racks of one",
        "no rack at all",
        "the last group borrows what another one has borrowed",
    ],
)
def test_groups_keep_to_a_domain_where_they_can(domain_of, size, groups):
    placed = place_by_domain(domain_of, size)
    assert sorted(group.nodes for group in placed) == sorted(groups)


def test_one_group_a_domain_takes_the_larger_first():
    placed = place_by_strict_domain({"a": "small", "b": "large", "c": "large", "d": "also"})
    assert [(group.domains, group.nodes) for group in placed] == [
        (("large",), ("b", "c")),
        (("also",), ("d",)),
        (("small",), ("a",)),
    ]


@given(names, st.integers(1, 9))
def test_simply_every_node_has_one_home_and_groups_are_full(listed, size):
    _check_homes(place_simply(listed, size), listed, size)
    assert place_simply(listed, size) == place_simply(reversed(listed), size)


@given(domains, st.integers(1, 9), st.randoms())
def test_by_domain_every_node_has_one_home_whatever_the_order(domain_of, size, random):
    placed = place_by_domain(domain_of, size)
    _check_homes(placed, list(domain_of), size)
    shuffled = list(domain_of.items())
    random.shuffle(shuffled)
    assert place_by_domain(dict(shuffled), size) == placed


@given(domains)
def test_strictly_every_domain_is_one_group(domain_of):
    placed = place_by_strict_domain(domain_of)
    assert sorted(group.domains[0] for group in placed) == sorted(set(domain_of.values()))
    _check_homes(placed, list(domain_of), 60, full=False)


@pytest.mark.parametrize("nodes_in_a_domain", [1, 3, 18, 5000])
def test_five_thousand_nodes_have_one_home_each_whatever_the_size_of_racks(nodes_in_a_domain):
    domain_of = {f"gpu-{number:04d}": f"rack-{number // nodes_in_a_domain:04d}" for number in range(5000)}
    _check_homes(place_by_domain(domain_of, 2), list(domain_of), 2)


def test_where_racks_are_larger_and_smaller_than_a_group_no_group_is_small():
    domain_of = {f"a{number}": "a" for number in range(9)} | {"b0": "b"}
    placed = place_by_domain(domain_of, 8)
    assert [len(group.nodes) for group in placed] == [8, 8, 8]
    assert placed[-1].nodes == ("a0", "a1", "a2", "a3", "a4", "a7", "a8", "b0")
    assert set(placed[-1].nodes) - set(placed[-1].lent) == {"b0"}


def _check_homes(placed, listed, size, *, full=True):
    """Every node has one home, no group holds one twice, and where there are enough nodes every group is full."""
    home = [name for group in placed for name in group.nodes if name not in group.lent]
    assert sorted(home) == sorted(listed)
    assert all(list(group.nodes) == sorted(set(group.nodes)) for group in placed)
    assert all(0 < len(group.nodes) <= size for group in placed)
    assert all(bool(group.lent) <= group.overflow and len(group.lent) < len(group.nodes) for group in placed)
    if full and len(listed) >= size:
        assert all(len(group.nodes) == size for group in placed)
