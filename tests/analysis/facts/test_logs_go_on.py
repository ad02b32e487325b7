"""A failure without a clock is of the end of the logs, not of the last old fault in them."""

import json
from pathlib import Path

import triage
from triage.domain.report import Answer

OLD_XID = (
    "[Sat Nov 14 03:14:15 2026] NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>,"
    " GPU has fallen off the bus."
)
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/opt/train/hooks.py", line 7, in push\n    self.send()\n'
    "ValueError: the table of metrics has no column step\n"
)


def answer(folder: Path, kernel_ends: str) -> Answer:
    """A job that fails without a clock beside a kernel log with an Xid of November 14th."""
    job = {"job_id": "9", "world_size": 4, "nodes": ["n1"], "gpus_per_node": 4, "exit_code": 1}
    (folder / "job.json").write_text(json.dumps(job))
    node = folder / "n1"
    node.mkdir()
    last = f"[{kernel_ends}] EDAC MC4: 1 CE memory read error on P1_DIMM_E1 (channel:0 slot:1)"
    (node / "dmesg.log").write_text(f"{OLD_XID}\n{last}\n")
    (node / "job.log").write_text(TRACEBACK)
    return triage.analyze(folder)


def test_a_fault_of_days_ago_is_not_the_stop(tmp_path: Path) -> None:
    ended = answer(tmp_path, "Fri Nov 20 09:00:00 2026")
    assert ended.verdict.category != "gpu", ended.verdict.summary
    assert ended.verdict.cordon == ()


def test_the_last_thing_in_the_logs_may_be(tmp_path: Path) -> None:
    ended = answer(tmp_path, "Sat Nov 14 03:14:20 2026")
    assert ended.verdict.category == "gpu", ended.verdict.summary
