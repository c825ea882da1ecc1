"""Over which network a bandwidth was measured, and what that makes of it: a fabric that is there is to be used."""

from __future__ import annotations

from dataclasses import dataclass

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementStatus
from sync_hooks.api.job import JobSpec

NETWORK_UNKNOWN = "NetworkUnknown"


@dataclass(frozen=True, slots=True)
class Network:
    """What is to be said: ``fallback`` fails the group, ``unmeasured`` keeps it from passing, ``remark`` is a word."""

    fallback: str = ""
    unmeasured: str = ""
    remark: str = ""


def network_of(status: BandwidthMeasurementStatus, spec: JobSpec, nodes: int | None) -> Network:
    """Judge the network between so many nodes, by what NCCL said of it."""
    if nodes == 1 or status.socket_fallback is False:
        return Network()
    if status.socket_fallback is None:
        return Network(unmeasured=_unseen(status, spec))
    if spec.fabric_expected:
        return Network(fallback="NCCL fell back to sockets")
    if spec.fabric_expected is False:
        return Network(remark="NCCL used TCP sockets between nodes; the run says that there is no fabric")
    text = "NCCL used TCP sockets between nodes, and it is not known whether there is a fabric"
    return Network(unmeasured=f"bandwidth: {text}; mlnxPerNode: 0 says that there is none")


def _unseen(status: BandwidthMeasurementStatus, spec: JobSpec) -> str:
    """Say that a fabric may have been missed; empty where none is expected, or no program is known to span nodes."""
    if not spec.fabric_expected or (spec.nodes_apart and not status.several_hosts):
        return ""
    return (
        f"bandwidth: {NETWORK_UNKNOWN}: the log does not say which network was used between nodes, and it may not have "
        "been the fabric: leave NCCL_DEBUG=INFO, INIT and NET in NCCL_DEBUG_SUBSYS and no NCCL_DEBUG_FILE; other "
        "programs than NCCL's need networkTransport in the LogProfile"
    )
