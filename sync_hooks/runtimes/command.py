"""An arbitrary command on every node of the group: a plain policy, no launcher, nothing injected."""

from __future__ import annotations

from sync_hooks.api.trainer import WORKER
from sync_hooks.runtimes.torch import single_job_spec
from sync_hooks.runtimes.workload import Rendered, Workload


def render(workload: Workload) -> Rendered:
    """Render the command as it is given."""
    command = workload.framework.exec
    assert command is not None  # noqa: S101 - the registry chose by this
    return Rendered(
        runtime_spec=single_job_spec(workload, {"numNodes": workload.nodes}),
        replicated_jobs=(WORKER,),
        command=tuple(command.command),
        args=tuple(command.args or ()),
    )
