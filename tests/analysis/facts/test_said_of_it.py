"""What schedulers, agents and watchdogs say of a stop, and what of it is used."""

from pathlib import Path

import pytest

from simulator import simulate
from tests.support.job_folders import (
    DAY,
    KERNELS,
    at,
    ended_by,
    facts,
    init_lines,
    kernel,
    said,
    steps,
    watchdogs,
)
from triage.analysis.detectors.no_dump import find_missing_dumps
from triage.analysis.dump_view import view_dumps
from triage.domain.job import Job
from triage.formats.gather import gather

LOST = (
    f"slurmstepd: error: *** STEP 5150.0 ON cn01 CANCELLED AT {DAY}T{at(90)[:8]} DUE TO"
    " NODE FAILURE ***"
)
CPU = "mce: [Hardware Error]: CPU 40: Machine Check Exception: 5 Bank 0: bd80000000100134"


@pytest.mark.parametrize(("second", "nodes"), [(20.0, ["cn03"]), (-3000.0, [])])
def test_a_node_that_slurm_missed_is_the_one_that_told_of_a_fault(
    tmp_path: Path, second: float, nodes: list[str]
) -> None:
    files = {
        **KERNELS,
        "nodes/cn03/kernel.log": kernel("cn03", (second, CPU)),
        "job.log": [*init_lines(), *steps(), LOST],
    }
    wire = said(tmp_path, files, facts())
    assert [one["node"] for one in wire["suspects"]][:1] == nodes


UNKNOWN = "torch.AcceleratorError: CUDA error: unknown error"
NVML = "Failed to initialize NVML: Unknown Error"


@pytest.mark.parametrize(
    ("before", "more", "category"),
    [(steps(), [], "gpu"), ([], [], "dependency"), (steps(), [NVML], "dependency")],
)
def test_cuda_that_loses_a_gpu_in_mid_run_is_no_setting(
    tmp_path: Path, before: list[str], more: list[str], category: str
) -> None:
    error = [f"[{DAY} {at(0.5)[:8]}] {one}" for one in (UNKNOWN, *more)]
    job = [*init_lines(), *before, *error, *watchdogs(range(15))]
    wire = said(tmp_path, {**KERNELS, "job.log": job}, facts())
    assert wire["verdict"]["category"] == category


CONDITION = (
    '{"node": "cn03", "observedAt": "%sT%sZ", "severity": "warn", "message": "Node condition'
    ' NvidiaReboot is now: %s, reason: Xid, message: \\"NVRM: Xid (PCI:0000:5d:00): 79, pid=7,'
    ' name=python, GPU has fallen off the bus.\\""}'
)


@pytest.mark.parametrize(("holds", "nodes"), [("True", ["cn03"]), ("False", [])])
def test_a_condition_quotes_the_kernel_for_a_reason(
    tmp_path: Path, holds: str, nodes: list[str]
) -> None:
    event = CONDITION % (DAY, at(1.0), holds)
    job = [*init_lines(), *steps(), *watchdogs(range(16))]
    wire = said(tmp_path, {"npd.jsonl": [event, event], "job.log": job}, facts())
    assert [one["node"] for one in wire["suspects"]] == nodes
    assert ended_by(wire) == [(node, [9], "gpu") for node in nodes if ended_by(wire)]


@pytest.mark.parametrize(("rank", "is_accused"), [(5, False), (6, True)])
def test_a_rank_that_gave_up_where_its_peers_wait_has_entered(
    tmp_path: Path, rank: int, is_accused: bool
) -> None:
    """The dump of rank 5 got lost; its own watchdog timed out in the same operation."""
    simulate("host-stall", tmp_path, ranks=16, culprit=5, seed=3, layout="flat", entries=40)
    (lost,) = tmp_path.rglob("*rank_5")
    lost.unlink()
    _, dumps, *_ = gather(tmp_path, None)
    view, _ = view_dumps(dumps, Job(), None)
    assert view is not None
    (claim, *_) = find_missing_dumps(view.case)
    waited = {place.seq for place in view.case.graph.places if place.waiting}
    view.case.gave_up_in = {rank: frozenset(waited)}
    left = [one for one in find_missing_dumps(view.case) if 5 in one.ranks]
    assert claim.ranks == (5,)
    assert bool(left) is is_accused
