"""What pods tell that have not failed: the kubelet could not start them, they never started, or they ran to the end.

An image, a configuration or a program that no pod can be started with is the run's own fault and says nothing of any
node.
"""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.observed import Pod
from sync_hooks.execution.phase import held_up, is_launcher, is_live
from sync_hooks.execution.starting import lacks_program

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
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    waiting = [status.state.waiting for status in statuses if status.state.waiting is not None]
    return any(state.reason in NOT_THE_NODES or lacks_program(state.message) for state in waiting)


def stuck(pods: Sequence[Pod]) -> dict[str, str]:
    """Name the nodes of workers that never started; where none did it is the image's fault, or the run's own."""
    workers = [pod for pod in pods if not is_launcher(pod) and pod.spec.node_name]
    texts = {pod.spec.node_name: text for pod in workers if (text := held_up(pod) or _not_started(pod))}
    return texts if len(texts) < len({pod.spec.node_name for pod in workers}) else {}


def _not_started(pod: Pod) -> str | None:
    waiting = is_live(pod) and pod.status.phase == "Pending"
    return f"pod {pod.name} on node {pod.spec.node_name} has not started" if waiting else None


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
