"""What a healthy workload prints where no scenario says otherwise: an NCCL table, training steps. Carries no stamps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zlib import crc32

from sync_hooks.measurements.collective import COLLECTIVES, Collective, bus_factor, collective

SMALLEST_BYTES = 8
LARGEST_BYTES = 16 << 30
FLOAT_BYTES = 4
LATENCY_MICROSECONDS = 30.0
PEAK_BUS_GB_PER_SECOND = 370.0
SPREAD = 0.02  # groups differ by up to this much
ITERATIONS = 100
LOG_INTERVAL = 10  # iterations a line
GLOBAL_BATCH = 256
TFLOPS_PER_GPU = 412.0


@dataclass(frozen=True, slots=True)
class Workload:
    """What a sample needs to know: the test, ranks, the nodes' names and the network that NCCL finds."""

    test: str
    ranks: int
    nodes: tuple[str, ...]
    network: str = "IB"

    @property
    def collective(self) -> Collective:
        """The collective that is tested. For an unknown one it is all_reduce: not what was asked for."""
        return collective(self.test) or COLLECTIVES["allreduce"]

    @property
    def speed(self) -> float:
        """A factor near 1 that is always the same for the same nodes."""
        return 1 + SPREAD * (crc32(",".join(self.nodes).encode()) % 2001 - 1000) / 1000


@lru_cache(maxsize=1 << 12)
def nccl_table(workload: Workload) -> tuple[str, ...]:
    """Write the output of an nccl-tests program: sizes from 8 B to 16 GiB, doubled, without wrong values."""
    header = (
        f"{workload.nodes[0]}:4213:4213 [0] NCCL INFO Using network {workload.network}",
        f"# Collective test starting: {workload.collective.name}_perf",
        f"# nThread 1 nGpus 1 minBytes {SMALLEST_BYTES} maxBytes {LARGEST_BYTES} step: 2(factor) "
        "warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "#                                                              out-of-place                       in-place",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    )
    rows = [_row(workload, 1 << exponent) for exponent in range(SMALLEST_BYTES.bit_length() - 1, 35)]
    average = sum(bus for _, bus in rows) / len(rows)
    footer = ("# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {average:.4f}", "#")
    return (*header, *(line for line, _ in rows), *footer)


def _row(workload: Workload, size: int) -> tuple[str, float]:
    ranks = max(2, workload.ranks)
    factor = bus_factor(workload.collective, ranks)
    peak = PEAK_BUS_GB_PER_SECOND * workload.speed
    microseconds = LATENCY_MICROSECONDS + size * factor / (peak * 1e3)
    algorithm = size / microseconds / 1e3
    bus = algorithm * factor if workload.ranks > 1 else 0.0
    digits = 2 if microseconds < 100 else 1 if microseconds < 10_000 else 0
    reduction = "sum" if workload.collective.reduces else "none"
    figures = f"{microseconds:>8.{digits}f} {algorithm:>7.2f} {bus:>7.2f} {0:>6}"
    return f"{size:>12} {size // FLOAT_BYTES:>13} {'float':>9} {reduction:>7} {-1:>7} {figures} {figures}", bus


@lru_cache(maxsize=1 << 12)
def training_steps(workload: Workload, start: datetime, seconds: float) -> tuple[str, ...]:
    """Write the output of a Megatron-LM run of ``seconds``: banner, iteration lines, one checkpoint at the end."""
    milliseconds = seconds / (ITERATIONS + LOG_INTERVAL) * 1000  # the rest is start-up
    banner = (
        f"using world size: {workload.ranks}, data-parallel size: {workload.ranks}, context-parallel size: 1, "
        "tensor-model-parallel size: 1, pipeline-model-parallel size: 1"
    )
    steps = [
        _step(workload, step, start + timedelta(milliseconds=milliseconds * (step + LOG_INTERVAL)), milliseconds)
        for step in range(LOG_INTERVAL, ITERATIONS + 1, LOG_INTERVAL)
    ]
    return (banner, *steps)


def _step(workload: Workload, step: int, moment: datetime, milliseconds: float) -> str:
    loss = 2 + 9 * 0.97**step
    return (
        f" [{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond:06d}] iteration {step:>8}/{ITERATIONS:>8} | "
        f"consumed samples: {step * GLOBAL_BATCH:>12} | elapsed time per iteration (ms): {milliseconds:.1f} | "
        f"throughput per GPU (TFLOP/s/GPU): {TFLOPS_PER_GPU * workload.speed:.1f} | learning rate: 1.000000E-04 | "
        f"global batch size: {GLOBAL_BATCH:>5} | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 1.000 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


SERVER_LINES = ("Server listening on 0.0.0.0 port 22.", "Server listening on :: port 22.")
"""What an MPI worker prints: it only serves."""

LOST_HOST = "mpirun noticed that process rank 0 with PID 0 on node %s exited on signal 9 (Killed)."
UNATTRIBUTED = "mpirun: a process returned a non-zero exit code; the job is aborted."
FAILED = "The workload was made to fail: exit code %d."
"""Last words of what fails; mpirun's form is the one that is read for the host."""
