"""Public traces of failures in their own formats; all rows here are made up."""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.fleet.parsers.exports import passed, read, runs, table, unread
from triage.fleet.domain.cause import OutageCause
from triage.fleet.domain.exposure import NodeFacts, Outage
from triage.fleet.parsers.rows import DAY_ZERO, Options, Row

LANL = (
    "System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,"
    "node decom,fru type,mem,cputype,memtype,num intercon,purpose,Prob Started,Prob Fixed,"
    "Down Time,Facilities,Hardware,Human Error,Network,Undetermined,Software,Same Event"
)
TITAN = "SN,location,insert,remove,duration,out,event"


def outages(rows: list[Row]) -> list[Outage]:
    return [row for row in rows if isinstance(row, Outage)]


def lanl(
    causes: str = ",Memory Dimm,,,,",
    *,
    started: str = "3/11/2004 10:54",
    fixed: str = "3/11/2004 12:00",
    system: str = "20",
    purpose: str = "compute",
) -> str:
    return (
        f"{system},cluster,512,2048,4,12,11,2-Sep,2-Nov,current,part,16,2,2,1,{purpose},"
        f"{started},{fixed},66,{causes},No"
    )


def test_lanl_is_a_cluster_a_system() -> None:
    form, rows = read(
        table(LANL, lanl(), lanl(purpose="graphics.fe", system="2"), lanl("Power Outage,,,,,")),
        Options(zone=ZoneInfo("America/Denver")),
    )
    assert form == "lanl"
    first, second, third = outages(rows)
    assert (first.node, first.cluster, first.reason) == ("n11", "lanl-20", "Hardware; Memory Dimm")
    assert first.from_at == datetime(2004, 3, 11, 17, 54, tzinfo=UTC)
    assert first.to_at == datetime(2004, 3, 11, 19, tzinfo=UTC)
    assert first.cause is OutageCause.MEMORY
    assert (second.cluster, third.cause) == ("lanl-2", OutageCause.FACILITY)
    facts = [row for row in rows if isinstance(row, NodeFacts)]
    assert len({(row.cluster, row.node) for row in facts}) == 2 * 512
    assert [row for row in facts if row.batch] == [
        NodeFacts("n11", cluster="lanl-20", batch="2-Sep"),
        NodeFacts("n11", cluster="lanl-2", batch="2-Sep", role="graphics.fe"),
    ]
    assert {row.cluster for row in outages(read(table(LANL, lanl()), Options(cluster="x"))[1])} == {
        "x-20"
    }


@pytest.mark.parametrize(
    ("causes", "cause"),
    [
        (",,,,,Software", OutageCause.SOFTWARE), (",,Operator,,,", OutageCause.HUMAN),
        (",,,,Undetermined,", OutageCause.UNKNOWN), (",CPU,,,,", OutageCause.CPU),
        (",,,,,", OutageCause.UNKNOWN),
    ],
)  # fmt: skip
def test_the_column_that_is_filled_is_the_cause(causes: str, cause: OutageCause) -> None:
    assert [row.cause for row in outages(read(table(LANL, lanl(causes)))[1])] == [cause]


def test_times_of_lanl_that_cannot_be() -> None:
    rows = read(
        table(
            LANL.replace("Prob Started", "Prob Started (mm/dd/yy hh:mm)"),
            lanl(started="6/21/96 10:54", fixed="6/21/96 11:54"),
            lanl(fixed=""),
            lanl(started="13/11/2004 10:54"),
            lanl(started=""),
            lanl(fixed="3/10/2004 12:00"),
            lanl(started="3/11/1904 10:54"),
        )
    )[1]
    first, second = outages(rows)
    assert first.from_at == datetime(1996, 6, 21, 10, 54, tzinfo=UTC)
    assert second.to_at is None
    assert [line for line, _ in unread(rows)] == [4, 5, 6, 7]


def fault(at: float, kind: str, node: str = "u1", desc: str = "GPU xid Error") -> dict[str, Any]:
    words = {"Level": "Hardware Failure", "Class": "GPU", "Desc": desc}
    return {
        "node_id": node, "event_time": at, "event_type": f"fault_{kind}", "fault_type": words,
    }  # fmt: skip


def days(rows: list[Row], zero: datetime = DAY_ZERO) -> list[tuple[str, float, float | None]]:
    day = timedelta(days=1)
    return [
        (row.node, (row.from_at - zero) / day, row.to_at and (row.to_at - zero) / day)
        for row in outages(rows)
    ]


