"""The ranks that a program of nccl-tests lists above its table."""

from __future__ import annotations


def listed(*hosts: str, each: int) -> list[str]:
    """List the ranks of one program, so many on each host, in order of the hosts."""
    return uneven(**dict.fromkeys(hosts, each))


def uneven(**counts: int) -> list[str]:
    """List the ranks of one program, another number on each host."""
    ranks = [(host, device) for host, count in counts.items() for device in range(count)]
    return [
        f"#  Rank {rank:>2} Group  0 Pid {400 + device:>6} on {host:>10} device {device:>2} [0000:53:00] NVIDIA H100"
        for rank, (host, device) in enumerate(ranks)
    ]
