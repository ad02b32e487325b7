"""Watchdogs of one group held against each other: forms of several versions, and near misses."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import triage


@dataclass(frozen=True)
class Wait:
    """What one rank's watchdog says; ``rank`` is global, ``seat`` that in the group."""

    rank: int
    number: int
    op: str = "ALLREDUCE"
    size: int = 8
    enqueued: int | None = None
    completed: int | None = None
    group: str = "PG ID 0 PG GUID 0(default_pg)"
    seat: int | None = None

    @property
    def member(self) -> int:
        return self.rank if self.seat is None else self.seat

    @property
    def work(self) -> str:
        return (
            f"WorkNCCL(SeqNum={self.number}, OpType={self.op}, NumelIn={self.size},"
            f" NumelOut={self.size}, Timeout(ms)=600000) ran for 600035 milliseconds before timing"
            " out."
        )


def of_2_1(wait: Wait) -> list[str]:
    """No prefix, no clock, no group."""
    told = f"[Rank {wait.member}] Watchdog caught collective operation timeout: {wait.work}"
    return [f"[E ProcessGroupNCCL.cpp:475] {told}"]


def of_2_3(wait: Wait) -> list[str]:
    head = f"[rank{wait.rank}]:[E ProcessGroupNCCL.cpp:"
    lines = [f"{head}563] [Rank {wait.member}] Watchdog caught collective operation timeout: "]
    lines[0] += wait.work
    if wait.enqueued is not None:
        lines.append(
            f"{head}1537] [PG 0 Rank {wait.member}] Timeout at NCCL work: {wait.number}, last"
            f" enqueued NCCL work: {wait.enqueued}, last completed NCCL work: {wait.completed}."
        )
    return lines


def of_2_6(wait: Wait) -> list[str]:
    stamp = f"[E1206 18:44:12.7152987{wait.rank:02d} ProcessGroupNCCL.cpp:"
    head = f"[rank{wait.rank}]:{stamp}"
    lines = [
        f"{head}632] [Rank {wait.member}] Watchdog caught collective operation timeout: {wait.work}"
    ]
    done = wait.number - 1 if wait.completed is None else wait.completed
    issued = wait.number if wait.enqueued is None else wait.enqueued
    lines.append(
        f"{head}2268] [{wait.group} Rank {wait.member}]  failure detected by watchdog at work"
        f" sequence id: {wait.number} PG status: last enqueued work: {issued}, last completed"
        f" work: {done}"
    )
    lines.append(
        f"{head}681] [Rank {wait.member}] Some NCCL operations have failed or timed out. Due to the"
        " asynchronous nature of CUDA kernels, subsequent GPU operations might run on"
        " corrupted/incomplete data."
    )
    return lines


def came_to(rank: int, enqueued: int, completed: int) -> str:
    return (
        f"[rank{rank}]:[E1206 18:44:13.5152987{rank:02d} ProcessGroupNCCL.cpp:1834] [PG ID 0 PG"
        f" GUID 0(default_pg) Rank {rank}] Received a dump signal due to a collective timeout from "
        f" rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work:"
        f" {enqueued}, last completed NCCL work: {completed}.This is most likely caused by"
        " incorrect usages of collectives."
    )


FORMS = {"2.1": of_2_1, "2.3": of_2_3, "2.6": of_2_6}


