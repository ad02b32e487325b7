"""Ranks that disagree in forms that records of coalesced blocks, two groups and shapes take."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.by_hand import Record, answer, convicted, named, write

EIGHT_SIXTEEN = [(8,), (16,), (32,)]


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize("timing", [True, False])
@pytest.mark.parametrize(
    "odd",
    [
        pytest.param([(8,), (16,)], id="one left out"),
        pytest.param([(8,), (16,), (32,), (8,)], id="one too many"),
        pytest.param([(8,), (16,), (64,)], id="another size"),
        pytest.param([(8,), (32,), (16,)], id="another order"),
    ],
)
def test_members_of_a_block_must_agree(
    odd: list[tuple[int]], timing: bool, form: str, tmp_path: Path
) -> None:
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4, timing=timing)
        for _ in range(20):
            record.block(EIGHT_SIXTEEN)
        record.block(odd if rank == 3 else EIGHT_SIXTEEN, done=False)
    said = answer(write(tmp_path, records, form))
    assert said.verdict.category == "collective_mismatch"
    assert convicted(said) == {3}


def test_what_is_not_shown_of_a_long_block_is_compared_too(tmp_path: Path) -> None:
    shapes = [(number,) for number in range(1, 40)]
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4)
        record.steps(20)
        record.block([*shapes[:-1], (77,)] if rank == 1 else shapes, done=False)
    assert convicted(answer(write(tmp_path, records))) == {1}


def test_a_block_that_all_members_issued_alike_accuses_nobody(tmp_path: Path) -> None:
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4)
        record.steps(20)
        record.block(EIGHT_SIXTEEN, done=False)
    said = answer(write(tmp_path, records))
    assert said.verdict.category == "nccl_timeout"
    assert not named(said)


@pytest.mark.parametrize(
    ("shape", "is_hint"),
    [
        pytest.param((2, 512), True, id="as many elements"),
        pytest.param((1024, 1), True, id="one more dimension"),
        pytest.param((2, 511), False, id="other elements"),
    ],
)
def test_a_library_compares_counts_and_no_shapes(
    shape: tuple[int, ...], is_hint: bool, tmp_path: Path
) -> None:
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4)
        record.steps(20)
        record.issue("all_reduce", shape if rank == 2 else (1024,), done=False)
    said = answer(write(tmp_path, records))
    assert convicted(said) == (set() if is_hint else {2})
    assert set(named(said)) == {2}
    assert said.verdict.kind != "healthy"


def test_a_hint_of_shapes_leaves_a_stalled_device_its_conviction(tmp_path: Path) -> None:
    """Rank 1's device never reached the operation; that rank 2 calls it otherwise is beside it."""
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4)
        record.steps(20)
        shape = (2, 512) if rank == 2 else (1024,)
        record.issue("all_reduce", shape, done=False, queued=rank == 1)
    assert convicted(answer(write(tmp_path, records))) == {1}


TWO_GROUPS = {"1": ("g1", range(4)), "2": ("g2", range(4))}


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("odd", range(4))
def test_one_rank_of_four_takes_two_groups_in_the_other_order(
    odd: int, both: bool, tmp_path: Path
) -> None:
    """``both``: the hosts ran ahead, so that each rank has issued both operations."""
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4, TWO_GROUPS)
        for _ in range(10):
            record.issue("all_reduce", group="1")
            record.issue("all_gather", group="2")
        order = [("all_reduce", "1"), ("all_gather", "2")]
        first, second = reversed(order) if rank == odd else order
        record.issue(first[0], group=first[1], done=False)
        if both:
            record.issue(second[0], group=second[1], done=False, queued=True)
    said = answer(write(tmp_path, records))
    assert said.verdict.category == "collective_mismatch"
    assert convicted(said) == {odd}


def test_two_against_two_are_undecided(tmp_path: Path) -> None:
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4, TWO_GROUPS)
        for _ in range(10):
            record.issue("all_reduce", group="1")
            record.issue("all_gather", group="2")
        record.issue("all_reduce", group="1" if rank < 2 else "2", done=False)
    said = answer(write(tmp_path, records))
    assert said.verdict.kind != "healthy"
    assert not convicted(said)


def job_of_idle(world: int, ahead: int) -> dict[int, Record]:
    """All ranks did 20 operations; the first ``ahead`` of them have issued the next one."""
    records = {}
    for rank in range(world):
        record = records[rank] = Record(world)
        record.steps(20)
        if rank < ahead:
            record.issue("all_reduce", done=False)
    return records


@pytest.mark.parametrize(("world", "ahead"), [(4, 1), (8, 1), (16, 1), (16, 2), (24, 1)])
def test_where_few_went_on_alone_the_many_are_not_convicted(
    world: int, ahead: int, tmp_path: Path
) -> None:
    said = answer(write(tmp_path, job_of_idle(world, ahead)))
    assert said.verdict.kind != "healthy"
    assert not convicted(said)
    assert set(named(said)[:ahead]) == set(range(ahead))


@pytest.mark.parametrize(("world", "ahead"), [(2, 1), (4, 3), (4, 2), (16, 8), (16, 15)])
def test_idle_ranks_that_are_not_the_many_are_convicted(
    world: int, ahead: int, tmp_path: Path
) -> None:
    said = answer(write(tmp_path, job_of_idle(world, ahead)))
    assert convicted(said) == set(range(ahead, world))


def as_text(value: Any) -> Any:
    """The numbers of an entry as text, as some tools write them."""
    return str(value) if type(value) is int else value


@pytest.mark.parametrize("form", ["pickle", "json"])
def test_numbers_written_as_text_are_numbers(form: str, tmp_path: Path) -> None:
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4)
        record.steps(20)
        if rank != 2:
            record.issue("all_reduce", done=False)
        record.entries = [
            {key: as_text(value) for key, value in entry.items()} for entry in record.entries
        ]
    said = answer(write(tmp_path, records, form))
    assert convicted(said) == {2}


def test_text_that_is_no_number_is_none(tmp_path: Path) -> None:
    """Nor does it take the numbers of the other ranks with it."""
    for rank in range(4):
        record = Record(4)
        record.steps(20)
        if rank != 2:
            record.issue("all_reduce", done=False)
        dump = record.dump()
        for number, text in enumerate(("", "-", "1e3", "9999999999999999999", "0x10", "٣")):
            dump["entries"][number]["time_created_ns"] = text
        (tmp_path / f"comm_lib_trace_rank_{rank}").write_bytes(pickle.dumps(dump, protocol=2))
    assert convicted(answer(tmp_path)) == {2}


@pytest.mark.parametrize("past", [1, 2])
def test_two_that_disagree_after_a_short_past_are_a_tie(past: int, tmp_path: Path) -> None:
    records = {}
    for rank in range(2):
        record = records[rank] = Record(2)
        record.issue("all_reduce", (4, 4))
        record.steps(past, "broadcast", shape=(4, 4))
        record.issue("broadcast", (5, 5) if rank else (4, 4), done=False)
    said = answer(write(tmp_path, records))
    assert said.verdict.category == "collective_mismatch"
    assert set(named(said)) == {0, 1}
    assert not convicted(said)
