"""Logs of several programs, each of which counts its ranks from 0: a number names nobody."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.job_folders import (
    DAY,
    KERNELS,
    at,
    ended_by,
    facts,
    init_lines,
    node_of,
    said,
    steps,
    traceback,
    watchdogs,
)

ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"


def trainer(rank: int, line: str) -> str:
    """How Ray prints what the trainer says; its hosts are 10.7.0.1 to 10.7.0.4."""
    return f"(WorkerDict pid={7000 + rank}, ip=10.7.0.{1 + rank // 4}) {line}"


def addresses() -> list[str]:
    """Lines that tell which address is which host's."""
    return [
        trainer(rank, f"{node_of(rank)}:{7000 + rank}:{8000 + rank} [{rank % 4}] NCCL INFO"
                      f" Bootstrap : Using eth0:10.7.0.{1 + rank // 4}<0>")
        for rank in range(16)
    ]  # fmt: skip


def training() -> list[str]:
    lines = [trainer(rank, line) for rank, line in enumerate(init_lines())]
    return [*lines, *(trainer(0, line) for line in steps())]


# The prefix before each line of the engine that fails.
ENGINES = (
    "(vLLMRolloutServer pid=991, ip=10.7.9.9) [rank{rank}]: ",
    "(SGLangEngine pid=991, ip=10.7.9.9) [rank{rank}]: ",
    "(RolloutActor[rank={rank}] pid=991, ip=10.7.9.9) ",
    "(Worker_TP3 pid=991) [rank{rank}]: ",
    "(VllmWorker TP3 pid=991) [rank{rank}]: ",
    "(EngineCore_DP0 pid=991) [rank{rank}]: ",
    f"[{DAY} {at(0.5)[:8]} DP1 TP9 EP9] [rank{{rank}}]: ",
)


def acted_on(wire: Any) -> set[str]:
    restart = wire["restart"] or {}
    return {*wire["verdict"]["cordon"], *restart.get("exclude", ())}


@pytest.mark.parametrize("prefix", ENGINES)
@pytest.mark.parametrize("rank", [3, 9])
@pytest.mark.parametrize("where", ["driver.log", "nodes/cn01/driver.log"])
def test_an_engine_in_the_trainers_log_accuses_no_trainer(
    tmp_path: Path, prefix: str, rank: int, where: str
) -> None:
    lines = [*training(), prefix.format(rank=rank) + ECC]

    wire = said(tmp_path, {**KERNELS, where: lines}, facts())

    assert ended_by(wire) == []
    assert not acted_on(wire)
    assert (wire["restart"] or {}).get("decision") != "restart_without"
    assert wire["verdict"]["kind"] == "crash"
    assert any("number names no node" in note for note in wire["coverage"]["notes"])


@pytest.mark.parametrize("prefix", ENGINES[:3])
def test_the_address_on_the_line_is_the_place_where_it_is_known(
    tmp_path: Path, prefix: str
) -> None:
    line = prefix.format(rank=3).replace("10.7.9.9", "10.7.0.3") + ECC

    wire = said(tmp_path, {**KERNELS, "driver.log": [*addresses(), *training(), line]}, facts())

    assert ended_by(wire)[0][0] == "cn03"
    assert acted_on(wire) <= {"cn03"}


def test_a_trainer_is_still_convicted_where_its_address_agrees(tmp_path: Path) -> None:
    lines = [*addresses(), *training(), trainer(9, f"[rank9]: {ECC}"),
             "(vLLMRolloutServer pid=991, ip=10.7.9.9) [rank1]: NCCL WARN nothing"]  # fmt: skip

    wire = said(tmp_path, {**KERNELS, "driver.log": lines}, facts())

    assert ended_by(wire)[0][:2] == ("cn03", [9])
    assert acted_on(wire) == {"cn03"}


def plain(line: str) -> str:
    return line


def of_one_class(line: str) -> str:
    return f"(RayTrainWorker pid=7006) {line}"


def of_pods(line: str) -> str:
    return f"llm-worker-6 | {line}"


@pytest.mark.parametrize("form", [plain, of_one_class, of_pods])
def test_one_program_with_numbers_of_its_own_is_convicted(
    tmp_path: Path, form: Callable[[str], str]
) -> None:
    lines = [*init_lines(), *steps(), *map(form, traceback(6, ECC)[1:])]

    wire = said(tmp_path, {**KERNELS, "driver.log": lines}, facts())

    assert ended_by(wire)[0][:2] == ("cn02", [6])
    assert acted_on(wire) == {"cn02"}


def test_pods_that_give_themselves_one_number_are_of_two_programs(tmp_path: Path) -> None:
    lines = [*init_lines(), *steps()]
    lines += [f"trainer-{rank // 4} | {line}" for rank, line in enumerate(watchdogs(range(16)))]
    lines += [f"rollout-0 | [rank6]: {ECC}"]

    wire = said(tmp_path, {**KERNELS, "driver.log": lines}, facts())

    assert not acted_on(wire)
    assert ended_by(wire) == []


def test_a_serving_log_in_its_nodes_folder_is_that_nodes(tmp_path: Path) -> None:
    lines = [f"(Worker_TP1 pid=7009) ERROR {DAY} {at(0.5)[:8]} [rank9]: {ECC}"]

    wire = said(tmp_path, {**KERNELS, "nodes/cn03/engine.log": lines}, facts())

    assert {one["node"] for one in wire["suspects"]} <= {"cn03"}


@pytest.mark.parametrize(
    ("known", "ended"), [([], [("cn03", [9])]), (addresses(), [])], ids=["no", "others"]
)
def test_an_address_speaks_against_a_number_only_where_addresses_are_known(
    tmp_path: Path, known: list[str], ended: list[tuple[str, list[int]]]
) -> None:
    line = f"(RayTrainWorker pid=991, ip=10.7.9.9) [rank9]: {ECC}"
    known = [one.replace("WorkerDict", "RayTrainWorker") for one in known]
    lines = [*known, *init_lines(), *steps(), line]

    wire = said(tmp_path, {**KERNELS, "driver.log": lines}, facts())

    assert [one[:2] for one in ended_by(wire)] == ended
