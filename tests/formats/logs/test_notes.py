# ruff: noqa: E501 - real lines are as long as they are
"""What people write as lines: each has the time and the names of its section."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import triage
from tests.support.spent import spent_s
from triage.domain.evidence import BY_PEOPLE
from triage.formats.format import Head
from triage.formats.logs.documents import convert_document_to_lines
from triage.formats.logs.notes import NOTES
from triage.formats.registry import identify_stream
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs.logset import LogKind

TICKET = """## Cooling loop leak in gpu-17
opened: 2026-07-18T04:37:24Z

Drip tray sensor fired while dense-13b-abl-b ran
and the BMC cut the supply. Chassis removed.
"""
MAILS = """From: night@hpc
To: ops@hpc
Date: Wed, 18 Mar 2026 14:43:54 +0900
Subject: fyi

Two disks in the home filer were replaced.

From: hw@hpc
To: ops@hpc
Date: Sun, 22 Mar 2026 08:14:34 +0900
Subject: n27 took down 265358

All eight GPUs are fine but the NVSwitch chip is dead. On the console:

> [Sun Mar 22 07:37:09 2026] nvidia-nvswitch0: SXid (PCI:0000:84:00.0): 20034
    mlx5_core 0000:1b:00.0: firmware version: 28.39.2048

n28 stays as it is.
"""
BOOK = """Shift book (local time, UTC+2)

23.02.2026 07:24  hgx31 had a failed GPU in spring, fine since.
23.02.2026 22:26  hgx20 found dark after 503262 stopped. PSU 2 and its
                  neighbour smelled burnt.
"""
POSTMORTEM = """# Postmortem: hgx31 went dark

**Date:** 2026-03-05
**Status:** complete

## Timeline (all times CET)

| Time  | What happened |
|-------|---------------|
| 14:20 | The run made no more progress. |

- 14:45: Remote hands found both supplies dark.
- 15:10 UTC - The run continues.

## Root cause

A breaker in PDU B tripped.

```
[ 1234.567890] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.
```
"""
STATUS = """Fabric congestion

Resolved - The fabric drains again.
Jun 10, 2026 - 22:16 UTC
Identified - A pause loop between spine switches stops the fabric.
Jun 10, 2026 - 20:16 UTC
"""
CALL = """## Call on n3
time: 2026-03-05 14:00 +0900

* 14:20: It went dark.
"""
FORM = """INC-4711
Summary: No answer from a server
Created: 05/Mar/26 2:20 PM
Affected host: hgx31

