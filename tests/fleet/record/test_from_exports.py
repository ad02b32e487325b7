"""A record out of exports, without a service: the same as the service makes of them."""

import itertools
from datetime import UTC, datetime

import pytest

from triage.errors import UnknownFormat, UsageError
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.record.faults import faults_of
from triage.fleet.record.from_rows import record_from_exports

OUTAGES = (
    b"node,from,to,cause,action\n"
    b"n1,2026-11-20T22:00Z,2026-11-21T06:00Z,gpu,GPU 3 replaced\n"
    b"n2,2026-11-21T00:00Z,,,\n"
    b"bad,never,,,\n"
)
LOG = (
    b"[2026-11-20T22:00:00.1] update_node: node n1 reason set to: NHC\n"
    b"[2026-11-20T22:00:00.1] update_node: node n1 state set to DRAINED\n"
    b"[2026-11-21T05:00:00.1] update_node: node n1 state set to IDLE\n"
)
INVENTORY = b"node,rack,role\nn[1-4],r1,\nlogin1,r2,login\n"
RUNS = (
    b"job_id,started_at,ended_at,ending,num_gpus,nodes\n"
    b"7,2026-11-20T00:00,2026-11-22T00:00,failed,32,n[1-4]\n"
)
TICKETS = b"title,host,created,action\nslow,n3,2026-11-21 00:00,cable swapped\n"


def test_files_of_all_kinds_make_one_record() -> None:
    record = record_from_exports(OUTAGES, LOG, INVENTORY, RUNS, TICKETS, nodes=["n3", "n9"])
    assert record.nodes == ("login1", "n1", "n2", "n3", "n4", "n9")
    assert record.rack == ("r2", "r1", "r1", "r1", "r1", None)
    assert record.role[0] == "login"
    assert len(record.runs.start_ns) == 1
    faults = faults_of(record)
    assert [record.nodes[node] for node in faults.node] == ["n1", "n2"]
    assert faults.cause == (OutageCause.GPU, OutageCause.UNKNOWN)
    assert faults.action == (RepairAction.SWAP_GPU, None)
    assert faults.back.tolist() == [True, False]
    assert (faults.end_day[0] - faults.start_day[0]) * 24 == pytest.approx(7, abs=0.01)
    assert record.repairs is not None
    assert record.repairs.action == (RepairAction.SWAP_CABLE,)
    assert record.notes == (
        "rows that could not be read left out: 1",
        # The table has n1 back at 06:00, the log at 05:00.
        "outages whose end or cause another report contradicts (the earlier end and the first cause"
        " in the alphabet stand): 1",
    )


def test_the_order_of_files_and_a_repeat_change_nothing() -> None:
    seen = set()
    for files in itertools.permutations((OUTAGES, LOG, INVENTORY, RUNS)):
        record = record_from_exports(*files, *files)
        found = faults_of(record)
        seen.add((record.nodes, found.cause, tuple(found.end_day), len(record.runs.start_ns)))
    assert len(seen) == 1


def test_a_record_begins_and_ends_when_it_is_said() -> None:
    since, until = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    record = record_from_exports(OUTAGES, since=since, until=until, nodes=400)
    assert (len(record.nodes), faults_of(record).days) == (400, 30)


def test_rows_of_several_clusters_need_a_word() -> None:
    header = b"node,from,to,cluster\n"
    rows = header + b"n1,2026-11-20T22:00,,a\nn1,2026-11-20T23:00,,b\n"
    with pytest.raises(UsageError, match=r"2 clusters \(a, b\)"):
        record_from_exports(rows)
    record = record_from_exports(rows, cluster="a", until=datetime(2026, 12, 1, tzinfo=UTC))
    assert len(faults_of(record)) == 1
    assert "rows of other clusters left out: 1" in record.notes


def test_what_is_no_export_is_refused(tmp_path) -> None:
    with pytest.raises(UnknownFormat):
        record_from_exports(b"a,b\n1,2\n")
    with pytest.raises(UsageError, match="cannot be read"):
        record_from_exports(tmp_path / "none")
    assert record_from_exports().nodes == ()
    (tmp_path / "x").write_bytes(OUTAGES)
    assert len(faults_of(record_from_exports(tmp_path / "x"))) == 2
