"""What two nodes show at the end of a job: one error, two, or what follows from one."""

import json
from pathlib import Path

import pytest

import triage

STEPS = (
    "2026-11-20T09:50:00Z starting training\n"
    "2026-11-20T09:58:31Z iteration 813/ 10000 | loss 2.110\n"
    "2026-11-20T09:59:01Z iteration 814/ 10000 | loss 2.109\n"
)
MISSING = (
    "2026-11-20T09:59:03Z [rank{}]: FileNotFoundError: [Errno 2] No such file or directory:"
    " '/data/shards/0132.tar'\n"
)
XID_31 = (
    "2026-11-20T09:59:{}+00:00 m1 kernel: NVRM: Xid (PCI:0000:1b:00): 31, pid=4107, name=python,"
    " Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @"
    " 0x7f12_34000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ\n"
)


def answer(folder: Path, job: str, kernel: str = "") -> triage.Report:
    facts = {"job_id": "5", "nodes": ["m1", "m2"], "world_size": 8, "gpus_per_node": 4}
    facts["rank_to_node"] = {str(rank): f"m{1 + rank // 4}" for rank in range(8)}
    (folder / "job.json").write_text(json.dumps(facts))
    (folder / "job.log").write_text(STEPS + job)
    if kernel:
        (folder / "kern-m1.log").write_text(kernel)
    return triage.analyze(folder)


@pytest.mark.parametrize("seconds", ["01.6", "03.6", "05.1"])
def test_an_error_beside_a_fault_of_the_other_node_is_its_own(seconds: str, tmp_path: Path) -> None:
    report = answer(tmp_path, MISSING.format(5), XID_31.format(seconds))
    assert report.answer.suspects[0].node == "m2"
    assert report.answer.suspects[0].ranks == (5,)
    assert not report.verdict.cordon


def test_the_same_error_on_both_nodes_is_the_codes(tmp_path: Path) -> None:
    report = answer(tmp_path, MISSING.format(1) + MISSING.format(5))
    assert not report.answer.suspects
    assert report.verdict.category == "software_user"


def test_a_port_in_use_is_a_cause_behind_steps_too(tmp_path: Path) -> None:
    line = "2026-11-20T09:59:20Z [rank5]: OSError: [Errno 98] Address already in use\n"
    report = answer(tmp_path, line)
    assert (report.verdict.category, report.answer.suspects[0].ranks) == ("dependency", (5,))


def test_an_entry_of_torchruns_table_is_quoted_as_a_whole(tmp_path: Path) -> None:
    table = (
        "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-20_09:59:40\n"
        "  host      : m2\n  rank      : 5 (local_rank: 1)\n  exitcode  : -9 (pid: 4107)\n"
        "  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 4107\n" + "=" * 60
    )
    report = answer(tmp_path, table)
    assert "exitcode : -9 (pid: 4107)" in report.verdict.summary
    assert report.answer.suspects[0].because[0].line == STEPS.count("\n") + 3
