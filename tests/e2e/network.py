"""A switch in the sandbox's network, and nodes plugged into it: each has an address and a range for its pods.

    switch 10.99.0.1 ── eth0 of node 0, 10.99.0.10 ── its pods, 10.244.0.0/24
                     └─ eth0 of node 1, 10.99.0.11 ── its pods, 10.244.1.0/24

Addresses of Services are replaced before anything is sent. Nothing leads out of it.
"""

from __future__ import annotations

import subprocess

from tests.cluster.components import SERVICE_RANGE

SWITCH = "switch"
SWITCH_ADDRESS = "10.99.0.1"
PREFIX_LENGTH = 24
PODS = "10.244.0.0/16"


def node_address(index: int) -> str:
    """Return a node's address."""
    return f"10.99.0.{10 + index}"


def pod_range(index: int) -> str:
    """Return the range of a node's pods."""
    return f"10.244.{index}.0/{PREFIX_LENGTH}"


def make_switch() -> None:
    """Make the switch, with an address for the control plane."""
    _run("ip", "link", "add", SWITCH, "type", "bridge")
    _run("ip", "address", "add", f"{SWITCH_ADDRESS}/{PREFIX_LENGTH}", "dev", SWITCH)
    _run("ip", "link", "set", SWITCH, "up")
    _run("ip", "route", "add", SERVICE_RANGE, "dev", SWITCH)  # else nothing would be sent, and so nothing replaced


def plug_in(index: int, count: int, pid: int) -> None:
    """Plug the network namespace of a process in as a node, with ways to the pods of all ``count`` nodes."""
    cable = f"node{index}"
    _run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    _run("ip", "link", "set", cable, "master", SWITCH, "up")
    inside = ("nsenter", f"--target={pid}", "--net", "--")
    _run(*inside, "ip", "link", "set", "lo", "up")
    _run(*inside, "ip", "address", "add", f"{node_address(index)}/{PREFIX_LENGTH}", "dev", "eth0")
    _run(*inside, "ip", "link", "set", "eth0", "up")
    _run(*inside, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
    for other in range(count):
        if other != index:
            _run(*inside, "ip", "route", "add", pod_range(other), "via", node_address(other))
    _run("ip", "route", "add", pod_range(index), "via", node_address(index))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
