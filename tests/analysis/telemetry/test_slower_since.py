"""A device that throttles since the steps became slower: two sources for one slow place."""

import json
from pathlib import Path

import pytest

import triage

NODES = ("gpu-1", "gpu-2", "gpu-3")
MINUTES = 40
# NVML's reasons: a power cap, the power brake, heat.
CAP, BRAKE, HEAT = 0x4, 0x88, 0x48


def write(folder: Path, *, slow_at: int | None, brake_at: int | None, mask: int = BRAKE) -> None:
    """A job of six GPUs that is slower from one minute on; one GPU throttles from another on."""
    at_s, lines, step = 0.0, [], 900
    while at_s < MINUTES * 60:
        took = 12.0 if slow_at is None or at_s < slow_at * 60 else 29.0
        at_s += took
        clock = f"2026-08-24 02:{int(at_s) // 60 % 60:02d}:{int(at_s) % 60:02d}"
        lines.append(
            f" [{clock}] iteration {step:8d}/  120000 | consumed samples: {step * 512} | elapsed"
            f" time per iteration (ms): {took * 1000:.1f} | learning rate: 2.0E-04 | lm loss:"
            " 2.200000E+00 | loss scale: 1.0 | grad norm: 0.311 |"
        )
        step += 1
    folder.mkdir(exist_ok=True)
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    for node in NODES:
        rows = []
        for minute in range(MINUTES):
            rows.append(f"# at 2026-08-24T02:{minute:02d}:00Z")
            for gpu in range(2):
                bad = brake_at is not None and minute >= brake_at and (node, gpu) == ("gpu-2", 1)
                labels = f'{{gpu="{gpu}",Hostname="{node}"}}'
                reasons, clock_mhz = (mask, 405) if bad else (CAP, 1905)
                rows.append(f"DCGM_FI_DEV_CLOCKS_EVENT_REASONS{labels} {reasons}")
                rows.append(f"DCGM_FI_DEV_SM_CLOCK{labels} {clock_mhz}")
        (folder / "nodes" / node).mkdir(parents=True)
        (folder / "nodes" / node / "dcgm.prom").write_text("\n".join(rows) + "\n")
    facts = {"job_id": "5", "world_size": 6, "gpus_per_node": 2, "nodes": list(NODES)}
    (folder / "job.json").write_text(json.dumps(facts))


def culprits(report: triage.Report) -> list[tuple[str | None, tuple[int, ...]]]:
    return [(one.node, one.ranks) for one in report.answer.suspects if one.role == "culprit"]


@pytest.mark.parametrize("mask", [BRAKE, HEAT])
@pytest.mark.parametrize("minute", [12, 25])
def test_slower_since_it_throttles(mask: int, minute: int, tmp_path: Path) -> None:
    write(tmp_path, slow_at=minute, brake_at=minute, mask=mask)
    report = triage.analyze(tmp_path)
    assert report.verdict.kind == "straggler"
    assert report.verdict.category in ("power", "gpu_thermal")
    assert culprits(report) == [("gpu-2", (3,))]


def test_throttles_and_slows_nobody(tmp_path: Path) -> None:
    write(tmp_path, slow_at=None, brake_at=20)
    assert not culprits(triage.analyze(tmp_path))


def test_slower_and_nothing_throttles(tmp_path: Path) -> None:
    write(tmp_path, slow_at=20, brake_at=None)
    report = triage.analyze(tmp_path)
    assert report.verdict.kind == "straggler"
    assert not culprits(report)


def test_it_throttled_long_before(tmp_path: Path) -> None:
    write(tmp_path, slow_at=32, brake_at=8)
    assert not culprits(triage.analyze(tmp_path))
