"""Groups that ranks call by other names: a name counts what one process has made."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.analysis.by_hand import SECOND, Record, answer, convicted, named, write

WORLD = 4
LATE = 2


def tensor_parallel(
    names: Mapping[int, Sequence[str]], twin: str | None = None
) -> dict[int, Record]:
    """Pairs of ranks with groups of these names; rank 2 never issues its last all-gather. ``twin``
    is the kind of a second group of each pair.
    """
    records = {}
    for rank in range(WORLD):
        pair = [0, 1] if rank < 2 else [2, 3]
        name, other = names.get(rank, ("1", "3") if rank < 2 else ("2", "4"))
        groups: dict[str, tuple[str, Sequence[int]]] = {name: ("mesh_tp", pair)}
        if twin is not None:
            groups[other] = (twin, pair)
        record = records[rank] = Record(WORLD, groups=groups)
        for _ in range(20):
            record.issue("all_reduce")
            record.issue("all_gather", group=name)
            if twin is not None:
                record.issue("reduce_scatter", group=other)
        if rank != LATE:
            record.issue("all_gather", group=name, done=rank != 3)
        if rank < 2:
            record.issue("all_reduce", done=False)
    return records


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize("name", ["default_pg", "7"])
@pytest.mark.parametrize("ranks", [(1,), (LATE,), (1, 3), (0, 1, 3)])
def test_the_default_group_under_another_name(
    ranks: Sequence[int], name: str, form: str, tmp_path: Path
) -> None:
    records = {}
    for rank in range(WORLD):
        record = records[rank] = Record(WORLD)
        record.steps(20)
        if rank != LATE:
            record.issue("all_reduce", done=False)
        if rank in ranks:
            record.groups = {name: record.groups["0"]}
            for entry in record.entries:
                entry["process_group"] = (name, "default_pg")
    assert convicted(answer(write(tmp_path, records, form))) == {LATE}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({3: ("9", "")}, id="one rank"),
        pytest.param({LATE: ("9", "")}, id="the late one"),
        pytest.param({3: ("1", "")}, id="by the name of another pair"),
        pytest.param({0: ("8f2c", ""), 3: ("77ab", "")}, id="hashes"),
    ],
)
def test_groups_of_the_same_kind_and_ranks(
    names: Mapping[int, Sequence[str]], tmp_path: Path
) -> None:
    assert convicted(answer(write(tmp_path, tensor_parallel(names)))) == {LATE}


@pytest.mark.parametrize("twin", ["mesh_tp", "mesh_cp"])
def test_two_groups_of_the_same_ranks_stay_two(twin: str, tmp_path: Path) -> None:
    """In each count the last of the other would be one that some ranks never issued."""
    records = tensor_parallel({}, twin)
    assert convicted(answer(write(tmp_path / "hung", records))) == {LATE}
    for record in records.values():
        for entry in record.entries:
            entry.update(state="completed", retired=True)
            entry["time_discovered_completed_ns"] = entry["time_created_ns"] + 5_000_000
    records[LATE].issue("all_gather", group="2")
    for rank in (LATE, 3):
        records[rank].issue("all_reduce")
    assert not named(answer(write(tmp_path / "well", records)))


def test_a_group_of_another_time_is_another_group(tmp_path: Path) -> None:
    """Ranks set their group up anew, and their rings have lost the old one: rank 3 stayed in it."""
    records = {}
    for rank in range(WORLD):
        record = records[rank] = Record(WORLD)
        if rank == 3:
            record.steps(40)
            record.issue("all_reduce", done=False)
            continue
        record.born += 60 * SECOND
        record.groups = {"5": record.groups["0"]}
        record.steps(10, group="5")
        record.issue("all_reduce", done=False, group="5")
    assert convicted(answer(write(tmp_path, records))) <= {3}