def answer(
    folder: Path, lines: Sequence[str], world: int | None = 4, **facts: object
) -> triage.Report:
    folder.mkdir(exist_ok=True)
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    if world is not None:
        job = {"job_id": "j", "world_size": world, "gpus_per_node": 2, **facts}
        job.setdefault("nodes", [f"gpu-{k}" for k in range(world // 2)])
        (folder / "job.json").write_text(json.dumps(job))
    return triage.analyze(folder)


def lines_of(waits: Sequence[Wait], form: str = "2.6") -> list[str]:
    return [line for wait in waits for line in FORMS[form](wait)]


def named(report: triage.Report) -> set[int]:
    return {rank for suspect in report.answer.suspects for rank in suspect.ranks}


def culprits(report: triage.Report) -> set[int]:
    return {
        rank
        for suspect in report.answer.suspects
        if suspect.role == "culprit"
        for rank in suspect.ranks
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("odd", [0, 2, 3])
@pytest.mark.parametrize(
    ("op", "size"), [("BROADCAST", 8), ("ALLREDUCE", 17), ("_ALLGATHER_BASE", 4096)]
)
def test_the_odd_one_is_named(form: str, odd: int, op: str, size: int, tmp_path: Path) -> None:
    waits = [Wait(rank, 912) for rank in range(4)]
    waits[odd] = Wait(odd, 912, op, size)
    report = answer(tmp_path, lines_of(waits, form))
    verdict = report.answer.verdict
    assert (verdict.kind, verdict.category) == ("desync", "collective_mismatch")
    assert named(report) == {odd}
    assert not verdict.cordon
    # Without a prefix, a number counts in a group that nobody names.
    assert culprits(report) == (set() if form == "2.1" else {odd})
    assert report.answer.suspects[0].node == f"gpu-{odd // 2}"
    assert report.answer.restart is not None
    assert "do not come again" not in report.answer.restart.why


def test_the_line_of_each_side_is_a_reason(tmp_path: Path) -> None:
    waits = [Wait(rank, 5, "ALLREDUCE" if rank else "REDUCE_SCATTER") for rank in range(4)]
    report = answer(tmp_path, lines_of(waits))
    own, peer = report.answer.suspects[0].because[:2]
    assert (own.line, peer.line) == (1, 4)
    assert "REDUCE_SCATTER" in own.text
    assert "ALLREDUCE" in peer.text
    (group,) = report.answer.groups
    assert (group.seq_id, group.desc, group.mismatched) == (5, "default_pg", (0,))


def test_of_two_that_disagree_nobody_is_convicted(tmp_path: Path) -> None:
    waits = [Wait(0, 7, "BROADCAST"), Wait(1, 7, "ALLREDUCE")]
    report = answer(tmp_path, lines_of(waits), world=2)
    assert report.answer.verdict.category == "collective_mismatch"
    assert not culprits(report)
    assert named(report) == {0, 1}


@pytest.mark.parametrize("form", FORMS)
def test_all_agree(form: str, tmp_path: Path) -> None:
    """The commonest log of all: everybody waits in the same operation."""
    report = answer(tmp_path, lines_of([Wait(rank, 912) for rank in range(4)], form))
    assert report.answer.verdict.category == "nccl_timeout"
    assert not named(report)


@pytest.mark.parametrize("op", ["ALLTOALL_BASE", "GATHER", "SCATTER", "ALLTOALL"])
def test_sizes_that_may_differ(op: str, tmp_path: Path) -> None:
    report = answer(tmp_path, lines_of([Wait(rank, 30, op, 100 + rank) for rank in range(4)]))
    assert report.answer.verdict.category == "nccl_timeout"


def test_groups_side_by_side_have_numbers_of_their_own(tmp_path: Path) -> None:
    """Two tensor groups and the data group of rank 0: other numbers, other operations."""
    waits = [
        Wait(0, 812, group="PG ID 1 PG GUID 3(mesh_tp)", seat=0),
        Wait(1, 812, group="PG ID 1 PG GUID 3(mesh_tp)", seat=1),
        Wait(2, 799, "_ALLGATHER_BASE", group="PG ID 1 PG GUID 4(mesh_tp)", seat=0),
        Wait(3, 799, "_ALLGATHER_BASE", group="PG ID 1 PG GUID 4(mesh_tp)", seat=1),
    ]
    assert not named(answer(tmp_path, lines_of(waits)))


def test_ranks_of_a_group_are_no_ranks_of_the_job(tmp_path: Path) -> None:
    """Rank 1 of a data group is rank 2 of the job, and the odd one is named by the prefix."""
    group = "PG ID 2 PG GUID 11(mesh_dp)"
    waits = [Wait(2 * seat, 64, group=group, seat=seat) for seat in range(4)]
    waits[1] = Wait(2, 64, "BROADCAST", group=group, seat=1)
    report = answer(tmp_path, lines_of(waits), world=8)
    assert culprits(report) == {2}
    assert report.answer.suspects[0].node == "gpu-1"


@pytest.mark.parametrize("form", ["2.1", "2.3"])
def test_lines_that_name_no_group(form: str, tmp_path: Path) -> None:
    """``[Rank 0]`` and ``[Rank 1]`` of two groups each: the numbers are not those of one group."""
    waits = [
        Wait(0, 41, seat=0),
        Wait(1, 41, seat=1),
        Wait(2, 39, "BROADCAST", seat=0),
        Wait(3, 39, "BROADCAST", seat=1),
    ]
    assert not named(answer(tmp_path, lines_of(waits, form)))


def test_group_numbers_of_each_process_alone(tmp_path: Path) -> None:
    """``PG 1`` is the second group of each process, which need not be the same one."""
    waits = [Wait(0, 5, group="PG 1", seat=0), Wait(3, 5, "BROADCAST", group="PG 1", seat=1)]
    assert not named(answer(tmp_path, lines_of(waits)))


@pytest.mark.parametrize("op", ["SEND", "RECV", "COALESCED"])
def test_sends_and_receives_count_by_pair(op: str, tmp_path: Path) -> None:
    waits = [Wait(0, 12, op), Wait(1, 12, "ALLREDUCE"), Wait(2, 19, "ALLREDUCE")]
    assert not culprits(answer(tmp_path, lines_of(waits)))


def test_one_waits_for_what_its_peers_have_finished(tmp_path: Path) -> None:
    waits = [Wait(rank, 126, "_ALLGATHER_BASE") for rank in range(4)]
    waits[2] = Wait(2, 122, "_REDUCE_SCATTER_BASE")
    report = answer(tmp_path, lines_of(waits))
    assert report.answer.verdict.category == "collective_mismatch"
    assert culprits(report) == {2}


@pytest.mark.parametrize(("number", "op"), [(125, "ALLREDUCE"), (122, "BROADCAST")])
def test_one_behind_may_be_its_device_or_its_root(number: int, op: str, tmp_path: Path) -> None:
    """One operation behind, or in one that others finish early: looked at, not convicted."""
    waits = [Wait(rank, 126, "_ALLGATHER_BASE") for rank in range(4)]
    waits[2] = Wait(2, number, op)
    report = answer(tmp_path, lines_of(waits))
    assert named(report) == {2}
    assert not culprits(report)


@pytest.mark.parametrize("late", [0, 3])
def test_a_rank_that_never_came(late: int, tmp_path: Path) -> None:
    lines = lines_of([Wait(rank, 41, enqueued=45) for rank in range(4) if rank != late])
    report = answer(tmp_path, [*lines, came_to(late, 40, 40)])
    verdict = report.answer.verdict
    assert (verdict.kind, verdict.category) == ("hang", "host_stall")
    assert culprits(report) == {late}
    assert report.answer.groups[0].missing == (late,)


def test_who_issued_it_too_came(tmp_path: Path) -> None:
    """The dump signal of a rank that waits with the others."""
    lines = lines_of([Wait(rank, 41, enqueued=45) for rank in range(3)])
    assert 3 not in culprits(answer(tmp_path, [*lines, came_to(3, 45, 40)]))


def test_a_counter_that_lags_by_one(tmp_path: Path) -> None:
    lines = lines_of([Wait(rank, 41, enqueued=45) for rank in range(3)])
    assert not named(answer(tmp_path, [*lines, came_to(3, 45, 39)]))


def test_who_waits_in_another_group_did_not_stop(tmp_path: Path) -> None:
    """Rank 3 never came to 41 of all ranks, since it waits in its tensor group."""
    lines = lines_of([Wait(rank, 41, enqueued=45) for rank in range(3)])
    lines += lines_of([Wait(3, 900, group="PG ID 3 PG GUID 9(mesh_tp)", seat=1)])
    assert 3 not in culprits(answer(tmp_path, [*lines, came_to(3, 40, 40)]))


def test_an_earlier_stop_in_the_same_log(tmp_path: Path) -> None:
    """Numbers of a stop of the day before are not held against those of today."""
    earlier = [line.replace("E1206", "E1205") for line in lines_of([Wait(3, 912, "BROADCAST")])]
    lines = [*earlier, *lines_of([Wait(rank, 912) for rank in range(3)])]
    assert 3 not in culprits(answer(tmp_path, lines))


def test_a_cause_in_a_line_stays_the_cause(tmp_path: Path) -> None:
    """Rank 2 raised; that it never came is what follows from that."""
    lines = lines_of([Wait(rank, 41, enqueued=45) for rank in (0, 1, 3)])
    error = ["Traceback (most recent call last):", '  File "train.py", line 9, in <module>']
    error += ["KeyError: 'tokens'"]
    lines = [*(f"[rank2]: {line}" for line in error), *lines, came_to(2, 40, 40)]
    report = answer(tmp_path, lines)
    assert report.answer.verdict.category == "software_user"
    assert named(report) == {2}


def test_dumps_say_more(tmp_path: Path) -> None:
    """Records that convict somebody are not outvoted by what watchdogs print."""
    from simulator import simulate

    truth = simulate("host-stall", tmp_path / "job", ranks=4, entries=400, seed=5)
    lines = lines_of([Wait(rank, 5, "ALLREDUCE" if rank else "BROADCAST") for rank in range(4)])
    (tmp_path / "job" / "job.log").write_text("\n".join(lines) + "\n")
    assert culprits(triage.analyze(tmp_path / "job")) == set(truth.culprit_ranks)


def stands(rank: int, at: int, issued: int, seat: int | None = None, prefix: bool = True) -> str:
    """What a rank's watchdog of 2.2 says of its counters, without a group."""
    head = f"[rank{rank}]:" if prefix else ""
    return (
        f"{head}[E1206 18:44:12.715298 ProcessGroupNCCL.cpp:1785] [Rank"
        f" {rank if seat is None else seat}] Timeout at NCCL work: {at}, last enqueued NCCL work:"
        f" {issued}, last completed NCCL work: {at - 1}."
    )


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize(("at", "odd_at"), [(411, 411), (412, 411)])
def test_the_one_that_issued_less_than_all_others_is_named_without_a_group(
    tmp_path: Path, at: int, odd_at: int, *, prefix: bool
) -> None:
    lines = [
        stands(rank, odd_at if rank == 6 else at, 411 if rank == 6 else 412, prefix=prefix)
        for rank in range(8)
    ]

    report = answer(tmp_path, lines, 8)

    assert named(report) == {6}
    assert culprits(report) == set()
    assert report.answer.verdict.category == "host_stall"


SILENT = {
    "two are behind, as a group of two may be": [
        stands(rank, 411, 411 if rank > 5 else 412) for rank in range(8)
    ],
    "ranks of groups of four": [
        stands(rank, 411, 411 if rank == 6 else 412, seat=rank % 4) for rank in range(8)
    ],
    "one says nothing": [stands(rank, 411, 411 if rank == 6 else 412) for rank in range(7)],
    "one waits in two groups": [
        *(stands(rank, 411, 411 if rank == 6 else 412) for rank in range(8)),
        stands(2, 37, 38),
    ],
    "all alike": [stands(rank, 411, 412) for rank in range(8)],
    "one is ahead": [stands(rank, 411, 413 if rank == 6 else 412) for rank in range(8)],
}


@pytest.mark.parametrize("lines", SILENT.values(), ids=SILENT)
def test_counters_of_groups_that_nobody_names_accuse_nobody(
    tmp_path: Path, lines: list[str]
) -> None:
    assert named(answer(tmp_path, lines, 8)) == set()
