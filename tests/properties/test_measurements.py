"""Laws of the measurements: total on any bytes, blind to how a log is cut up, and silent where nothing was measured."""

from __future__ import annotations

import string
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementStatus, BandwidthReading
from sync_hooks.api.duration import format_duration, parse_duration
from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.observed import Log
from sync_hooks.measurements.attempts import LIFECYCLE, STEPS, cursor_of, read_pages
from sync_hooks.measurements.goodput import close, ratio, terms_of
from sync_hooks.measurements.layout import compile_layout
from sync_hooks.measurements.page import PAGE_BYTES, advance, new_lines, page_bytes, readable, since, widen
from sync_hooks.measurements.pattern import Pattern, compile_pattern, hits
from sync_hooks.measurements.profile import CompiledProfile, read_profile
from sync_hooks.measurements.reading import read_page
from sync_hooks.measurements.summary import shown
from sync_hooks.measurements.tally import Wanted
from sync_hooks.measurements.thresholds import FIGURES, evaluate
from sync_hooks.measurements.training import read_lines
from tests.sync_hooks.measurements.tables import NEW, OLD, Result, table
from tests.sync_hooks.measurements.trainings import Line, training_profile
from tests.sync_hooks.measurements.trainings import log as training_log
from tests.sync_hooks.measurements.worlds import at, profile, serve, stamped, storable

LATER = at(10**6)
WHOLE = (LIFECYCLE, STEPS)
WANTED = Wanted("all_reduce", 16)
NCCL = profile("nccl-bandwidth")
TRAINING = training_profile(warmupSteps=2)
MEGATRON = profile("megatron-training")
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Logs

MESSAGES = (
    "gpu-0000:311:342 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
    "gpu-0001:77:78 [3] NCCL INFO Using network IB",
    "gpu-0001:77:78 [3] NCCL INFO comm 0x1 rank 8 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
    "#  Rank  9 Group  0 Pid   1234 on   gpu-0001 device  1 [0x64] NVIDIA H100",
    "some other line",
    "",
)
RESULTS = tuple(Result(1 << power, alg=float(power * 7), in_place=float(power * 6)) for power in range(10, 18))


@st.composite
def bandwidth_logs(draw: st.DrawFn) -> bytes:
    """Logs with tables of several kinds, messages between and within their rows."""
    tests = draw(st.lists(st.sampled_from(["all_reduce", "all_gather", "broadcast"]), min_size=1, max_size=3))
    dialect, named = draw(st.sampled_from([NEW, OLD])), draw(st.booleans())
    lines: list[str] = []
    for test in tests:
        chosen = draw(st.lists(st.sampled_from(RESULTS), min_size=1, max_size=5))
        lines += table(chosen, dialect, test, named=named, out_of_bounds=draw(st.integers(0, 2)))
    torn: list[str] = []
    for line in lines:
        torn += draw(st.lists(st.sampled_from(MESSAGES), max_size=2))
        if draw(st.integers(0, 5)) == 0:
            cut = draw(st.integers(0, len(line)))
            torn += [line[:cut] + draw(st.sampled_from(["", MESSAGES[0]])), MESSAGES[1], line[cut:]]
        else:
            torn.append(line)
    return stamped(torn, step=draw(st.sampled_from([0.0, 0.1, 0.7, 3.0])))


steps = st.builds(
    lambda step, timing: f"step {step}" + (f" took {timing}" if timing else ""),
    st.integers(1, 30),
    st.integers(0, 9000),
)
saves = st.builds(
    lambda word, step: word + (f" step {step}" if step else ""), st.sampled_from(["saving", "saved"]), st.integers(0, 9)
)
others = st.sampled_from(["framework is up", "loading step 3", "loaded step 3", "hello", "step 5 warming up", ""])


@st.composite
def training_lines(draw: st.DrawFn, start: float = 0) -> list[Line]:
    """Lines of a training in any order, later ones never earlier."""
    texts = draw(st.lists(st.one_of(steps, saves, others), max_size=25))
    seconds, lines = start, []
    for text in texts:
        seconds += draw(st.sampled_from([0.0, 0.25, 1.0, 13.0]))
        lines.append((seconds, text))
    return lines


# However a log is cut up, the end is the same


