"""GPUs that idle behind the last step of a log that moves to its end."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import triage
from tests.analysis.facts.job_logs import JOB, NODES, clock, maxtext, megatron, steps
from triage.domain.report import Answer

LAST_S = 590  # of 60 steps, one each 10 s
MINUTE = 60


def smi(
    busy_until: int, until: int, since: int = 0, *, busy: Sequence[tuple[str, int]] = ()
) -> dict[str, list[str]]:
    """nvidia-smi each 30 s on all nodes; GPUs of ``busy`` work on."""
    tables = {}
    for node in NODES:
        rows = [
            "timestamp, index, pci.bus_id, utilization.gpu [%], utilization.memory [%],"
            " power.draw [W], power.limit [W]"
        ]
        for second in range(since, until, 30):
            for gpu in range(4):
                works = second < busy_until or (node, gpu) in busy
                load = "98 %, 60 %, 650.00 W" if works else "0 %, 0 %, 75.10 W"
                at = clock(second, "%Y/%m/%d %H:%M:%S.000")
                rows.append(f"{at}, {gpu}, 00000000:{16 + gpu:X}:00.0, {load}, 700.00 W")
        tables[f"nodes/{node}/nvidia-smi.csv"] = rows
    return tables


def prometheus(busy_until: int, until: int) -> dict[str, list[str]]:
    """The answer of a query over DCGM's exporter."""
    series = [
        {
            "metric": {
                "__name__": "DCGM_FI_DEV_GPU_UTIL", "Hostname": node, "gpu": str(gpu),
                "pci_bus_id": f"00000000:{16 + gpu:X}:00.0",
            },
            "values": [
                [int(EPOCH + second), "97" if second < busy_until else "0"]
                for second in range(0, until, 30)
            ],
        }
        for node in NODES
        for gpu in range(4)
    ]  # fmt: skip
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    return {"telemetry/dcgm.json": [json.dumps(answer)]}


EPOCH = 1_795_165_200  # 2026-11-20T09:00:00Z


def answer(folder: Path, lines: Sequence[str], tables: Mapping[str, Sequence[str]]) -> Answer:
    facts = {**JOB, "exit_code": 0} if "exit code 0" in lines else JOB
    (folder / "job.json").write_text(json.dumps(facts))
    for name, rows in {"train.log": lines, **tables}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
    return triage.analyze(folder).answer


@pytest.mark.parametrize("make", [megatron, maxtext])
@pytest.mark.parametrize("tables", [smi, prometheus])
def test_gpus_that_idle_for_40_min_behind_the_last_step(
    make: Callable[[int, float], str],
    tables: Callable[[int, int], dict[str, list[str]]],
    tmp_path: Path,
) -> None:
    told = answer(tmp_path, steps(make, 400, 60, 0), tables(600, 3000))
    assert (told.verdict.kind, told.suspects) == ("hang", ()), told.verdict.summary
    assert "8 GPUs idle for 39.5 min" in told.verdict.summary


@pytest.mark.parametrize("since", [600, 900])
def test_telemetry_that_begins_behind_the_last_step(since: int, tmp_path: Path) -> None:
    told = answer(tmp_path, steps(megatron, 400, 60, 0), smi(0, 3000, since))
    assert told.verdict.kind == "hang", told.verdict.summary


def test_logs_of_nodes_go_on_beside_gpus_that_idle(tmp_path: Path) -> None:
    kernel = [
        f"2026-11-20T{at}.000000+00:00 n2 kernel: eth0: link up" for at in ("09:00:01", "09:50:29")
    ]
    tables = {**smi(600, 3000), "nodes/n2/kernel.log": kernel}
    assert answer(tmp_path, steps(megatron, 400, 60, 0), tables).verdict.kind == "hang"


STEPS = steps(megatron, 400, 60, 0)


@pytest.mark.parametrize(
    ("lines", "tables"),
    [
        pytest.param([*STEPS, f"[{clock(601)}] training completed"], smi(600, 3000), id="end"),
        pytest.param(steps(megatron, 89941, 60, 0), smi(600, 3000), id="all steps done"),
        pytest.param([*STEPS, "exit code 0"], smi(600, 3000), id="exit code 0"),
        pytest.param(STEPS, smi(600, 900), id="5 min, as for a checkpoint"),
        pytest.param(STEPS, smi(600, 3000, busy=[("n1", 2), ("n2", 0)]), id="some work on"),
        pytest.param(STEPS, smi(0, 500), id="measured before the last step"),
    ],
)
def test_gpus_that_idle_and_say_nothing(
    lines: Sequence[str], tables: Mapping[str, Sequence[str]], tmp_path: Path
) -> None:
    assert answer(tmp_path, lines, tables).verdict.kind == "healthy"


@pytest.mark.parametrize("hours", [1, 2])
def test_a_clock_of_another_zone_is_no_time_behind_the_last_step(
    hours: int, tmp_path: Path
) -> None:
    """The first step may be as late as the idle GPUs: nothing tells the zone of either."""
    idle = smi(0, LAST_S + hours * 60 * MINUTE + 20, LAST_S + hours * 60 * MINUTE - 1000)
    told = answer(tmp_path, STEPS, idle)
    assert told.verdict.kind != "hang", told.verdict.summary
