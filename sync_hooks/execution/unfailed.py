"""What pods tell that have not failed: the kubelet could not start them, they never started, or they ran to the end.

An image, a configuration or a program that no pod can be started with is the run's own fault and says nothing of any
node.
"""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.observed import Pod
from sync_hooks.api.time import parse_rfc3339, seconds_between
from sync_hooks.execution.phase import held_up, is_going, is_launcher, is_live, placed_at, ran_to_the_end
from sync_hooks.execution.starting import can_start_nowhere, has_run, statuses

SLOW_SECONDS = 300  # most images are pulled by then
NOT_THE_NODES = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",  # a Secret or ConfigMap that is not there
    }
)


def refused(pods: Sequence[Pod]) -> str | None:
    """Return the kubelet's words where no worker, or not the launcher, starts for image, configuration or program."""
    workers = [pod for pod in pods if not is_launcher(pod)]
    if workers and all(map(_is_refused, workers)):
        return held_up(workers[0])
    return next((held_up(pod) for pod in pods if is_launcher(pod) and _is_refused(pod)), None)


def _is_refused(pod: Pod) -> bool:
    waiting = [status.state.waiting for status in statuses(pod) if status.state.waiting is not None]
    return not has_run(pod) and any(
        state.reason in NOT_THE_NODES or can_start_nowhere(state.message) for state in waiting
    )


def stuck(pods: Sequence[Pod]) -> dict[str, str]:
    """Name the nodes of workers that never started; where none did it is the image's fault, or the run's own.

    The launcher is made once all workers are ready: without one, it is those that are not that it was waited for.
    """
    workers = [pod for pod in pods if not is_launcher(pod) and pod.spec.node_name]
    alone = len(workers) == len(pods)
    texts = {pod.spec.node_name: text for pod in workers if (text := _why_stuck(pod, alone=alone))}
    return texts if len(texts) < len({pod.spec.node_name for pod in workers}) else {}


def _why_stuck(pod: Pod, *, alone: bool) -> str | None:
    return held_up(pod) or _not_started(pod) or (_not_ready(pod) if alone else None)


def _not_started(pod: Pod) -> str | None:
    waiting = is_live(pod) and pod.status.phase == "Pending"
    return f"pod {pod.name} on node {pod.spec.node_name} has not started" if waiting else None


def _not_ready(pod: Pod) -> str | None:
    ready = [item.status for item in pod.status.conditions if item.type == "Ready"]
    waits = is_live(pod) and not is_going(pod) and "False" in ready
    return f"pod {pod.name} on node {pod.spec.node_name} is not ready" if waits else None


def is_ready(pod: Pod) -> bool:
    """Tell whether a pod is ready: its probe, where it has one, was answered."""
    return any(item.type == "Ready" and item.status == "True" for item in pod.status.conditions)


def unstarted(pods: Sequence[Pod]) -> str | None:
    """Say which worker has not started while another one failed, None where all have that are left."""
    return next(
        (held_up(pod) or f"pod {pod.name} has not started" for pod in pods if not is_launcher(pod) and _waits(pod)),
        None,
    )


def waited_for(pods: Sequence[Pod], failed_at: str) -> dict[str, str]:
    """Name the nodes of workers that could not be started, or not in minutes, until a peer failed (RFC 3339).

    Who pulls an image for the first time needs such minutes.
    """
    late = [pod for pod in pods if _waits(pod) and (held_up(pod) or _is_slow(pod, failed_at))]
    return {
        pod.spec.node_name: held_up(pod) or _not_started(pod) or ""
        for pod in late
        if pod.spec.node_name and not is_launcher(pod)
    }


def left_behind(pods: Sequence[Pod]) -> dict[str, str]:
    """Name the nodes of workers that still ran when others had ended well."""
    workers = [pod for pod in pods if not is_launcher(pod) and pod.spec.node_name]
    well = {pod.spec.node_name for pod in workers if ran_to_the_end(pod)}
    late = {pod.spec.node_name: pod for pod in workers if is_live(pod) and pod.spec.node_name not in well}
    text = "still ran when the time was over; others had ended well"
    return {node: f"pod {pod.name} on node {node} {text}" for node, pod in late.items()} if well else {}


def _waits(pod: Pod) -> bool:
    return is_live(pod) and (pod.status.phase == "Pending" or held_up(pod) is not None)


def _is_slow(pod: Pod, failed_at: str) -> bool:
    end = parse_rfc3339(failed_at)
    return end is not None and (seconds_between(placed_at(pod), end) or 0.0) >= SLOW_SECONDS


def at_the_end(pods: Sequence[Pod]) -> str:
    """Say how pods of which none has failed were found."""
    if not pods:
        return "no failed pod is left to tell which"
    waiting = next((text for pod in pods if (text := held_up(pod) or _not_started(pod))), None)
    if waiting:
        return waiting
    running = sum(map(is_live, pods))
    if running < len(pods):
        return f"{running} of {len(pods)} pods were still running when the time was over"
    counted = f"all {running} pods were" if running > 1 else "the only pod was"
    return f"{counted} still running when the time was over"
