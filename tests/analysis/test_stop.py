"""When a job stopped: the first to fail, or the moment from which the others had waited."""

from dataclasses import replace

import pytest

from triage.analysis.joining.belief import BOUNDS, Bound, bounds_by_rows
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import AtNode
from triage.analysis.stop import SECOND, Stop, When, ends_its_log, find_stop
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Trait
from triage.domain.fleet import Job

T = 1_780_000_000 * SECOND
EXIT = Evidence(
    "job.log", 90, "elastic.worker_exit", Kind.ELASTIC, EvidenceRole.CONSEQUENCE,
    "failed (exitcode: -6)", at_ns=T, last_at_ns=T, error_ns=SECOND,
)  # fmt: skip
RAISED = replace(EXIT, signature="python.user_code", kind=Kind.PYTHON, role=EvidenceRole.ROOT)
XID = Evidence(
    "nodes/n3/kernel.log", 7, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "Xid 79", code=79,
    category=Category.GPU, node="n3", at_ns=T - 600 * SECOND, last_at_ns=T - 600 * SECOND,
    fields={"severity": "fatal"},
)  # fmt: skip


def found(*rows: Evidence, moved_ns: int | None = None) -> Stop:
    return find_stop(None, [XID, *rows], Job(), None, moved_ns)


def test_what_only_follows_may_have_been_waited_for() -> None:
    stop = found(EXIT)
    assert not stop.known
    assert (stop.of(XID), stop.given_up_ns) == (When.AT, T)


def test_the_last_progress_begins_the_wait() -> None:
    stop = found(EXIT, moved_ns=T - 610 * SECOND)
    assert (stop.known, stop.start_ns, stop.of(XID)) == (True, T - 610 * SECOND, When.AT)
    later = found(EXIT, moved_ns=T - 300 * SECOND)
    assert later.of(XID) is When.BEFORE


def test_progress_of_another_hour_begins_no_wait() -> None:
    assert not found(EXIT, moved_ns=T - 7200 * SECOND).known


def test_who_fails_of_its_own_had_not_waited() -> None:
    stop = found(RAISED, replace(EXIT, at_ns=T + SECOND))
    assert (stop.known, stop.start_ns, stop.of(XID)) == (True, T, When.BEFORE)


def test_a_watchdog_without_a_time_gave_up_before_the_next_line_that_has_one() -> None:
    watchdog = replace(
        EXIT, line=80, signature="c10d.watchdog_timeout", kind=Kind.NCCL, at_ns=None,
        fields={"ran_ms": "590000"}, traits=frozenset({Trait.TIMEOUT}),
    )  # fmt: skip
    stop = found(watchdog, EXIT)
    assert (stop.known, stop.start_ns) == (True, T - 590 * SECOND)
    behind = found(replace(watchdog, line=95), EXIT)
    assert behind.start_ns == T


def test_a_foreign_complaint_does_not_begin_the_stop() -> None:
    mount = replace(
        RAISED, signature="scheduler.volume_mount", kind=Kind.SCHEDULER, weak=True,
        at_ns=T - 1500 * SECOND,
    )  # fmt: skip
    assert found(mount, RAISED).start_ns == T
    assert found(mount).start_ns == T - 1500 * SECOND


@pytest.mark.parametrize(
    ("age_s", "log_s", "most"),
    [
        pytest.param("300", "400000", BOUNDS[Bound.ENDS_ITS_LOG].most, id="end of a log of days"),
        pytest.param("300", "900", BOUNDS[Bound.UNDATED].most, id="a log of minutes"),
        pytest.param("3000", "400000", BOUNDS[Bound.UNDATED].most, id="an hour before its end"),
        pytest.param("300", "", BOUNDS[Bound.UNDATED].most, id="no clock at all"),
    ],
)
def test_the_end_of_a_long_log_dates_an_error(age_s: str, log_s: str, most: float) -> None:
    row = replace(XID, at_ns=None, last_at_ns=None, fields={"age_s": age_s, "log_s": log_s})
    one = Hypothesis(Category.GPU, AtNode("n3"), (row,))
    bounds = list(bounds_by_rows(one, found(RAISED), beside=False))
    assert [BOUNDS[bound].most for bound in bounds] == [most]
    assert ends_its_log(row) == (most > 0.6)
