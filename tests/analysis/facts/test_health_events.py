"""Reports of watching tools beside the stop: by themselves only from before it."""

from dataclasses import replace

import pytest

from triage.analysis.facts.of_the_job import judge_reports
from triage.analysis.facts.stop import SECOND, Stop
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind

T = 1_780_000_000 * SECOND
END = T + 600 * SECOND
STOP = Stop(T, END, known=True, trouble=True, job_seen=True, given_up_ns=END)
FAILED = Evidence(
    "events.json", 1, "check.nvsentinel.x", Kind.GPU, EvidenceRole.ROOT, "fail",
    category=Category.GPU, node="n3", gpu="0000:1b:00", fields={"outcome": "fail"},
)  # fmt: skip
PASSED = replace(FAILED, role=EvidenceRole.NOISE, category=None, fields={"outcome": "pass"})
PLACED = JobPlacement(
    node_by_rank={0: "n3", 1: "n3"}, gpu_by_rank={0: "0000:1b:00", 1: "0000:2c:00"}
)
NOBODY = JobPlacement()


def at(row, seconds):
    return replace(row, at_ns=T + seconds * SECOND, last_at_ns=T + seconds * SECOND)


def judged(*rows, fleet=NOBODY):
    row = judge_reports(rows, STOP, fleet)[0]
    return str(row.role), row.weak


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        (-80, ("root", False)), (-1, ("root", False)), (14, ("root", False)),
        (17, ("root", True)), (300, ("root", True)), (3600, ("root", True)),
    ],
)  # fmt: skip
def test_a_report_from_behind_the_stop_needs_another_source(seconds, wanted):
    assert judged(at(FAILED, seconds)) == wanted


@pytest.mark.parametrize(
    ("passed", "wanted"),
    [
        (at(PASSED, -10), "advice"),
        (at(PASSED, -60), "root"),  # before it failed
        (at(PASSED, 60), "root"),  # repaired behind the stop
        (at(replace(PASSED, node="n4"), -10), "root"),
        (at(replace(PASSED, gpu="0000:2c:00"), -10), "root"),
        (at(replace(PASSED, signature="check.nvsentinel.y"), -10), "root"),
        (PASSED, "root"),  # without a time
    ],
)
def test_what_was_taken_back_before_the_stop_accuses_nobody(passed, wanted):
    assert judged(at(FAILED, -40), passed)[0] == wanted


def test_a_gpu_beside_those_of_the_job_accuses_nobody():
    other = replace(FAILED, gpu="0000:9d:00")

    assert judged(at(other, -10), fleet=PLACED)[0] == "advice"
    assert judged(at(FAILED, -10), fleet=PLACED)[0] == "root"
    assert judged(at(other, -10), fleet=replace(PLACED, gpu_by_rank={0: "0000:1b:00"}))[0] == "root"
    assert judged(at(replace(other, node="n9"), -10), fleet=PLACED)[0] == "root"


def test_lines_of_logs_stay_as_they_are():
    line = at(replace(FAILED, signature="nvidia.xid"), 300)

    assert judge_reports([line], STOP, PLACED) == [line]
