import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_hooks.api.observed import Taint
from sync_hooks.api.target import NodeSelectorRequirement, TaintSelector, Target
from sync_hooks.cluster.nodes import ambiguous_hostnames, exclude, overlooked, select
from sync_hooks.cluster.selectors import meets
from sync_hooks.cluster.tolerations import first_untolerated, tolerates
from tests.support.nodes import node

DEDICATED = Taint(key="dedicated", value="x", effect="NoSchedule")


@pytest.mark.parametrize(
    ("operator", "values", "labels", "met"),
    [
        ("In", ["a", "b"], {"zone": "a"}, True),
        ("In", ["b"], {"zone": "a"}, False),
        ("In", ["a"], {}, False),
        ("In", None, {"zone": "a"}, False),
        ("NotIn", ["a"], {"zone": "a"}, False),
        ("NotIn", ["b"], {"zone": "a"}, True),
        ("NotIn", ["b"], {}, True),
        ("Exists", None, {"zone": ""}, True),
        ("Exists", None, {}, False),
        ("DoesNotExist", None, {}, True),
        ("DoesNotExist", None, {"zone": "a"}, False),
    ],
)
def test_a_requirement_is_met_as_kubernetes_says(operator, values, labels, met):
    assert meets(labels, NodeSelectorRequirement(key="zone", operator=operator, values=values)) is met


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "dedicated", "operator": "Exists"}, True),
        ({"key": "dedicated", "operator": "Equal", "value": "x"}, True),
        ({"key": "dedicated", "value": "x"}, True),
        ({"key": "dedicated", "value": "y"}, False),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "dedicated", "operator": "Gt", "value": "1"}, False),
        ({}, False),
    ],
)
def test_a_toleration_covers_a_taint_as_the_scheduler_says(toleration, covered):
    assert tolerates(toleration, DEDICATED) is covered


def test_a_taint_that_only_asks_keeps_nothing_away():
    assert first_untolerated([Taint(key="a", effect="PreferNoSchedule")], []) is None
    assert first_untolerated([Taint(key="a", effect="NoExecute")], []) == Taint(key="a", effect="NoExecute")


@pytest.mark.parametrize(
    ("target", "kept", "excluded"),
    [
        (Target(), ["a", "b"], {}),
        (Target(node_selector={"pool": "a"}), ["a"], {}),
        (Target(match_expressions=[NodeSelectorRequirement(key="pool", operator="NotIn", values=["a"])]), ["b"], {}),
        (Target(node_names=["a", "z"]), ["a"], {"z": "no such node"}),
        (Target(node_names=["plain"]), [], {"plain": "no nvidia.com/gpu.present=true label"}),
        (
            Target(node_names=["a", "b"], node_selector={"pool": "a"}),
            ["a"],
            {"b": "does not match target.nodeSelector"},
        ),
        (Target(taint_selectors=[TaintSelector(key="dedicated")]), [], {}),
    ],
    ids=["all", "labels", "expressions", "names", "a named node without GPUs", "names and labels", "taints"],
)
def test_the_target_says_which_nodes_the_run_is_about(target, kept, excluded):
    cluster = [
        node("b", labels={"pool": "b"}),
        node("a", labels={"pool": "a"}),
        node("plain", labels={"nvidia.com/gpu.present": "false"}),
    ]
    selection = select(target, cluster, [])
    assert [one.name for one in selection.kept] == kept
    assert selection.excluded == excluded
    assert selection.targeted == len(kept) + len(excluded)


@pytest.mark.parametrize(
    ("unfit", "reason"),
    [
        (node("a", cordoned=True), "cordoned"),
        (node("a", ready="False"), "NotReady"),
        (node("a", ready="Unknown"), "NotReady"),
        (node("a", taints=[DEDICATED]), "taint dedicated=x:NoSchedule is not tolerated"),
        (node("a", taints=[Taint(key="k", effect="NoExecute")]), "taint k:NoExecute is not tolerated"),
    ],
)
def test_an_unfit_node_is_named_with_its_reason(unfit, reason):
    assert select(Target(), [unfit], []).excluded == {"a": reason}


def test_a_tainted_node_is_fit_where_its_taint_is_tolerated():
    selection = select(Target(), [node("a", taints=[DEDICATED])], [{"key": "dedicated", "operator": "Exists"}])
    assert [one.name for one in selection.kept] == ["a"]


def test_none_of_the_nodes_that_answer_to_one_hostname_can_be_pinned():
    twins = [node("a"), node("b", labels={"kubernetes.io/hostname": "a"}), node("c")]
    assert ambiguous_hostnames(twins) == {
        "a": "label kubernetes.io/hostname=a is also on node b",
        "b": "label kubernetes.io/hostname=a is also on node a",
    }


@given(st.permutations([node("a"), node("b", cordoned=True), node("c", ready="False"), node("d", taints=[DEDICATED])]))
def test_the_order_of_the_nodes_never_matters(cluster):
    selection = select(Target(), cluster, [])
    assert [one.name for one in selection.kept] == ["a"]
    assert list(selection.excluded) == ["b", "c", "d"]


def test_excluding_more_keeps_earlier_reasons():
    selection = select(Target(), [node("a"), node("b"), node("c", cordoned=True)], [])
    smaller = exclude(selection, lambda one: "too old" if one.name == "b" else None)
    assert [one.name for one in smaller.kept] == ["a"]
    assert smaller.excluded == {"b": "too old", "c": "cordoned"}


UNLABELLED = {"nvidia.com/gpu.present": ""}


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (Target(), ("east", "west")),
        (Target(node_selector={"zone": "east"}), ("east",)),
        (
            Target(match_expressions=[NodeSelectorRequirement(key="zone", operator="In", values=["west"])]),
            ("west",),
        ),
        (Target(taint_selectors=[TaintSelector(key="dedicated")]), ()),
        (Target(node_names=["east"]), ()),
    ],
    ids=["all", "by label", "by expression", "by taint", "named, and so excluded by name"],
)
def test_a_node_with_gpus_that_lacks_only_the_label_is_overlooked(target, found):
    cluster = [
        node("west", labels={**UNLABELLED, "zone": "west"}),
        node("east", labels={**UNLABELLED, "zone": "east"}),
        node("labelled", labels={"zone": "east"}),
        node("no-gpus", labels={**UNLABELLED, "zone": "east"}, gpus=None),
    ]
    assert overlooked(target, cluster, "nvidia.com/gpu") == found