FAULTS = [
    fault(0, "start"), fault(1.5, "end"), fault(1.5, "start"), fault(4, "end"),
    fault(2, "start", "u2"), fault(2, "start", "u2", "GPU DBE"), fault(3, "end", "u2", "GPU DBE"),
    fault(5, "start", "u3"), fault(5, "end", "u3"), fault(7, "end", "u4"),
]  # fmt: skip


def test_faults_of_infinite_hbd_begin_and_end() -> None:
    form, rows = read(json.dumps(FAULTS))
    assert form == "infinitehbd"
    wanted = {("u1", 0, 1.5), ("u1", 1.5, 4), ("u2", 2, 3), ("u2", 2, None), ("u3", 5, 5)}
    assert {*days(rows)} == wanted
    assert passed(rows) == ["ends of faults without a start"]
    assert {row.cause for row in outages(rows)} == {OutageCause.GPU}
    for seed in range(4):
        mixed = random.Random(seed).sample(FAULTS, len(FAULTS))
        assert {*days(read(json.dumps(mixed))[1])} == wanted


def test_a_time_near_the_first_event_is_a_time() -> None:
    rows = read(json.dumps([fault(5e-05, "start"), fault(1, "end")]))[1]
    assert days(rows) == [("u1", pytest.approx(5e-05, abs=1e-9), 1)]


def test_day_zero_dates_a_trace_and_what_cannot_be_is_named() -> None:
    zero = datetime(2024, 3, 30, tzinfo=UTC)
    odd = [
        fault(-1, "start"), {**fault(1, "start"), "event_time": "nan"}, fault(1, "stop"), 7,
        {**fault(1, "start"), "node_id": None}, {**fault(1, "start"), "event_time": 1e300},
    ]  # fmt: skip
    rows = read(json.dumps([*FAULTS[:2], *odd]), Options(day_zero=zero))[1]
    assert days(rows, zero) == [("u1", 0, 1.5)]
    assert len(unread(rows)) == len(odd)


def test_days_of_a_table() -> None:
    header = "node,from_day,to_day,cause,detail"
    form, rows = read(
        table(
            header, "n1,0.0000,6.2188,Hardware,CPU", "n2,1,,x,y", "n3,5,4,x,y", "n4,inf,,x,y",
            "n5,-1,,x,y", "n6,1e3,,x,y", "n7,99999,,x,y", ",1,2,x,y", "n8,,2,x,y",
        )
    )  # fmt: skip
    assert form == "outages"
    assert days(rows) == [("n1", 0, pytest.approx(6.2188)), ("n2", 1, None)]
    assert outages(rows)[0].cause is OutageCause.CPU
    assert [line for line, _ in unread(rows)] == [4, 5, 6, 7, 8, 9, 10]
    late = Options(last=datetime(2000, 1, 2, tzinfo=UTC))
    assert "day zero" in unread(read(table(header, "n1,5,6,x,y"), late)[1])[0][1]


def test_a_gpu_of_titan_is_its_life() -> None:
    form, rows = read(
        table(
            TITAN,
            "0320000000001,c11-2c1s4n1,2014-04-09 21:36:19,2016-04-09 21:36:19,63158400,FALSE,",
            "0320000000001,c3-0c2s7n0,2016-04-10 00:00:00,2016-05-17 02:11:09,3204669,TRUE,OTB",
            "0320000000001,c3-0c2s7n0,,2016-05-01 00:00:00,,,DBE",
            "0320000000002,c3-0c2s7n9x,2016-04-10 00:00:00,2016-05-17 02:11:09,1,TRUE,",
            "0320000000003,c3-0c2s7n0,2016-05-17 02:11:09,2016-05-16 02:11:09,1,TRUE,",
            "0320000000004,c3-0c2s7n0,2016-05-17 02:11:09,,1,TRUE,",
            "0320000000005,c3-0c2s7n0,,2016-05-17 02:11:09,1,TRUE,SBE",
        )
    )
    assert form == "titan"
    first, second = runs(rows)
    assert (first.nodes, first.num_gpus) == (("0320000000001",), 1)
    assert second.ended_at == datetime(2016, 5, 17, 2, 11, 9, tzinfo=UTC)
    assert [(row.reason, row.from_at == row.to_at) for row in outages(rows)] == [
        ("OTB: off the bus at c3-0c2s7n0", True), ("DBE: double bit error at c3-0c2s7n0", True),
    ]  # fmt: skip
    assert [row for row in rows if isinstance(row, NodeFacts)] == [
        NodeFacts("0320000000001", rack="c11-2", batch="old", cage="1", slot="4")
    ]
    assert passed(rows) == ["rows without a time"]
    assert [line for line, _ in unread(rows)] == [5, 6, 8]
