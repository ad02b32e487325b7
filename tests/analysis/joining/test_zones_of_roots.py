"""A log whose zone nothing tells is placed by the grave error that would be the stop's."""

from dataclasses import replace

import pytest

from triage.analysis.facts.stop import SECOND, Stop
from triage.analysis.facts.told_together import with_common_losses
from triage.analysis.joining.zones_of_roots import align_to_stop
from triage.domain.category import Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Stamp

T = 1_795_230_000 * SECOND
STOP = Stop(T, T + 600 * SECOND, known=True, trouble=True, job_seen=True)
HOUR = 3600
UNKNOWN = 14 * HOUR * SECOND


def xid(node: str, at_s: float, *, error_ns: int = UNKNOWN) -> Evidence:
    at = T + int(at_s * SECOND)
    return Evidence(
        artifact=f"nodes/{node}/kernel.log", line=3, signature="nvidia.xid", kind=Kind.XID,
        role=EvidenceRole.ROOT, text="NVRM: Xid", category=Category.GPU, code=79, node=node,
        at_ns=at, last_at_ns=at, error_ns=error_ns, fields={"severity": "fatal"},
    )  # fmt: skip


def shift_s(rows: list[Evidence]) -> list[float]:
    moved, _ = align_to_stop(with_common_losses(rows, num_nodes=64), STOP)
    return [(now.at_ns - was.at_ns) / SECOND for now, was in zip(moved, rows, strict=True)]


@pytest.mark.parametrize("hours", [-8, 1, 5.5, 9, 12.75])
def test_an_error_a_whole_zone_away_is_the_stops(hours):
    moved, notes = align_to_stop([xid("n3", hours * HOUR - 1)], STOP)
    assert moved[0].at_ns == T - SECOND
    assert "nodes/n3/kernel.log" in notes[0]


def test_the_whole_log_moves_with_it():
    before = replace(xid("n3", 8 * HOUR - 500), category=None, role=EvidenceRole.NOISE)
    assert shift_s([before, xid("n3", 8 * HOUR)]) == [-8 * HOUR, -8 * HOUR]


def test_the_logs_of_the_job_itself_move_however_many_they_are():
    rows = [
        replace(
            xid(f"n{k}", 8 * HOUR), kind=Kind.PYTHON, category=Category.NUMERICAL,
            signature="numerics.nan_found", code=None,
        )
        for k in range(6)
    ]  # fmt: skip
    assert shift_s(rows) == [-8 * HOUR] * 6


NEAR_MISSES = {
    "ten minutes beside a zone": [xid("n3", 8 * HOUR + 600)],
    "yesterday": [xid("n3", -24 * HOUR)],
    "an error at the stop is there already": [xid("n1", 0), xid("n3", 8 * HOUR)],
    "a line that needs another source": [replace(xid("n3", 8 * HOUR), weak=True)],
    "what the machine mended": [replace(xid("n3", 8 * HOUR), fields={"severity": "corrected"})],
    "two logs that ask for different zones": [xid("n3", 8 * HOUR), xid("n4", 5 * HOUR)],
    "many logs by chance": [xid(f"n{k}", 8 * HOUR) for k in range(5)],
    "a known zone, not close": [xid("n3", 8 * HOUR - 60, error_ns=SECOND)],
}


@pytest.mark.parametrize("rows", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_nothing_moves_for(rows):
    assert shift_s(rows) == [0.0] * len(rows)


def server_lost(node: str, at_s: float, peer: str | None = "10.0.0.9@o2ib") -> Evidence:
    return replace(
        xid(node, at_s), kind=Kind.STORAGE, category=Category.STORAGE, blame=Blame.SHARED,
        signature="network_storage.lustre_lost", code=None, fields={}, peer=peer,
    )  # fmt: skip


def test_a_server_that_many_lose_at_the_stop_tells_the_zone():
    rows = [server_lost(f"n{k}", 9 * HOUR + k) for k in range(5)]
    assert shift_s(rows) == [-9 * HOUR] * 5


@pytest.mark.parametrize(
    "rows",
    [
        [server_lost("n3", 9 * HOUR)],
        [server_lost("n3", 9 * HOUR), server_lost("n4", 9 * HOUR, "10.0.0.7@o2ib")],
        [server_lost("n3", 9 * HOUR - 60), server_lost("n4", 9 * HOUR - 59)],
        [server_lost(node, hours * HOUR) for node in ("n3", "n4") for hours in (5, 9)],
    ],
    ids=["one node", "two servers", "not close", "at two hours"],
)
def test_a_server_tells_no_zone_for(rows):
    assert shift_s(rows) == [0.0] * len(rows)


CUDA = replace(
    xid("n3", 10), artifact="nodes/n3/job.err", kind=Kind.CUDA, signature="job.cuda", code=None,
    category=Category.SOFTWARE_FRAMEWORK, error_ns=SECOND,
)  # fmt: skip


def test_what_cuda_says_at_the_stop_leaves_the_fault_below_it_to_be_found():
    assert shift_s([CUDA, xid("n3", 2 * HOUR)]) == [0.0, -2 * HOUR]


@pytest.mark.parametrize(
    "row",
    [
        xid("n4", 2 * HOUR),
        xid("n3", 2 * HOUR - 60),
        xid("n3", 2 * HOUR, error_ns=SECOND),
        replace(CUDA, at_ns=T + 2 * HOUR * SECOND, error_ns=UNKNOWN),
    ],
    ids=["another node", "not close", "a known zone", "no part of the machine"],
)
def test_what_cuda_says_at_the_stop_moves_no(row):
    assert shift_s([CUDA, row]) == [0.0, 0.0]


def test_what_a_program_says_at_the_stop_stays_the_finding():
    python = replace(CUDA, kind=Kind.PYTHON, signature="python.value_error")
    assert shift_s([python, xid("n3", 2 * HOUR)]) == [0.0, 0.0]


def test_nothing_moves_where_no_stop_was_seen():
    guessed = replace(STOP, known=False)
    rows = [xid("n3", 8 * HOUR)]
    assert align_to_stop(rows, guessed) == (rows, [])


PRINTED = replace(xid("n3", 8 * HOUR - 1, error_ns=SECOND), stamp=Stamp(wall_ns=T, zone_s=0))


@pytest.mark.parametrize(
    ("row", "stop", "wanted"),
    [
        (PRINTED, STOP, T + 8 * HOUR * SECOND - SECOND),
        # lines tell the stop, and their zone may be the wrong one
        (PRINTED, replace(STOP, error_ns=SECOND), T - SECOND),
        (replace(PRINTED, stamp=Stamp(wall_ns=T)), STOP, T - SECOND),
    ],
)
def test_a_time_with_its_zone_stays_where_dumps_tell_the_stop(row, stop, wanted):
    moved, _ = align_to_stop([row], stop)
    assert moved[0].at_ns == wanted


def test_a_report_of_a_check_is_never_moved():
    row = replace(PRINTED, signature="check.gpud.x")
    rows, notes = align_to_stop([row], replace(STOP, error_ns=SECOND))
    assert (rows, notes) == ([row], [])
