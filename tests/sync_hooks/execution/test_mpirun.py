"""Which hosts the launcher's log names."""

from __future__ import annotations

import pytest

from sync_hooks.execution.mpirun import named_by_mpirun, not_launched

PLACES = {"n1": "n1", "n2": "n2", "job-node-0-0": "n1", "job-node-0-1": "n2"}
STAMP = "2026-01-01T12:00:00.123456789Z "


@pytest.mark.parametrize(
    "line",
    [
        "mpirun noticed that process rank 9 with PID 0 on node job-node-0-1 exited on signal 6 (Aborted).",
        "prterun noticed that process rank 9 with PID 71 on node job-node-0-1 exited on signal 9 (Killed).",
        "/usr/local/mpi/bin/mpirun noticed that process rank 1 with PID 1 on node n2 exited on signal 11.",
        "  Remote daemon: [prterun-job-launcher-0-0-1@0,2] on node job-node-0-1.job",
        "  Remote daemon: [[5181,0],2] on node n2",
        "ssh: connect to host job-node-0-1.job port 2222: Connection refused",
        "no answer from host job-node-0-1.job",
    ],
)
@pytest.mark.parametrize("stamp", ["", STAMP], ids=["plain", "with the kubelet's time"])
def test_a_host_in_a_sentence_of_mpirun_names_its_node(line, stamp):
    assert list(named_by_mpirun(PLACES, f"hello\n{stamp}{line}\n")) == ["n2"]


@pytest.mark.parametrize(
    "line",
    [
        "NCCL WARN Failed to open libibverbs.so on node n2",
        "job-node-0-1:71:90 [0] NCCL INFO connect to host n2 over IB",
        "training: data loader on host n2 is warm",
        "process rank 3 with PID 0 on node n2 is warm",
        "WARNING: Open MPI accepted a TCP connection from host n2",
        "  HNP daemon   : [[5181,0],0] on node n2",
        "rank 3 said: mpirun noticed that process rank 9 with PID 0 on node n2 exited on signal 6",
        "mpirun noticed that process rank 9 with PID 0 on node n9 exited on signal 6 (Aborted).",
    ],
)
def test_any_other_line_names_nobody(line):
    assert named_by_mpirun(PLACES, line) == {}


def boxed(*lines, stamp=""):
    return "".join(f"{stamp}{line}\n" for line in ("-" * 74, *lines, "-" * 74))


FOUND_NOTHING = (
    "mpirun was unable to find the specified executable file, and therefore",
    "did not launch the job.  This error was first reported for process",
    "rank 0; it may have occurred for other processes as well.",
    "",
    "Node:       job-node-0-1",
    "Executable: /opt/all_reduce_perf",
)


@pytest.mark.parametrize("stamp", ["", STAMP], ids=["plain", "with the kubelet's time"])
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param(
            FOUND_NOTHING,
            "mpirun was unable to find the specified executable file; Executable: /opt/all_reduce_perf",
            id="no such program",
        ),
        pytest.param(
            ("prterun was unable to launch the specified application as it could not access", "or execute a file:"),
            "prterun was unable to launch the specified application as it could not",
            id="a program that cannot be run",
        ),
        pytest.param(
            ("There are not enough slots available in the system to satisfy the 32", "slots that were requested"),
            "There are not enough slots available in the system to satisfy the 32",
            id="more ranks than slots",
        ),
    ],
)
def test_what_mpirun_could_not_start_anywhere_is_told_in_its_words(lines, said, stamp):
    assert not_launched("ssh: warm\n" + boxed(*lines, stamp=stamp)) == said


@pytest.mark.parametrize(
    "line",
    [
        "mpirun noticed that process rank 9 with PID 0 on node job-node-0-1 exited on signal 6 (Aborted).",
        "mpirun was unable to launch the specified application as it encountered an error:",
        "rank 3: mpirun was unable to find the specified executable file",
        "Executable: /opt/all_reduce_perf",
    ],
)
def test_any_other_line_is_none_of_these(line):
    assert not_launched(line) is None


@pytest.mark.parametrize("unit", ["\n", " \n", "\t", "\r\n", "mpirun "], ids=repr)
def test_a_long_run_of_anything_is_looked_at_once(unit):
    sentence = "There are not enough slots available in the system to satisfy the 32"
    endless = unit * (1 << 19)  # from every beginning anew, this would take days
    assert not_launched(endless) is None
    assert not_launched(f"{endless}\n{sentence}\n{endless}") == sentence