def pages_of(content: bytes, limit: int, cursor: LogCursor) -> Log:
    return serve(content, since(cursor), limit * (page_bytes(cursor) // PAGE_BYTES))


def read_bandwidth(content: bytes, limit: int, stops: Sequence[int]) -> BandwidthReading:
    """Read a log while it grows to each stop, then to its end, in pages of ``limit`` bytes."""
    reading = BandwidthReading()
    for ended, written in [*((False, content[:stop]) for stop in sorted(stops)), (True, content)]:
        for _ in range(10_000):
            page = pages_of(written, limit, reading.cursor)
            assume(not (page.truncated and widen(reading.cursor) is None and limit * 4 < len(content)))
            reading, window = read_page(reading, page, NCCL, WANTED, ended=ended, now=LATER)
            if window.last or not page.truncated:
                break
    return reading


@given(bandwidth_logs(), st.integers(300, 3000), st.lists(st.integers(0, 8000), max_size=4))
@few
def test_a_bandwidth_log_gives_the_same_result_however_it_is_cut_up(
    content: bytes, limit: int, stops: list[int]
) -> None:
    whole = read_bandwidth(content, len(content) + 1, [])
    assert shown(read_bandwidth(content, limit, stops), WANTED) == shown(whole, WANTED)


@given(training_lines(), st.integers(200, 2000), st.lists(st.integers(0, 3000), max_size=4))
@few
def test_a_training_log_gives_the_same_result_however_it_is_cut_up(
    lines: list[Line], limit: int, stops: list[int]
) -> None:
    content = training_log(lines)

    def read(limit: int, stops: Sequence[int]) -> tuple[EarlierRuns, GoodputRun]:
        earlier, run = EarlierRuns(), GoodputRun(workload_uid="uid")
        for ended, written in [*((False, content[:stop]) for stop in sorted(stops)), (True, content)]:
            for _ in range(10_000):
                cursor = cursor_of(run, WHOLE)
                page = pages_of(written, limit, cursor)
                assume(not (page.truncated and widen(cursor) is None and limit * 4 < len(content)))
                earlier, run, windows = read_pages(earlier, run, [(WHOLE, page)], TRAINING, ended=ended, now=LATER)
                if windows[0].last or not page.truncated:
                    break
        return earlier, run.model_copy(update={"lifecycle_cursor": LogCursor()})

    assert read(limit, stops) == read(len(content) + 1, [])


@given(st.lists(st.sampled_from([0.0, 0.4, 1.0, 5.0]), max_size=40), st.integers(40, 400))
@few
def test_every_line_is_read_once(gaps: list[float], limit: int) -> None:
    moments = [sum(gaps[: index + 1]) for index in range(len(gaps))]
    content = b"".join(stamped([f"line {index}"], start=moment) for index, moment in enumerate(moments))
    cursor, found = LogCursor(), b""
    for _ in range(10_000):
        window = new_lines(cursor, pages_of(content, limit, cursor), ended=True, now=LATER)
        if window.stuck:
            wider = widen(cursor)
            assume(wider is not None)
            assert wider is not None
            cursor = wider
            continue
        found, cursor = found + window.lines, advance(cursor, window.lines)
        if window.last:
            break
    assert found == content


# Never a number that was not measured


@given(
    st.lists(st.sampled_from(RESULTS), min_size=1, max_size=4, unique=True),
    st.sampled_from([NEW, OLD]),
    st.lists(
        st.tuples(st.integers(0, 1200), st.sampled_from(["\n" + MESSAGES[0] + "\n", MESSAGES[0] + "\n", "\n\n"])),
        max_size=4,
    ),
)
@settings(max_examples=400, deadline=None)
def test_messages_anywhere_in_a_table_never_make_a_bandwidth(
    results: list[Result], dialect: Any, insertions: list[tuple[int, str]]
) -> None:
    text = "\n".join(table(results, dialect)) + "\n"
    printed = {(item.size, item.alg, round(item.alg * 1.875, 2)) for item in results}
    for position, message in sorted(insertions, reverse=True):
        text = text[: position % len(text)] + message + text[position % len(text) :]
    reading, _ = read_page(
        BandwidthReading(), Log(content=stamped(text.split("\n"))), NCCL, WANTED, ended=True, now=LATER
    )
    found = {(item.size_bytes, item.alg / item.rows, item.bus / item.rows) for item in reading.sizes or ()}
    assert found <= printed


# Terms


@given(
    st.lists(st.tuples(training_lines(), st.floats(0, 400), st.booleans()), min_size=1, max_size=4), st.floats(0, 400)
)
@few
def test_terms_divide_the_time_and_the_ratio_is_one(
    attempts: list[tuple[list[Line], float, bool]], wait: float
) -> None:
    earlier, start, end = EarlierRuns(), 0.0, 0.0
    for lines, gap, interrupted in attempts:
        shifted = [(start + seconds, text) for seconds, text in lines]
        earlier, run = read_lines(earlier, GoodputRun(workload_uid="uid"), training_log(shifted), TRAINING)
        end = (shifted[-1][0] if shifted else start) + gap - 100  # ends may be earlier than the last lines
        earlier = close(earlier, run, at(end), interrupted=interrupted)
        start = max(start, end) + gap / 2
    terms = terms_of(earlier, at(end + wait))
    if terms is None:
        return
    parts = (terms.lost, terms.reschedule, terms.resume)
    assert min(*parts, terms.save, terms.training) >= 0
    assert sum(parts) <= terms.training + 1e-6
    value = ratio(terms)
    assert value is None or 0 <= value <= 1


# Total on anything


@given(st.binary(max_size=400), st.booleans())
@example(b"2026-01-01T12:00:00Z \n", False)
@example(b"\n" * 50, True)
@settings(max_examples=300, deadline=None)
def test_no_bytes_make_a_reader_fail(content: bytes, truncated: bool) -> None:
    page = Log(content=content, truncated=truncated)
    for ended in (False, True):
        reading, _ = read_page(BandwidthReading(), page, NCCL, WANTED, ended=ended, now=LATER)
        status = BandwidthMeasurementStatus(reading=reading).model_copy(update=shown(reading, WANTED))
        assert storable(status.to_dict())
        earlier, run, _ = read_pages(
            EarlierRuns(), GoodputRun(workload_uid="uid"), [(WHOLE, page)], MEGATRON, ended=ended, now=LATER
        )
        assert storable({**earlier.to_dict(), **run.to_dict()})
    readable(content).decode()


log_like = st.text(
    alphabet=st.sampled_from("0123456789.-:+TZ #e\n\r\t\x1b[mNA/stepfloatsumnoneinfnan|()%"), max_size=200
)


@given(st.lists(st.one_of(log_like, st.sampled_from(["\n".join(table(RESULTS)), *MESSAGES])), max_size=4))
@settings(max_examples=200, deadline=None)
def test_no_text_that_looks_like_a_log_makes_a_reader_fail(parts: list[str]) -> None:
    content = "".join(parts).encode()
    for lines in (content, stamped("".join(parts).split("\n"))):
        reading, _ = read_page(BandwidthReading(), Log(content=lines), NCCL, WANTED, ended=True, now=LATER)
        assert storable(BandwidthMeasurementStatus(reading=reading).model_copy(update=shown(reading, WANTED)).to_dict())
        pages = [(WHOLE, Log(content=lines))]
        earlier, run, _ = read_pages(
            EarlierRuns(), GoodputRun(workload_uid="uid"), pages, TRAINING, ended=True, now=LATER
        )
        assert storable({**earlier.to_dict(), **run.to_dict()})


@given(st.text(alphabet=string.printable, max_size=40), st.binary(max_size=100))
@settings(max_examples=300, deadline=None)
def test_no_expression_makes_a_search_fail(expression: str, lines: bytes) -> None:
    compiled = compile_pattern(expression)
    if isinstance(compiled, Pattern):
        found = list(hits(compiled, readable(lines)))
        assert len({hit.start for hit in found}) == len(found)
    else:
        assert compiled


@given(st.text(max_size=30), st.text(max_size=30), st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))))
@settings(max_examples=300, deadline=None)
def test_no_layout_and_no_text_make_a_parser_fail(layout: str, text: str, near: datetime | None) -> None:
    compiled = compile_layout(layout)
    if not isinstance(compiled, str):
        compiled(text, near)


