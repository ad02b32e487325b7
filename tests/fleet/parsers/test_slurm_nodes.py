"""What Slurm says of its nodes: events, the controller's log, nodes as they are now."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.fleet.parsers.exports import passed, read, table, unread
from triage.errors import Forbidden
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.domain.exposure import NodeFacts, Outage
from triage.fleet.parsers import node_changes
from triage.fleet.parsers.rows import Options, Row
from triage.fleet.parsers.slurm import is_maintenance, is_node_state, is_out

T0 = datetime(2026, 11, 20, 22, tzinfo=UTC)
HOUR = timedelta(hours=1)


def stamp(hours: float) -> str:
    return f"{T0 + hours * HOUR:%Y-%m-%dT%H:%M:%S}.476"


def log(*lines: tuple[float, str]) -> str:
    return "".join(f"[{stamp(hours)}] {text}\n" for hours, text in lines)


def outages(rows: list[Row]) -> list[tuple[str, float, float | None, str]]:
    """(node, from hours, to hours, reason) of each."""
    return [
        (
            row.node,
            round((row.from_at - T0) / HOUR, 2),
            None if row.to_at is None else round((row.to_at - T0) / HOUR, 2),
            row.reason,
        )
        for row in rows
        if isinstance(row, Outage)
    ]


DRAINED = (
    (0, "update_node: node gpu003 reason set to: NHC: check_hw_gpu failed"),
    (0, "update_node: node gpu003 state set to DRAINED"),
    (8, "update_node: node gpu003 reason set to: GPU 3 replaced"),
    (8, "update_node: node gpu003 state set to IDLE"),
)


def test_a_node_that_was_drained_and_resumed_is_an_outage_with_cause_and_action() -> None:
    form, rows = read(log((-1, "slurmctld version 23.11.4 started on cluster a"), *DRAINED))
    assert form == "slurmctld"
    (row,) = [row for row in rows if isinstance(row, Outage)]
    assert outages(rows) == [("gpu003", 0, 8, "NHC: check_hw_gpu failed; GPU 3 replaced")]
    assert (row.cause, row.action, row.planned) == (OutageCause.GPU, RepairAction.SWAP_GPU, False)
    assert passed(rows) == ["lines that say nothing of a node's state"]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (
            [
                (0, "error: Nodes gpu[007-008] not responding, setting DOWN"),
                (1, "node_did_resp: node gpu007 returned to service"),
            ],
            [("gpu007", 0, 1, "Not responding"), ("gpu008", 0, None, "Not responding")],
        ),
        ([(0, "error: Nodes n1 not responding")], []),
        (
            [
                (0, "validate_node_specs: Node n1 unexpectedly rebooted boot_time=17  boot_time=1"),
                (0.5, "node n1 returned to service"),
            ],
            [("n1", 0, 0.5, "Node unexpectedly rebooted")],
        ),
        (
            [
                (0, "drain_nodes: node n1 state set to DRAIN"),
                (1, "error: Nodes n1 not responding, setting DOWN"),
                (2, "Node n1 now responding"),
                (2, "node n1 returned to service"),
                (5, "update_node: node n1 state set to IDLE"),
            ],
            [("n1", 0, 5, "Not responding")],
        ),
        (
            [
                (0, "error: Setting node n1 state to INVAL with reason:gres/gpu count too low"),
                (0, "drain_nodes: node n1 state set to DRAIN"),
            ],
            [("n1", 0, None, "gres/gpu count too low")],
        ),
        (
            [(0, "error: x: Prolog or job env setup failure on node n1, draining the node")],
            [("n1", 0, None, "Prolog or job env setup error")],
        ),
        (
            [(0, "error: epilog_complete: JobId=71 epilog error on n1, draining the node")],
            [("n1", 0, None, "epilog error")],
        ),
        (
            [
                (0, "update_node: node n1 state set to DRAINING"),
                (1, "update_node: node n1 state set to DOWN*"),
                (2, "update_node: node n1 state set to ALLOCATED"),
            ],
            [("n1", 0, 2, "")],
        ),
        ([(0, "update_node: node n1 state set to POWER_DOWN")], []),
        ([(0, "update_node: node n1 state set to IDLE")], []),
        ([(0, "node n1 returned to service")], []),
        (
            [
                (0, "update_node: node n1 reason set to: old"),
                (3, "update_node: node n1 state set to DOWN"),
            ],
            [("n1", 3, None, "")],
        ),
    ],
)  # fmt: skip
def test_lines_that_change_a_state(lines, wanted) -> None:
    assert outages(read(log(*lines))[1]) == wanted


def test_the_order_of_the_files_of_a_log_does_not_matter() -> None:
    lines = log(*DRAINED, (9, "error: Nodes gpu003 not responding, setting DOWN")).splitlines()
    whole = outages(read("\n".join(lines))[1])
    for seed in range(6):
        mixed = random.Random(seed).sample(lines, len(lines))
        assert outages(read("\n".join(mixed))[1]) == whole
    assert outages(read("\n".join(lines + lines))[1]) == whole


def test_the_zone_and_the_journal() -> None:
    text = "[2026-11-20T23:00:00.1] update_node: node n1 state set to DOWN\n"
    assert outages(read(text, Options(zone=ZoneInfo("Europe/Berlin")))[1]) == [("n1", 0, None, "")]
    text = "2026-11-20T23:00:00+0100 head slurmctld[48]: slurmctld: drain_nodes: node n1 state set to DRAIN"  # noqa: E501
    assert outages(read(text)[1]) == [("n1", 0, None, "")]


def test_a_line_that_cannot_be_read_is_named_and_stops_no_other() -> None:
    rows = read(
        log(*DRAINED[:2], (1, "update_node: node gpu003 state set to PURPLE"))
        + "Nov 20 22:00:00 head slurmctld[4]: error: Nodes n1 not responding, setting DOWN\n"
        + log((1, "error: Nodes n[1- not responding, setting DOWN"))
        + "[2026-13-20T22:00:00] update_node: node n1 state set to DOWN\n"
    )[1]
    assert [line for line, _ in unread(rows)] == [3, 4, 5, 6]
    assert "'PURPLE' is not known" in unread(rows)[0][1]
    assert "no year" in unread(rows)[1][1]
    assert len(outages(rows)) == 1


def test_too_many_changes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_changes, "MOST_CHANGES", 3)
    with pytest.raises(Forbidden, match="more than 3 changes"):
        read(log(*DRAINED))


@pytest.mark.parametrize(
    ("state", "out", "maintenance"),
    [
        ("IDLE", False, False), ("DOWN*", True, False), ("IDLE+DRAIN", True, False),
        ("DRAIN", True, False), ("DRAINING@", True, False), ("MIXED+PLANNED", False, False),
        ("IDLE+POWERED_DOWN", False, False), ("IDLE~", False, False), ("MAINT", True, True),
        ("IDLE+MAINTENANCE+RESERVED", True, True), ("DRAINED$", True, False),
        ("MIXED+REBOOT_REQUESTED", False, False),
        ("UNKNOWN+FAIL+NOT_RESPONDING", True, False), ("DOWN+MAINT", True, False),
        ("FAIL", True, False),
        ("idle$", True, True), ("ALLOCATED+NOT_RESPONDING", False, False), ("DOWN+", True, False),
    ],
)  # fmt: skip
def test_which_states_take_a_node_out(state: str, out: bool, maintenance: bool) -> None:
    assert (is_out(state), is_maintenance(state)) == (out, maintenance)


def test_words_that_are_no_state() -> None:
    assert not any(map(is_node_state, ("", "open", "resolved", "IDLE and well", "+")))


EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"


def test_events_with_all_their_states() -> None:
    at, to = stamp(0)[:-4], stamp(8)[:-4]
    rows = read(
        table(
            EVENTS,
            f"a|n1|{at}|{to}|DRAIN|HBM error|root(0)",
            f"a|n2|{at}|Unknown|DOWN*|Not responding|slurm(64030)",
            f"a|n3|{at}|{to}|MAINT||root(0)",
            f"a|n4|{at}|{to}|IDLE+POWERED_DOWN||slurm(64030)",
            f"a|n5|{to}|{at}|DOWN|backwards|root(0)",
            f"a||{at}|{to}||Cluster registered TRES|",
            f"a|n6|{at}|{to}|DOWN|PSU dead, swap | pipe|root(0)",
            f"a|n7|{at}|{to}|UNK|cold-start|root(0)",
            f"a|n8|{at}|{to}",
        )
    )[1]
    assert outages(rows) == [
        ("n1", 0, 8, "HBM error"), ("n2", 0, None, "Not responding"), ("n3", 0, 8, "MAINT"),
        ("n6", 0, 8, "PSU dead, swap | pipe"),
    ]  # fmt: skip
    assert [row.planned for row in rows if isinstance(row, Outage)] == [False, False, True, False]
    assert passed(rows) == [
        "events of nodes that were not out of service", "events of the cluster as a whole",
        "events of nodes that were not out of service",
    ]  # fmt: skip
    assert [line for line, _ in unread(rows)] == [6, 10]


def test_events_as_they_are_padded() -> None:
    text = (
        "   Cluster        NodeName           TimeStart             TimeEnd  State"
        "                         Reason       User \n"
        "---------- --------------- ------------------- ------------------- ------"
        " ------------------------------ ---------- \n"
        "         a                 2026-11-01T00:00:00             Unknown       "
        "        Cluster registered TRES            \n"
        "         a          gpu003 2026-11-20T22:00:00 2026-11-21T06:00:00  DRAIN"
        "                            HBM    root(0) \n"
    )
    form, rows = read(text)
    assert form == "outages"
    assert outages(rows) == [("gpu003", 0, 8, "HBM")]
    assert passed(rows) == ["events of the cluster as a whole"]


def node(state: str, reason: str = "", gres: str = "gpu:h100:8(S:0-1)") -> str:
    return (
        f"NodeName=gpu003 Arch=x86_64 CoresPerSocket=56 \n   CPUAlloc=0 CPUTot=224 CPULoad=0.05\n"
        f"   Gres={gres}\n   NodeAddr=gpu003 NodeHostName=gpu003 Version=23.11.4\n"
        f"   State={state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
        f"   BootTime=2026-11-02T08:00:00 SlurmdStartTime=2026-11-02T08:01:10\n{reason}\n\n"
    )


WHY = "   Reason=NHC: check_hw_gpu [1] failed [root@2026-11-20T22:00:00]\n          second line"


@pytest.mark.parametrize("single_line", [False, True])
def test_nodes_as_they_are_now(single_line: bool) -> None:
    blocks = [node("IDLE+DRAIN", WHY), node("IDLE"), node("DOWN*"), node("PURPLE"), node("MAINT")]
    if single_line:
        blocks = [" ".join(block.split()) + "\n" for block in blocks]
    form, rows = read("".join(blocks))
    assert form == "scontrol"
    assert outages(rows) == [("gpu003", 0, None, "NHC: check_hw_gpu [1] failed")]
    facts = [row for row in rows if isinstance(row, NodeFacts)]
    assert facts == [NodeFacts("gpu003", generation="h100")] * 4
    assert passed(rows) == [
        "nodes that are in service",
        "nodes that are out, without a time since when",
        "nodes that are out, without a time since when",
    ]
    assert len(unread(rows)) == 1


def test_a_node_without_a_name_or_a_type() -> None:
    rows = read("NodeName= State=IDLE\n" + node("IDLE", gres="gpu:8"))[1]
    assert [why for _, why in unread(rows)] == ["NodeName is empty"]
    assert passed(rows) == ["nodes that are in service"]
