"""Which nodes a run is about, and which of them can run it at all. Every targeted node is kept or named with a reason.

Only what is true of a node by itself is judged here; what depends on the other nodes (architecture, GPUs, fabric) is
judged by `exclude` with a reason that the planner gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sync_hooks.api.observed import Node
from sync_hooks.api.quantity import whole_units
from sync_hooks.api.target import Target
from sync_hooks.cluster import reasons
from sync_hooks.cluster.selectors import carries_all, meets_all
from sync_hooks.cluster.tolerations import Toleration, first_untolerated

LABEL_GPU_PRESENT = "nvidia.com/gpu.present"
LABEL_GPU_PRODUCT = "nvidia.com/gpu.product"
LABEL_HOSTNAME = "kubernetes.io/hostname"
TAINT_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

Reason = str


@dataclass(frozen=True, slots=True)
class Selection:
    """Targeted nodes: those kept, sorted by name, and those left out, each with its reason."""

    kept: tuple[Node, ...] = ()
    excluded: Mapping[str, Reason] = field(default_factory=dict)

    @property
    def targeted(self) -> int:
        """Number of nodes that the target selects."""
        return len(self.kept) + len(self.excluded)


def select(target: Target, nodes: Iterable[Node], tolerations: Sequence[Toleration]) -> Selection:
    """Split the targeted nodes into fit and unfit ones, whatever the order of ``nodes``.

    ``tolerations`` are those that the workload's pods may carry. A node that the target names is targeted even where
    it does not exist or does not meet the rest of the target.
    """
    known = {node.name: node for node in sorted(nodes, key=lambda node: node.name)}
    if target.node_names:
        candidates = {name: known.get(name) for name in sorted(set(target.node_names))}
    else:
        candidates = {name: node for name, node in known.items() if _not_selected(target, node) is None}
    verdicts = {name: _unusable(target, node, tolerations) for name, node in candidates.items()}
    return Selection(
        kept=tuple(node for node in candidates.values() if node is not None and verdicts[node.name] is None),
        excluded={name: reason for name, reason in verdicts.items() if reason is not None},
    )


def exclude(selection: Selection, judge: Callable[[Node], Reason | None]) -> Selection:
    """Leave out the nodes for which ``judge`` gives a reason."""
    verdicts = {node.name: judge(node) for node in selection.kept}
    newly = {name: reason for name, reason in verdicts.items() if reason is not None}
    return Selection(
        kept=tuple(node for node in selection.kept if node.name not in newly),
        excluded=dict(sorted({**selection.excluded, **newly}.items())),
    )


def overlooked(target: Target, nodes: Iterable[Node], resource: str) -> tuple[str, ...]:
    """Name the nodes that offer a resource and would be targeted if they had the label of a GPU node, sorted."""
    if target.node_names:
        return ()  # those that the target names are targeted with or without the label
    unlabelled = (node for node in nodes if node.labels.get(LABEL_GPU_PRESENT) != "true")
    return tuple(
        sorted(
            node.name
            for node in unlabelled
            if whole_units(node.status.allocatable.get(resource, "0")) and _not_asked_for(target, node) is None
        )
    )


def targets_cordoned(target: Target) -> bool:
    """Tell whether the run is about cordoned nodes: the target then selects their taint."""
    return any(selector.key == TAINT_UNSCHEDULABLE for selector in target.taint_selectors or ())


def hostname(node: Node) -> str:
    """Return the value that node affinity compares: the node's own label, its name where it has none."""
    return node.labels.get(LABEL_HOSTNAME) or node.name


def ambiguous_hostnames(nodes: Iterable[Node]) -> dict[str, Reason]:
    """Name nodes to which pods cannot be pinned, because another one has the same hostname label.

    ``nodes`` are all of the cluster: the scheduler may choose one that no run is about.
    """
    by_hostname: dict[str, list[str]] = {}
    for node in nodes:
        by_hostname.setdefault(hostname(node), []).append(node.name)
    return {
        name: reasons.same_hostname(label, next(other for other in names if other != name))
        for label, names in by_hostname.items()
        if len(names) > 1
        for name in names
    }


def _not_selected(target: Target, node: Node) -> Reason | None:
    """Return the first part of the target that the node does not meet, None where it meets all."""
    if node.labels.get(LABEL_GPU_PRESENT) != "true":
        return reasons.missing_label(LABEL_GPU_PRESENT, "true")
    return _not_asked_for(target, node)


def _not_asked_for(target: Target, node: Node) -> Reason | None:
    """Return the first of the target's own parts that the node does not meet, None where it meets all."""
    labels = node.labels
    if any(labels.get(key) != value for key, value in (target.node_selector or {}).items()):
        return reasons.not_selected("nodeSelector")
    if not meets_all(labels, target.match_expressions or ()):
        return reasons.not_selected("matchExpressions")
    return None if carries_all(node, target.taint_selectors or ()) else reasons.not_selected("taintSelectors")


def _unusable(target: Target, node: Node | None, tolerations: Sequence[Toleration]) -> Reason | None:
    """Return why the run cannot use a node, None where it can; ``node`` is None where the target names nobody."""
    if node is None:
        return reasons.NO_SUCH_NODE
    return _not_selected(target, node) or _unfit(node, tolerations, keep_cordoned=targets_cordoned(target))


def _unfit(node: Node, tolerations: Sequence[Toleration], *, keep_cordoned: bool) -> Reason | None:
    """Return why pods would not start on the node today, None where they would."""
    if node.spec.unschedulable and not keep_cordoned:
        return reasons.CORDONED
    if any(condition.type == "Ready" and condition.status != "True" for condition in node.status.conditions):
        return reasons.NOT_READY
    taint = first_untolerated(node.spec.taints, tolerations)
    return reasons.untolerated(taint) if taint is not None else None
