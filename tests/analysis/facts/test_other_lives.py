"""What was before the job began, or before its node or driver was started again, is no cause."""

import json
from pathlib import Path

import pytest

import triage
from tests.analysis.facts.job_logs import (
    EVERY_S,
    JOB,
    answer,
    clock,
    culprits,
    megatron,
    steps,
    transformers,
    watchdogs,
)
from triage.formats.gather import gather

XID = (
    "{}.000000+00:00 n2 kernel: NVRM: Xid (PCI:0000:1b:00): 94, pid='<unknown>', name=<unknown>,"
    " Contained: SM (0x1). RST: No, D-RST: No"
)
LOADED = (
    "{}.000000+00:00 n2 kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06"
    "  Release Build"
)
BOOTED = (
    "{}.000000+00:00 n2 kernel: Linux version 6.5.0-1024-x (build@h) (gcc 12.3.0) #24 SMP Thu Jan"
    "  1 00:00:00 UTC 2026"
)
RESETS = {"driver": LOADED, "boot": BOOTED}


def at(second: float) -> str:
    return clock(second, "%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize("reset", [None, *RESETS])
def test_before_it_was_started(reset: str | None, tmp_path: Path) -> None:
    lines = [*steps(megatron, 400, 30, 600), *watchdogs(1500)]
    kernel = [XID.format(at(100)), *([RESETS[reset].format(at(200))] if reset else [])]
    told = answer(tmp_path, lines, {"n2": kernel}, started_at=at(400) + "Z", exit_code=1)
    assert culprits(told) == [], told.verdict.summary
    assert told.verdict.cordon == ()
    assert str(told.verdict.category) == "nccl_timeout"


def test_while_it_ran(tmp_path: Path) -> None:
    lines = [*steps(megatron, 400, 30, 600), *watchdogs(1500)]
    kernel = [XID.format(at(895))]
    told = answer(tmp_path, lines, {"n2": kernel}, started_at=at(400) + "Z", exit_code=1)
    assert told.suspects[0].node == "n2"
    assert str(told.suspects[0].role) == "culprit"


def test_the_clock_of_the_scheduler_is_of_another_zone(tmp_path: Path) -> None:
    lines = [*steps(megatron, 400, 30, 600), *watchdogs(1500)]
    kernel = [XID.format(at(895))]
    told = answer(tmp_path, lines, {"n2": kernel}, started_at=at(400 + 9 * 3600) + "Z")
    assert told.suspects[0].node == "n2"


@pytest.mark.parametrize("failed_at", [500, 860, None])
@pytest.mark.parametrize("zone", ["Z", ""])
def test_behind_the_end_that_the_scheduler_tells(
    failed_at: float | None, zone: str, tmp_path: Path
) -> None:
    """An error of hours after the job failed is none of it, where that is known to the hour."""
    error = ["Traceback (most recent call last):", "[rank2]: ValueError: bad"]
    facts = {} if failed_at is None else {"failed_at": at(failed_at) + zone}
    kernel = [XID.format(at(860 + 3 * 3600))]
    told = answer(tmp_path, error, {"n2": kernel}, exit_code=1, **facts)
    is_behind = failed_at is not None and zone == "Z"
    assert told.suspects[0].node == ("n1" if is_behind else "n2")
    assert told.verdict.cordon == (() if is_behind else ("n2",))


@pytest.mark.parametrize(("late_s", "is_cordoned"), [(600, True), (3 * 86_400, False)])
def test_nothing_but_an_error_behind_the_end(
    late_s: float, is_cordoned: bool, tmp_path: Path
) -> None:
    kernel = [XID.format(at(860 + late_s))]
    told = answer(tmp_path, [], {"n2": kernel}, exit_code=1, failed_at=at(860) + "Z")
    assert bool(told.verdict.cordon) is is_cordoned
    assert told.verdict.at is None or (told.verdict.at.isoformat() < at(90_000))


@pytest.mark.parametrize("zone_h", [0, 2, -7, 5.5])
@pytest.mark.parametrize("late_s", [-3000, -600, -120, -20, 3])
def test_a_traceback_without_a_time_is_behind_the_last_step(
    late_s: float, zone_h: float, tmp_path: Path
) -> None:
    """An error that the job outlived is not the one that it tells without a time; the job's log
    prints no zone, the kernel's does.
    """
    error = ["Traceback (most recent call last):", "[rank2]: ValueError: bad"]
    lines = steps(megatron, 400, 30, 600 + zone_h * 3600)
    kernel = [XID.format(at(600 + 29 * EVERY_S + late_s))]
    told = answer(tmp_path, [*lines, *error], {"n2": kernel}, exit_code=1)
    if late_s < -60 and zone_h == 0:
        assert (culprits(told), told.verdict.cordon) == (["n1"], ())
    if late_s > -60:
        assert (culprits(told), told.verdict.cordon) == (["n2"], ("n2",))


@pytest.mark.parametrize(("ago_h", "named"), [(0.1, "n2"), (6, "n1"), (20, "n1"), (30, "n1")])
def test_nothing_of_the_job_has_a_time(ago_h: float, named: str, tmp_path: Path) -> None:
    """What a process raised of its own is of the end of the logs; no part failed hours before."""
    lines = [*steps(transformers, 400, 30, 600), "[rank2]: ValueError: bad"]
    later = XID.replace("94", "45").format(at(86_400))
    kernel = [XID.format(at(86_400 - ago_h * 3600)), later]
    told = answer(tmp_path, lines, {"n2": kernel}, exit_code=1)
    assert told.suspects[0].node == named
    assert told.verdict.cordon == (("n2",) if named == "n2" else ())


@pytest.mark.parametrize("exit_code", [0, None])
def test_an_error_behind_a_job_that_ended_well(exit_code: int | None, tmp_path: Path) -> None:
    kernel = [XID.format(at(5000))]
    told = answer(tmp_path, steps(megatron, 400, 30, 600), {"n2": kernel}, exit_code=exit_code)
    assert str(told.verdict.kind) == ("crash" if exit_code is None else "healthy")
    assert told.verdict.cordon == (("n2",) if exit_code is None else ())


@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("before", [True, False])
def test_started_again_while_the_job_lived(before: bool, reset: str, tmp_path: Path) -> None:
    """A node that comes up again behind the stop fell out of it; before the job moved, it did not.

    The wait began at 900 s."""
    lines = [*steps(megatron, 400, 30, 600), *watchdogs(1500)]
    fault, start = (-2000, -900) if before else (895, 1030)
    kernel = [XID.format(at(fault)), RESETS[reset].format(at(start))]
    told = answer(tmp_path, lines, {"n2": kernel}, exit_code=1)
    assert (culprits(told) == ["n2"]) == (not before), told.verdict.summary


def test_a_driver_says_nothing_of_the_board_below_it(tmp_path: Path) -> None:
    power = (
        "{}.000000+00:00 n2 kernel: mce: [Hardware Error]: CPU 12: Machine Check Exception: 5"
        " Bank 6: be00000000800400"
    )
    lines = [*steps(megatron, 400, 3, 600), *watchdogs(1230)]
    kernel = [power.format(at(625)), LOADED.format(at(640))]
    told = answer(tmp_path, lines, {"n2": kernel}, exit_code=1)
    assert told.suspects[0].node == "n2"


def test_a_machine_alone_is_asked_what_ails_it(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n2").mkdir(parents=True)
    text = [XID.format(at(100)).replace("94", "79"), BOOTED.format(at(900))]
    (tmp_path / "nodes" / "n2" / "kernel.log").write_text("\n".join(text) + "\n")
    (tmp_path / "job.json").write_text(json.dumps(JOB))
    told = triage.analyze(tmp_path).answer
    assert [one.node for one in told.suspects] == ["n2"]


def test_an_appended_log_and_its_newest_start(tmp_path: Path) -> None:
    """Nothing in the log says that the job was started again: job.json does."""
    lines = [
        f"{at(50)}Z [rank5]: KeyError: 'labels'",
        f"{at(600)}Z INFO iteration 410/90000 | loss 2.1 | step time 10.0 s",
        *(f"{at(1250)}Z {line}" for line in watchdogs(1250)),
    ]
    told = answer(tmp_path, lines, started_at=at(400) + "Z", exit_code=1)
    assert str(told.verdict.category) == "nccl_timeout", told.verdict.summary


@pytest.mark.parametrize(("second", "kind"), [(3, "noise"), (4000, "root")])
@pytest.mark.parametrize("event", ["Power fault", "Link Down", "Card not present"])
def test_an_empty_slot_has_no_power_while_its_node_boots(
    event: str, second: int, kind: str, tmp_path: Path
) -> None:
    lines = [
        "[    0.000000] Linux version 6.5.0-1024-x (build@h) (gcc 12.3.0) #24 SMP",
        f"[{second:5d}.412311] pcieport 0000:5c:01.0: pciehp: Slot(12): {event}",
    ]
    (tmp_path / "dmesg.log").write_text("\n".join(lines) + "\n")
    _, _, logs, _, _ = gather([tmp_path], None)
    (row,) = (row for row in logs.evidence if row.signature == "pcie.hot_plug")
    assert str(row.role) == kind


FAULT = (
    "{}.000000+00:00 n2 kernel: NVRM: Xid (PCI:0000:1b:00): 13, pid='<unknown>', name=<unknown>,"
    " Graphics SM Warp Exception on (GPC {}, TPC 1, SM 0): Illegal Instruction Parameter"
)
DAY_S = 86_400


@pytest.mark.parametrize(
    ("days", "places", "category"),
    [
        ((-3, -2, -1), (3, 3, 3), "gpu"),
        ((-2, -1), (3, 3), "gpu"),
        ((-3, -2, -1), (0, 5, 6), "software_user"),
        ((-0.02, -0.01), (3, 3), "software_user"),
        ((), (), "software_user"),
    ],
)
def test_the_habit_of_one_place_of_a_chip(
    days: tuple[float, ...], places: tuple[int, ...], category: str, tmp_path: Path
) -> None:
    """What the job outlived is the history of the GPU where it is of the same place, on other days;
    within the hour a program may start again and fail as before.
    """
    lines = [*steps(megatron, 400, 30, 600), *watchdogs(1500)]
    earlier = [
        FAULT.format(at(895 + DAY_S * day), place) for day, place in zip(days, places, strict=True)
    ]
    kernel = [*earlier, FAULT.format(at(895), 3), FAULT.format(at(896), 3)]
    told = answer(tmp_path, lines, {"n2": kernel}, exit_code=1)
    assert (told.suspects[0].node, str(told.suspects[0].category)) == ("n2", category)


def test_a_habit_that_was_not_shown_again(tmp_path: Path) -> None:
    lines = [*steps(megatron, 400, 30, 600), *watchdogs(1500)]
    kernel = [FAULT.format(at(895 - DAY_S * day), 3) for day in (4, 3, 2, 1)]
    told = answer(tmp_path, lines, {"n2": kernel}, exit_code=1)
    assert culprits(told) == []
    assert told.verdict.cordon == ()
