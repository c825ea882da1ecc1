"""The ranks that a program of nccl-tests lists above its table."""

from __future__ import annotations


def listed(*hosts: str, each: int) -> list[str]:
    """List the ranks of one program, so many on each host, in order of the hosts."""
    ranks = [(host, device) for host in hosts for device in range(each)]
    return [
        f"#  Rank {rank:>2} Group  0 Pid {400 + device:>6} on {host:>10} device {device:>2} [0000:53:00] NVIDIA H100"
        for rank, (host, device) in enumerate(ranks)
    ]
