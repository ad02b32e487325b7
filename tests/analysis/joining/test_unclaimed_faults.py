"""MMU faults without a client: one GPU alone may be broken, several together are a program's."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import triage

BUSES = ("1a", "3b", "5d", "9a", "bd", "df")


def fault(clock: str, bus: str, client: str = "GPC2 UNRECOGNIZED_CLIENT") -> str:
    return (
        f"2026-03-04T{clock}.500000+00:00 gpu-7 kernel: NVRM: Xid (PCI:0000:{bus}:00): 31,"
        f" pid=88{BUSES.index(bus)}, name=python3, channel 0x00000002, intr 00000000. MMU Fault:"
        f" ENGINE GRAPHICS {client} faulted @ 0x7f_00301980. Fault is of type"
        " UNRECOGNIZED_FAULT UNRECOGNIZED_ACCESS_TYPE"
    )


def answer(folder: Path, kernel: Sequence[str], job: Sequence[str] = ()) -> triage.Report:
    node = folder / "nodes" / "gpu-7"
    node.mkdir(parents=True)
    (node / "kernel.log").write_text("\n".join(kernel) + "\n")
    if job:
        (node / "job.log").write_text("\n".join(job) + "\n")
    facts = {"job_id": "5", "world_size": 8, "gpus_per_node": 8, "nodes": ["gpu-7"]}
    (folder / "job.json").write_text(json.dumps(facts))
    return triage.analyze(folder)


SOFTWARE = ("software_framework", "software_user")


@pytest.mark.parametrize("num", [2, 6])
def test_gpus_that_fault_together(num: int, tmp_path: Path) -> None:
    report = answer(tmp_path, [fault(f"08:11:{k:02d}", bus) for k, bus in enumerate(BUSES[:num])])
    assert report.verdict.category in SOFTWARE
    assert not report.verdict.cordon


def test_behind_a_program_out_of_its_bounds(tmp_path: Path) -> None:
    strayed = (
        "2026-03-04T08:10:20.500000+00:00 gpu-7 kernel: NVRM: Xid (PCI:0000:1a:00): 13, pid=880,"
        " name=python3, Graphics SM Warp Exception on (GPC 1, TPC 0, SM 1): Out Of Range Address"
    )
    report = answer(tmp_path, [strayed, fault("08:11:00", "3b")])
    assert report.verdict.category in SOFTWARE
    assert not report.verdict.cordon


def test_behind_illegal_accesses_of_several_ranks(tmp_path: Path) -> None:
    job = [
        f"[rank{rank}]: RuntimeError: CUDA error: an illegal memory access was encountered"
        for rank in range(3)
    ]
    report = answer(tmp_path, [fault("08:11:00", "3b")], job)
    assert report.verdict.category in SOFTWARE
    assert not report.verdict.cordon


@pytest.mark.parametrize("times", [1, 3])
def test_one_gpu_alone_is_below_a_cordon(times: int, tmp_path: Path) -> None:
    report = answer(tmp_path, [fault(f"08:11:{k:02d}", "5d") for k in range(times)])
    assert report.verdict.category == "gpu"
    assert report.answer.suspects[0].gpus == ("0000:5d:00",)
    assert not report.verdict.cordon


def test_two_days_are_not_one_moment(tmp_path: Path) -> None:
    """Two GPUs of which one faulted hours before are not together."""
    report = answer(tmp_path, [fault("02:00:00", "1a"), fault("08:11:00", "5d")])
    assert report.verdict.category == "gpu"
    assert not report.verdict.cordon


def test_a_second_source_makes_it_sure(tmp_path: Path) -> None:
    broken = (
        "2026-03-04T08:11:02.500000+00:00 gpu-7 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=882,"
        " name=python3, GPU has fallen off the bus."
    )
    report = answer(tmp_path, [fault("08:11:00", "5d"), broken])
    assert report.verdict.category in ("gpu", "io_board")
    assert report.verdict.cordon == ("gpu-7",)


def test_a_fault_with_a_client_stays_a_programs(tmp_path: Path) -> None:
    report = answer(tmp_path, [fault("08:11:00", "5d", "GPC1 GPCCLIENT_T1_3")])
    assert report.verdict.category in SOFTWARE
