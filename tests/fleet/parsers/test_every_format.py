"""Every format has an example here, and no damage to it stops an import in another way."""

import contextlib
import json
import random
from datetime import UTC, datetime

import pytest

from tests.fleet.parsers.exports import CSV_HEADER, SACCT_HEADER, read, table
from tests.support.spent import spent_s
from triage.errors import ArtifactError
from triage.fleet.domain.exposure import NodeFacts, NodeRepair, Outage, Run
from triage.fleet.parsers.read import FORMATS
from triage.fleet.parsers.rows import Options, Passed, Unread

AT, END = "2026-11-20T22:00:00", "2026-11-21T06:00:00"
EXAMPLES = {
    "sacct": table(SACCT_HEADER, f"4711|a|NODE_FAIL|{AT}|{END}|16|gres/gpu=128|gpu[001-016]"),
    "csv": table(CSV_HEADER, f"4711,{AT}Z,{END}Z,failed,2,16,n[1-2],a,gpu"),
    "inventory": table("node,generation,rack", "n[1-2],H100,r12"),
    "hardware": table("node,kind,identity", "n12,gpu_board,1655023014410"),
    "outages": table("node,from,to,reason", f"n1,{AT},{END},HBM"),
    "tickets": table("number,created,closed,host,title", f'7,{AT},{END},gpu003,"GPU 3\nreplaced"'),
    "kubernetes": json.dumps({"kind": "List", "items": [
        {"kind": "Event", "involvedObject": {"kind": "Node", "name": "n1"}, "count": 2,
         "reason": "NodeNotReady", "firstTimestamp": f"{AT}Z", "lastTimestamp": f"{END}Z"}]}),
    "slurmctld": (
        f"[{AT}.476] update_node: node gpu003 reason set to: NHC: check_hw_gpu failed\n"
        f"[{AT}.476] error: Nodes gpu[003,007] not responding, setting DOWN\n"
        f"[{END}.476] node_did_resp: node gpu007 returned to service\n"
    ),
    "scontrol": (
        "NodeName=gpu003 Arch=x86_64\n   Gres=gpu:h100:8(S:0-1)\n   State=IDLE+DRAIN X=1\n"
        f"   Reason=NHC: check_hw_gpu failed [root@{AT}]\n"
    ),
}  # fmt: skip
NOW = datetime(2026, 12, 1, tzinfo=UTC)
OPTIONS = Options(last=NOW)
ODD = (
    b"", b'"', b"\n", b",", b"|", b"[", b"]", b"{", b"}", b"\xff", b"\x07", b"9999", b"-", b"\r",
    "\u202e\ud7ff".encode(), b"[1-9999999]", b"Unknown", b"null", b"+", b"=", b"1e309",
)  # fmt: skip


def test_every_format_has_an_example_that_is_read_whole() -> None:
    assert set(EXAMPLES) == set(FORMATS)
    for name, text in EXAMPLES.items():
        form, rows = read(text, OPTIONS)
        assert form == name
        assert rows
        assert not [row for row in rows if isinstance(row, Unread | Passed)], name


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_damage_is_a_row_that_is_not_read_or_a_refusal(name: str) -> None:
    good = EXAMPLES[name].encode()
    chance = random.Random(name)
    for _ in range(400):
        data = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data) + 1)
            data[place : place + chance.randint(0, 3)] = chance.choice(ODD)
        try:
            _, rows = read(bytes(data), OPTIONS)
        except ArtifactError:
            continue
        for row in rows:
            if isinstance(row, Outage):
                assert row.to_at is None or row.from_at <= row.to_at <= NOW
            if isinstance(row, Outage | NodeRepair | NodeFacts):
                assert 0 < len(row.node) <= 256
                assert row.node.isprintable() or not row.node.isascii()
            if isinstance(row, Run):
                assert row.ended_at is None or row.started_at <= row.ended_at


LONG = 900_000
STAMP = "[2026-11-20T22:00:00.1] "


@pytest.mark.parametrize(
    "text",
    [
        STAMP + "x" * LONG + " draining the node",
        STAMP + "a error on " * (LONG // 11) + "draining the node",
        STAMP + "Nodes " * (LONG // 6) + "setting DOWN",
        STAMP + "update_node: node " * (LONG // 18) + "reason set to",
        "NodeName=n1 State=DOWN " + "Reason=[" * (LONG // 8),
        "NodeName=n1 State=DOWN " + "Gres=," * (LONG // 6),
        "NodeName=n1\n" + "State=\n" * (LONG // 7),
        "NodeName=n1\n" * (LONG // 12),
        " " * LONG + "NodeName",
        "NodeName Start" + " a" * (LONG // 2),
        "NodeName Start\n" + "- " * (LONG // 2),
        "title,created\n" + '"' * LONG,
        "title,created\n" + 'a"\n' * (LONG // 3),
        "title,created\n" + "gpu[1-9999] " * (LONG // 12),
        f"title,created,closed\n{'gpu003 ' * (LONG // 7)},{AT},{END}\n",
        "node,from,to,reason\n" + f"n1,{AT},{END},{'replace ' * (LONG // 8)}",
        "NodeName|TimeStart|State\n" + f"n1|{AT}|{'DOWN+' * (LONG // 5)}",
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_a_long_text_takes_no_long_time(text: str) -> None:
    def attempt() -> None:
        with contextlib.suppress(ArtifactError):
            read(text, OPTIONS)

    assert spent_s(attempt, 5.0) < 5
