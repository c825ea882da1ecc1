"""Pods: a namespace's are listed once for all who may see them late; who has seen one is shown no time before it."""

from __future__ import annotations

import pytest

from sync_hooks.api.observed import Pod
from sync_hooks.api.sync import ListPods, Unreadable
from tests.support.hooks import pod
from webhook import pods as module
from webhook import snapshots
from webhook.pods import KEPT_SECONDS, POD_SNAPSHOT_SECONDS, Pods

LATE, FRESH = ListPods("default", "run-w0"), ListPods("default", "run-w0", fresh=True)
OTHER = ListPods("default", "other")


class Cluster:
    """Pods that come and go, and every selector that was asked for."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pods: list[Pod] = []
        self.asked: list[str] = []
        self.known = Pods()

    def list(self, namespace: str, selector: str) -> list[Pod]:
        self.asked.append(selector)
        name = selector.partition("=")[2]
        return [item for item in self.pods if not name or item.labels[module.JOBSET_NAME] == name]

    def names(self, read: ListPods) -> list[str]:
        found = self.known.read(read, self.list, until=float("inf"))
        assert not isinstance(found, Unreadable)
        return [item.name for item in found]


def of(name: str, jobset: str = "run-w0") -> Pod:
    found = pod(name)
    found.labels[module.JOBSET_NAME] = jobset
    return found


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """An empty cluster whose clock the test moves."""
    made = Cluster()
    for clocked in (module, snapshots):
        monkeypatch.setattr(clocked, "monotonic", lambda: made.now)
    return made


def test_jobsets_of_a_namespace_share_one_list(cluster: Cluster) -> None:
    cluster.pods = [of("b"), of("a"), of("c", "other")]
    assert (cluster.names(LATE), cluster.names(OTHER)) == (["a", "b"], ["c"])
    assert cluster.asked == [module.JOBSET_NAME]


def test_who_has_seen_a_pod_is_not_told_by_an_older_list_that_there_is_none(cluster: Cluster) -> None:
    assert cluster.names(LATE) == []
    cluster.now += 1
    cluster.pods = [of("a"), of("c", "other")]
    assert (cluster.names(FRESH), cluster.names(LATE)) == (["a"], ["a"])
    assert cluster.names(OTHER) == []  # nobody has looked


def test_a_newer_list_counts_again(cluster: Cluster) -> None:
    cluster.pods = [of("a")]
    assert cluster.names(FRESH) == ["a"]
    cluster.now += 1
    cluster.pods = [of("b")]
    assert cluster.names(LATE) == ["b"]


def test_a_list_that_took_long_is_not_shown_after_a_look_that_began_later(cluster: Cluster) -> None:
    def slow(namespace: str, selector: str) -> list[Pod]:
        before, cluster.now = list(cluster.pods), cluster.now + 1
        cluster.pods = [of("a")]
        assert cluster.names(FRESH) == ["a"]
        cluster.now += 2 * POD_SNAPSHOT_SECONDS
        cluster.names(ListPods("default", "other", fresh=True))
        return before

    found = cluster.known.read(LATE, slow, until=float("inf"))
    assert not isinstance(found, Unreadable)
    assert [item.name for item in found] == ["a"]


def test_a_look_at_one_jobset_is_remembered_no_longer_than_lists_are(cluster: Cluster) -> None:
    for number in range(100):
        cluster.names(ListPods("default", f"run-{number}", fresh=True))
        cluster.now += KEPT_SECONDS / 5
    assert len(cluster.known) == 5
