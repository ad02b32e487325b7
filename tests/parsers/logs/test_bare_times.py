"""Lines that print no time of their own: what dates them, and what must not."""

from dataclasses import replace

import pytest

from triage.domain.evidence import NO_STAMP, Evidence, EvidenceRole, Kind, Stamp, Trait
from triage.parsers.logs.clocks import NEXT_LINES, Anchors, place
from triage.parsers.logs.logset import LogFile, LogKind, LogSet
from triage.parsers.logs.progress.series import JobSteps, Place, Quantity, Step
from triage.parsers.logs.stamps import SECOND_NS

T = 1_795_000_000 * SECOND_NS
BARE = Evidence(
    "job.log", 100, "python.user_code", Kind.PYTHON, EvidenceRole.ROOT, "KeyError: 'labels'",
    rank=9, stamp=NO_STAMP, last_stamp=NO_STAMP,
)  # fmt: skip


def said(line: int, seconds: float = 0.0, **more: object) -> Evidence:
    """A line of a launcher, with its time."""
    stamp = Stamp(wall_ns=T + int(seconds * SECOND_NS), zone_s=0)
    base = Evidence(
        "job.log", line, "elastic.closing", Kind.ELASTIC, EvidenceRole.CONSEQUENCE, "closing",
        stamp=stamp, last_stamp=stamp,
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def watchdog(line: int, seconds: float, ran_ms: str, rank: int = 3) -> Evidence:
    return said(
        line, seconds, signature="c10d.watchdog_timeout", kind=Kind.NCCL, rank=rank,
        traits=frozenset({Trait.TIMEOUT}), fields={"ran_ms": ran_ms},
    )  # fmt: skip


def dated(*rows: Evidence, kind: LogKind = LogKind.JOB) -> int | None:
    """When the first row is, in ns after T."""
    names = sorted({row.artifact for row in rows})
    logs = LogSet(files=[LogFile(name, kind, lines=5000) for name in names], evidence=list(rows))
    at_ns = place(logs, Anchors(failed_at_ns=T)).evidence[0].at_ns
    return None if at_ns is None else at_ns - T


def test_a_bare_traceback_is_of_the_time_of_the_line_below_it() -> None:
    assert dated(BARE, said(108)) == 0


@pytest.mark.parametrize(
    "near",
    [
        pytest.param(said(92), id="a line above"),
        pytest.param(said(101 + NEXT_LINES), id="a line far below"),
        pytest.param(replace(said(108), artifact="other.log"), id="a line of another log"),
        pytest.param(watchdog(108, 600, ran_ms=""), id="a wait of unknown length"),
        pytest.param(watchdog(108, 600, ran_ms="9" * 5000), id="a wait without end"),
    ],
)
def test_other_lines_do_not_date_it(near: Evidence) -> None:
    assert dated(BARE, near) is None


def test_the_lines_of_a_flood_make_nothing_far_apart() -> None:
    flood = replace(BARE, line=101, count=1000, rank=4)

    assert dated(BARE, flood, said(1104)) == 0
    assert dated(BARE, said(1104)) is None


def test_another_ranks_watchdog_had_waited_since_then() -> None:
    assert dated(BARE, watchdog(104, 600, ran_ms="600000")) == 0


def test_its_own_watchdog_came_right_after_it() -> None:
    assert dated(BARE, watchdog(104, 600, ran_ms="600000", rank=9)) == 600 * SECOND_NS


def test_the_nearest_line_below_counts() -> None:
    assert dated(BARE, said(110, 5), said(104, 2)) == 2 * SECOND_NS


@pytest.mark.parametrize(
    ("above", "ago_s", "error_s"), [(90, 26, 26), (90, 0.5, 1), (90, 300, 1), (105, 26, 1)]
)
def test_it_was_printed_behind_the_step_above_it(above: int, ago_s: float, error_s: int) -> None:
    """A launcher may hear of it late: it is known to the time since the step."""
    stamp = Stamp(wall_ns=T - int(ago_s * SECOND_NS), zone_s=0)
    step = Step(Place(above, 0, stamp), "step", 0, {Quantity.STEP: 9.0})
    log = LogFile("job.log", LogKind.JOB, lines=5000, progress=JobSteps((step,)))
    (row, _) = place(LogSet(files=[log], evidence=[BARE, said(108)]), Anchors()).evidence
    assert (row.at_ns, round(row.error_ns / SECOND_NS)) == (T, error_s)


def test_a_kernels_log_has_no_launcher() -> None:
    assert dated(BARE, said(108), kind=LogKind.KERNEL) is None


REPORT = replace(
    BARE, artifact="n3.txt", signature="gpu_tools.error_cell", traits=frozenset({Trait.OF_A_REPORT})
)


def report(row: Evidence, last: Stamp = NO_STAMP) -> int | None:
    """When a row is of a file whose first lines say T."""
    file = LogFile(
        "n3.txt", LogKind.JOB, lines=200, first_stamp=Stamp(wall_ns=T, zone_s=0), last_stamp=last
    )
    return place(LogSet(files=[file], evidence=[row]), Anchors(failed_at_ns=T)).evidence[0].at_ns


def test_a_report_is_of_the_time_at_its_head() -> None:
    assert report(REPORT) == T


def test_only_reports_are_made_at_one_time() -> None:
    assert report(BARE) is None
    assert report(REPORT, last=Stamp(wall_ns=T + SECOND_NS, zone_s=0)) is None


def test_last_words_of_a_watchdog_are_of_its_end() -> None:
    """``terminate called``, ``what(): Watchdog caught ...``: bare, between two ranks' watchdogs."""
    last = replace(BARE, role=EvidenceRole.CONSEQUENCE, rank=None, text="what(): Watchdog caught")
    assert dated(last, watchdog(104, 600, ran_ms="600000")) == 600 * SECOND_NS
