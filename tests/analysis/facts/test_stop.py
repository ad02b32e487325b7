"""When a job stopped: the first to fail, or the moment from which the others had waited."""

from dataclasses import replace

import pytest

from simulator import simulate
from triage.analysis.dump_view import view_dumps
from triage.analysis.facts.find_stop import DumpSigns, find_stop, find_wait_start_ns
from triage.analysis.facts.stop import SECOND, Stop, When, is_at_end_of_boot_log
from triage.analysis.joining.bounds import BOUNDS, Bound, list_bounds_by_rows
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import AtNode
from triage.analysis.waiting.case import Case
from triage.domain.category import Category
from triage.domain.evidence import LASTING, Evidence, EvidenceRole, Kind, Trait
from triage.domain.job import Job
from triage.domain.progress import ProgressPoint
from triage.formats.gather import gather

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
    moved = None if moved_ns is None else ProgressPoint("job.log", 80, 9, moved_ns)
    return find_stop(DumpSigns(), [XID, *rows], Job(), None, moved)


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
    bounds = list(list_bounds_by_rows(one, found(RAISED), beside=False))
    assert [BOUNDS[bound].most for bound in bounds] == [most]
    assert is_at_end_of_boot_log(row) == (most > 0.6)


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """All ranks are in one operation that does not end."""
    folder = tmp_path_factory.mktemp("stalled")
    simulate("fabric-stall", folder, ranks=16, tp=1, pp=1, seed=3, entries=50)
    _, dumps, _, _, _ = gather([folder], None, None)
    view, _ = view_dumps(dumps, Job(), None)
    assert view is not None
    return view.case


def stop_of(case: Case, *, all_entered: bool = False, ahead_s: int = 0) -> tuple[int, Stop]:
    """When its ranks began to wait by clocks that are right, and the stop by clocks ahead."""
    began = find_wait_start_ns(case, lambda _rank: 0)
    assert began is not None
    exit_ = replace(EXIT, at_ns=began + 600 * SECOND, last_at_ns=began + 600 * SECOND)
    ahead = ahead_s * SECOND
    return began, find_stop(DumpSigns(case, all_entered, lambda _rank: ahead), [exit_], Job(), None)


def test_what_breaks_an_operation_in_flight_comes_behind_its_issue(stalled: Case) -> None:
    for after_s, entered, when in (
        (40, True, When.AT),
        (40, False, When.AFTER),
        (90, True, When.AFTER),
    ):
        began, stop = stop_of(stalled, all_entered=entered)
        at_ns = began + after_s * SECOND
        assert stop.of(replace(XID, at_ns=at_ns, last_at_ns=at_ns)) is when


def test_the_wait_begins_by_corrected_clocks(stalled: Case) -> None:
    began, stop = stop_of(stalled)
    assert stop.start_ns == began
    _, stop = stop_of(stalled, ahead_s=200)
    assert stop.start_ns == began - 200 * SECOND


def test_what_is_announced_or_flushed_does_not_begin_the_stop() -> None:
    """A notice comes minutes before the end; what is flushed at the end says nothing of it."""
    early = T - 900 * SECOND
    announced = replace(
        RAISED, signature="kubernetes.provider", kind=Kind.SCHEDULER, at_ns=early,
        fields={LASTING: "1"},
    )  # fmt: skip
    assert found(announced, RAISED).start_ns == T
    assert found(replace(announced, fields={}), RAISED).start_ns == early
    flushed = replace(
        RAISED, kind=Kind.NCCL, at_ns=T - 30 * SECOND, traits=frozenset({Trait.TEARDOWN})
    )
    assert found(flushed, RAISED).start_ns == T
    assert found(replace(flushed, traits=frozenset()), RAISED).start_ns == T - 30 * SECOND


def test_a_device_error_that_needs_another_source_begins_the_stop() -> None:
    """It ends its process, and the others notice a minute and a half later."""
    fault = replace(RAISED, kind=Kind.CUDA, weak=True, at_ns=T - 95 * SECOND)
    assert found(fault, EXIT).start_ns == T - 95 * SECOND
    assert found(replace(fault, kind=Kind.PYTHON), EXIT).start_ns == T
    general = replace(fault, traits=frozenset({Trait.GENERIC}))
    assert found(general, EXIT).start_ns == T


def test_a_machine_that_went_down_tells_of_its_processor_once_it_is_up_again() -> None:
    """Behind the end of the job: what it tells then was so before; a GPU's error was not."""
    stop = found(RAISED, replace(EXIT, at_ns=T + SECOND))
    later = T + 600 * SECOND
    gone = replace(XID, at_ns=later, last_at_ns=later, category=Category.CPU, kind=Kind.ECC)
    stop = replace(stop, given_up_ns=T + SECOND)
    assert stop.of(gone) is When.AFTER
    assert stop.of(replace(gone, category=Category.GPU)) is When.TEARDOWN
    assert stop.of(replace(gone, fields={"severity": "corrected"})) is When.TEARDOWN
    assert stop.of(replace(gone, weak=True)) is When.TEARDOWN
    day = T + 86400 * SECOND
    assert stop.of(replace(gone, at_ns=day, last_at_ns=day)) is When.TEARDOWN


@pytest.mark.parametrize(
    ("category", "at_s", "when"),
    [
        (Category.SOFTWARE_FRAMEWORK, 1.0, When.AT),
        (Category.SOFTWARE_FRAMEWORK, 607.0, When.TEARDOWN),
        (Category.HOST_OOM, 607.0, When.TEARDOWN),
        (Category.GPU, 607.0, When.AFTER),
    ],
)
def test_processes_crash_when_the_job_is_given_up(
    category: Category, at_s: float, when: When
) -> None:
    stop = Stop(T, T + 605 * SECOND, True, True, True, given_up_ns=T + 600 * SECOND)
    row = replace(XID, category=category, kind=Kind.KERNEL, at_ns=T + int(at_s * SECOND))
    assert stop.of(row) is when


def test_what_somebody_found_out_is_of_the_stop_whenever_it_is_written() -> None:
    stop = Stop(T, T + 605 * SECOND, True, True, True, given_up_ns=T + 600 * SECOND)
    row = replace(XID, at_ns=T + 9000 * SECOND)
    assert stop.of(row) is When.TEARDOWN
    told = replace(row, traits=frozenset({Trait.FOUND_OUT}))
    assert stop.of(told) is When.UNDATED
