"""Files with what several machines printed: whose each line is."""

import io

import pytest

from tests.formats.examples import printed
from triage.formats.format import Head
from triage.formats.registry import identify_stream
from triage.formats.streams import StreamReader
from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader
from triage.parsers.logs.source import open_stream

XID = "[Mon Apr 14 23:11:09 2025] NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus."
DOWN = "[Mon Apr 14 23:09:41 2025] mlx5_core 0000:5e:00.0 ib2: Link down"
RULE = "-" * 15
SEL = "7 | 02/17/2025 | 23:03:17 | Power Supply PSU1 | Failure detected | Asserted"
BLOCKS = f"$ clush -w n6,n7 -b dmesg\n{RULE}\nn6\n{RULE}\n{DOWN}\n{RULE}\nn7\n{RULE}\n{XID}\n"
HEADINGS = f"===== n6 =====\n{DOWN}\n\n===== n7 =====\n{XID}\n"
ANSIBLE = f"n6 | CHANGED | rc=0 >>\n{DOWN}\nn7 | CHANGED | rc=0 >>\n{XID}\n"
PROMPTS = f"[root@n6 ~]# dmesg -T | tail\n{DOWN}\nroot@n7:~# dmesg -T | tail\n{XID}\n"
BY_SSH = f"[ana@login1 ~]$ ssh n7 dmesg -T | tail\n{XID}\n"


def read(text: str) -> Outcome:
    stream = open_stream(io.BytesIO(text.encode()), "collected.txt")
    assert stream is not None
    found = StreamReader(LineReader(get_standard(), DEFAULT_BOUNDS, templates=False)).read(
        stream, None
    )
    assert isinstance(found, Outcome)
    return found


@pytest.mark.parametrize("text", [BLOCKS, HEADINGS, ANSIBLE, PROMPTS, BY_SSH])
def test_a_line_is_of_the_machine_above_it(text: str) -> None:
    [row] = [row for row in read(text).rows if row.signature == "nvidia.xid"]

    assert row.node == "n7"
    assert row.line == text.split("\n").index(XID) + 1


def test_what_stands_above_the_first_head_is_kept() -> None:
    rows = read(f"{DOWN}\n\n{PROMPTS}").rows

    assert {(row.line, row.node) for row in rows if row.kind == "link"} == {(1, None), (4, "n6")}


def test_a_heading_that_names_a_controller_and_its_command_is_enough() -> None:
    [row] = read(f"===== n7-bmc  (ipmitool sel elist)\n{SEL}\n").rows

    assert row.node is not None
    assert row.node.startswith("n7")


def test_what_checks_print_is_read_as_a_check_of_its_machine() -> None:
    ports = printed("ibstat", "fail-port-down")
    rows = read(f"[root@n6 ~]# free\nMem: 1\n[root@n7 ~]# ibstat\n{ports}").rows

    assert {row.node for row in rows if row.family == "check"} == {"n7"}


@pytest.mark.parametrize(
    "text",
    [
        # a file that everybody sees, shown on a login node
        f"[ana@login1 ~]$ tail slurm-4711.out\n{XID}\n",
        # a banner of a job, and one machine alone
        f"======\nstage2\n======\n{XID}\n",
        f"step 1\n{RULE}\nn7\n{RULE}\n{XID}\n",
        f"== n7 ==\n{XID}\n",
        # parts of one machine, and steps of a report
        f"== gpu0 ==\n{XID}\n== gpu1 ==\n{XID}\n",
        f"## step1\n{XID}\n## step2\n{XID}\n",
        # far below the beginning
        "step\n" * 20 + HEADINGS,
    ],
)
def test_what_only_looks_so_is_a_log(text: str) -> None:
    found = identify_stream(Head(text.encode(), "collected.txt"))

    assert found is not None
    assert found.name == "log"