Remote hands found a burnt supply.
"""


def claims(text: str) -> bool:
    row = identify_stream(Head(text.encode()))
    return row is NOTES


def records(text: str) -> list[tuple[int, str, str]]:
    """(line, time, words) of each record, of lines of their own without a time."""
    lines = convert_document_to_lines(text, NOTES)
    assert lines is not None
    told = []
    for number, line in enumerate(lines.splitlines(), start=1):
        if line.startswith("{"):
            found = json.loads(line)
            told.append((number, found.get("time", ""), found["message"]))
        elif line.strip():
            told.append((number, "", line))
    return told


LEAK = "Cooling loop leak in gpu-17"
RAN = (
    "Drip tray sensor fired while dense-13b-abl-b ran and the BMC cut the supply. Chassis removed."
)
HEARD = "n27 took down 265358"
AT = "Sun, 22 Mar 2026 08:14:34 +0900"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TICKET, [(1, "2026-07-18T04:37:24Z", LEAK), (4, "2026-07-18T04:37:24Z", f"{LEAK}: {RAN}")]),
        (MAILS, [
            (1, "Wed, 18 Mar 2026 14:43:54 +0900", "fyi"),
            (6, "Wed, 18 Mar 2026 14:43:54 +0900", "Two disks in the home filer were replaced."),
            (8, AT, HEARD),
            (13, AT, f"{HEARD}: All eight GPUs are fine but the NVSwitch chip is dead. On the console:"),
            (15, "", "[Sun Mar 22 07:37:09 2026] nvidia-nvswitch0: SXid (PCI:0000:84:00.0): 20034"),
            (16, "", "    mlx5_core 0000:1b:00.0: firmware version: 28.39.2048"),
            (18, AT, "n28 stays as it is."),
        ]),
        (BOOK, [
            (1, "", "Shift book (local time, UTC+2)"),
            (3, "23.02.2026 07:24 UTC+2", "hgx31 had a failed GPU in spring, fine since."),
            (4, "23.02.2026 22:26 UTC+2", "hgx20 found dark after 503262 stopped. PSU 2 and its neighbour smelled burnt."),
        ]),
        (POSTMORTEM, [
            (1, "2026-03-05 23:59", "Postmortem: hgx31 went dark"),
            (6, "2026-03-05 23:59 CET", "Timeline (all times CET)"),
            (8, "2026-03-05 23:59 CET", "hgx31: Time What happened"),
            (10, "2026-03-05 14:20 CET", "hgx31: The run made no more progress."),
            (12, "2026-03-05 14:45 CET", "hgx31: Remote hands found both supplies dark."),
            (13, "2026-03-05 15:10 UTC", "hgx31: The run continues."),
            (15, "2026-03-05 23:59 CET", "Root cause"),
            (17, "2026-03-05 23:59 CET", "hgx31: A breaker in PDU B tripped."),
            (20, "", "[ 1234.567890] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."),
        ]),
        (STATUS, [
            (1, "", "Fabric congestion"),
            (3, "Jun 10, 2026 - 22:16 UTC", "Resolved - The fabric drains again."),
            (5, "Jun 10, 2026 - 20:16 UTC", "Identified - A pause loop between spine switches stops the fabric."),
        ]),
        (CALL, [
            (1, "2026-03-05 14:00 +0900", "Call on n3"),
            (4, "2026-03-05 14:20 +0900", "Call on n3: It went dark."),
        ]),
        (FORM, [
            (1, "05/Mar/26 2:20 PM", "INC-4711: No answer from a server"),
            (6, "05/Mar/26 2:20 PM", "hgx31 INC-4711: No answer from a server: Remote hands found a burnt supply."),
        ]),
    ],
)  # fmt: skip
def test_a_paragraph_has_the_time_and_the_names_of_its_section(
    text: str, wanted: list[tuple[int, str, str]]
) -> None:
    assert claims(text)
    # Where lines end makes no difference, but for what a program printed.
    assert records(text) == wanted
    assert [one[1:] for one in records(text.replace("\n", "\r\n"))] == [one[1:] for one in wanted]


def test_a_long_paragraph_is_read_in_sentences_that_keep_its_names() -> None:
    more = "The supply of the left half was measured and is as it should be by all means. " * 3
    text = f"# Night\nopened: 2026-07-18 04:37\n\nhgx31 was looked at. {more}{more}The riser is dead.\n"
    told = [words for _, _, words in records(text)]

    assert len(told) > 2
    assert told[-1].startswith("hgx31: ")
    assert told[-1].endswith("The riser is dead.")


@pytest.mark.parametrize(
    "text",
    [
        # changes and readmes: no section tells when
        "# Changelog\n\n## [1.2.0] - 2026-03-05\n\n- Fixed a crash when a node fails.\n",
        "# NCCL tests\n\nThese tests check the speed of all operations.\n\n## Build\n\nType `make`.\n",
        # a job's log, whatever its wrapper prints first
        "Date: Thu Mar  5 14:20:00 UTC 2026\nHostname: hgx31\n\nLoading the data set from disk.\n"
        "  0%|          | 0/100 [00:00<?, ?it/s]\nstep 1 loss 3.4\nstep 2 loss 3.3\n",
        "Start time: 2026-03-05 14:20\nLoading modules is done\nEpoch 1 finished\nEnd time: 2026-03-05 15:20\n",
        "[2026-03-05 14:20:11] The data set is loaded from disk now.\n" * 9,
        "14:20:11 The data set is loaded from disk now.\n" * 9,
        # reports of crashes, and what kubectl prints
        "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n"
        "Time: Thu Mar 5 14:20:00 2026 UTC elapsed time: 3.2 seconds\n",
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nRuntimeError: no such file.\n",
        "Name:    gpu-17\nCreationTimestamp:  Thu, 05 Mar 2026 14:20:00 +0000\nConditions:\n"
        "  Ready  False  Thu, 05 Mar 2026 14:20:00 +0000  KubeletNotReady  container runtime is down\n",
        # a table of a monitor
        "2026-03-05 14:20 n3   CRIT  91 C\n2026-03-05 14:21 n3   OK    71 C\n",
        "",
    ],
)  # fmt: skip
def test_what_programs_print_is_not_taken_for_notes(text: str) -> None:
    assert not claims(text)


def test_what_people_write_is_no_log_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(
        TICKET + "\nNVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
    )
    logs = read_logs(find_inputs([tmp_path]).files)

    assert [file.kind for file in logs.files] == [LogKind.CHECKS]
    assert [(row.line, row.fields.get(BY_PEOPLE)) for row in logs.evidence] == [(7, "1")]


def test_time_is_linear_in_the_text() -> None:
    for unit in ("# a1 ", "a: b\n", "a. B ", "> ", "\n# x1\n", "05.03.2026 14:20 x\n", "Date: 2026-03-05 14:20\n\n", "n1-", "a " * 9, "| a |\n"):  # fmt: skip
        text = "Date: 2026-03-05 14:20\n\n" + (unit * (200_000 // len(unit)))
        spent = spent_s(lambda text=text: convert_document_to_lines(text, NOTES), 3)
        assert spent < 3, unit


def _analyze(folder: Path, opened: str, text: str) -> list[tuple[str | None, str]]:
    """Whom it accuses of what: a job on four nodes, whose end no line explains, and a ticket."""
    for k in range(4):
        (folder / "nodes" / f"gpu-{k}").mkdir(parents=True)
        (folder / "nodes" / f"gpu-{k}" / "job.log").write_text(
            "".join(
                f"2026-03-05T14:{minute:02d}:00Z [rank{k}]: step {minute} loss 2.3\n"
                for minute in range(10)
            )
            + f"2026-03-05T14:10:00Z [rank{k}]: RuntimeError: NCCL error: remote process exited\n"
        )
    (folder / "ticket.md").write_text(f"## Server gpu-2\nopened: {opened}\n\n{text}\n")
    report = triage.analyze(folder, at=datetime(2026, 3, 5, 14, 11, tzinfo=UTC)).to_dict()
    return [(one["node"], one["category"]) for one in report["suspects"]]


BURNT = "It powered off without warning. Two of six supplies show a failed status, blown fuse."
WRONG = "A deterministic GEMM test yields different sums on one device, silent corruption."


@pytest.mark.parametrize(("text", "category"), [(BURNT, "power"), (WRONG, "sdc")])
def test_a_note_tells_of_the_node_in_its_heading(tmp_path: Path, text: str, category: str) -> None:
    assert _analyze(tmp_path, "2026-03-05 15:02 UTC", text)[:1] == [("gpu-2", category)]


def test_a_note_of_another_day_is_no_cause(tmp_path: Path) -> None:
    assert _analyze(tmp_path, "2026-02-05 15:02 UTC", BURNT) == []
