"""What logs that go on say of the stop: an old fault in them, services that outlive the job."""

import json
from pathlib import Path

import pytest

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


def steps(count: int) -> list[str]:
    return [
        f" [2026-11-20 09:{k // 6:02}:{k % 6 * 10:02}.000] iteration {k:8d}/  900 | elapsed"
        " time per iteration (ms): 10000.0 | lm loss: 2.11E+00 |"
        for k in range(1, count)
    ]


SERVICES = [
    f"Nov 20 {9 + k}:40:00 n1 {program}: {text}"
    for k in range(8)
    for program, text in (
        ("systemd[1]", "Started Daily apt download activities."),
        ("kubelet[2200]", "W1120 watch of *v1.Service ended with: too old resource version"),
    )
]
LAUNCHER = [f"2026-11-20 {9 + k}:40:00 torchrun agent: all 8 workers are there" for k in range(8)]


@pytest.mark.parametrize(
    ("lines", "facts", "stands"),
    [(SERVICES, {}, False), (LAUNCHER, {}, True), (LAUNCHER, {"exit_code": 0}, False)],
    ids=["services", "launcher", "launcher, exit code 0"],
)
def test_only_a_log_of_the_job_tells_that_it_stood_still(
    lines: list[str], facts: dict[str, int], tmp_path: Path, *, stands: bool
) -> None:
    (tmp_path / "job.json").write_text(json.dumps({"job_id": "9", "nodes": ["n1"]} | facts))
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / "train.log").write_text("\n".join(steps(120)) + "\n")
    (tmp_path / "n1" / "messages").write_text("\n".join(lines) + "\n")
    verdict = triage.analyze(tmp_path).answer.verdict
    assert (verdict.kind == "hang") == stands, verdict.summary


def fault_on(day: str, tmp_path: Path) -> Answer:
    """A job of Nov 20 whose log prints no clock, beside an Xid whose log names no zone."""
    job = {"job_id": "9", "nodes": ["n1"], "started_at": "2026-11-20T09:00:00Z"}
    (tmp_path / "job.json").write_text(json.dumps(job))
    (tmp_path / "n1").mkdir()
    xid = f"{day} n1 kernel: NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus."
    last = "Nov 20 09:30:00 n1 kernel: docker0: port 1(veth1) entered blocking state"
    (tmp_path / "n1" / "kern.log").write_text(f"{xid}\n{last}\n")
    ends = ["WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL."]
    lines = [*(line.partition("]")[2] for line in steps(120)), *(9 * ends)]
    (tmp_path / "n1" / "train.log").write_text("\n".join(lines) + "\n")
    return triage.analyze(tmp_path).answer


def test_a_fault_before_the_job_began_is_none_of_it_in_any_zone(tmp_path: Path) -> None:
    verdict = fault_on("Nov 16 03:14:15", tmp_path).verdict
    assert (verdict.category, verdict.cordon) == ("none", ())


def test_a_fault_that_may_be_behind_its_beginning_counts(tmp_path: Path) -> None:
    verdict = fault_on("Nov 20 09:20:15", tmp_path).verdict
    assert verdict.category == "gpu"
