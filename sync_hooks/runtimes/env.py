"""The workload's environment: what NCCL needs everywhere, then the user's variables, which win by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sync_hooks.api.trainer import JsonObject

_BASE = (
    ("NCCL_DEBUG", "INFO"),
    ("NCCL_DEBUG_SUBSYS", "NET,INIT"),  # tells sockets from the fabric in the log
    ("NCCL_NVLS_ENABLE", "1"),
    ("NCCL_CUMEM_ENABLE", "1"),
    ("NCCL_NET_GDR_C2C", "1"),
    ("NCCL_NET_GDR_LEVEL", "PHB"),
    ("NCCL_P2P_NET_CHUNKSIZE", "2097152"),
    ("NCCL_SHM_DISABLE", "1"),
)


def base_env(*, mnnvl: bool) -> list[JsonObject]:
    """Return the variables that every workload gets."""
    values = (*_BASE, ("NCCL_MNNVL_ENABLE", str(int(mnnvl))), ("NCCL_SOCKET_IFNAME", "eth0"))
    return [{"name": name, "value": value} for name, value in values]


def merge_env(base: Iterable[JsonObject], user: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the base variables that the user does not set, then the user's, in order.

    Of a name that the user gives twice the last one stays: the API server takes each name once.
    """
    last = {variable["name"]: variable for variable in user}
    kept = [variable for variable in base if variable["name"] not in last]
    own = [variable for variable in user if last[variable["name"]] is variable]
    return [*kept, *own]