LAYOUTS = {
    "2006-01-02 15:04:05.999999": "%Y-%m-%d %H:%M:%S.%f",
    "Mon Jan 02 15:04:05 2006": "%a %b %d %H:%M:%S %Y",
    "01/02/06 03:04:05 PM": "%m/%d/%y %I:%M:%S %p",
    "2006 002 15:04:05": "%Y %j %H:%M:%S",
    "0102 15:04:05.000000": "%m%d %H:%M:%S.%f",
}


@given(st.sampled_from(sorted(LAYOUTS)), st.datetimes(datetime(1970, 1, 1), datetime(2067, 12, 31)))
@few
def test_a_layout_reads_what_was_written_in_it(layout: str, moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC, microsecond=moment.microsecond if ".9" in layout or ".0" in layout else 0)
    compiled = compile_layout(layout)
    assert not isinstance(compiled, str)
    found = compiled(moment.strftime(LAYOUTS[layout]), moment + timedelta(days=20))
    assert found is not None
    assert found.time == moment


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=10), inner, max_size=3)),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["timestamp", "patterns", "workerStrategy", "logInterval", "x"]), json_values),
    st.dictionaries(st.sampled_from(["trainingStep", "bandwidthResult", "x"]), json_values),
)
@few
def test_no_spec_of_a_profile_makes_compiling_fail(spec: dict[str, Any], patterns: dict[str, Any]) -> None:
    for tried in (spec, {"timestamp": {"layout": "15:04:05"}, "patterns": patterns}):
        found = read_profile(tried)
        assert isinstance(found, CompiledProfile) or found


@given(
    st.dictionaries(
        st.one_of(st.sampled_from(sorted(FIGURES)), st.text(max_size=10)), st.text(max_size=20), max_size=4
    ),
    st.dictionaries(st.sampled_from(sorted(FIGURES)), st.floats(), max_size=5),
)
@few
def test_a_threshold_without_a_finite_value_or_a_valid_expression_is_never_met(
    thresholds: dict[str, str], measured: dict[str, float]
) -> None:
    found = evaluate(thresholds, measured)
    assert [violation.key for violation in found] == sorted({violation.key for violation in found})
    met = thresholds.keys() - {violation.key for violation in found}
    assert met <= FIGURES.keys() & measured.keys()


@given(
    st.one_of(st.text(max_size=20), st.from_regex(r"-?(\d{1,4}(\.\d{1,3})?(h|m|s|ms|us|µs|ns)){1,4}", fullmatch=True))
)
@settings(max_examples=300, deadline=None)
def test_a_duration_that_is_written_reads_as_the_same(text: str) -> None:
    seconds = parse_duration(text)
    if seconds is not None:
        assert abs((parse_duration(format_duration(seconds)) or 0.0) - seconds) <= 1e-9 * max(1, abs(seconds))
