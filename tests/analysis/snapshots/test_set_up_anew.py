"""A communicator that was aborted and set up anew in the same process, under the same name."""

from pathlib import Path

import pytest

from tests.analysis.by_hand import SECOND, Record, answer, convicted, named, write


def restarted(world: int, hung: int, *, timing: bool = True, lost: int = 0) -> dict[int, Record]:
    """Rank 1 missed the end of the old group; in the new one ``hung`` never issues the last."""
    records = {}
    for rank in range(world):
        record = records[rank] = Record(world, timing=timing)
        record.steps(40)
        if rank != 1:
            record.issue("all_reduce", done=False)
        record.born += 60 * SECOND
        record.steps(10, pg_id=1)
        if rank != hung:
            record.issue("all_reduce", done=False, pg_id=1)
        record.entries = record.entries[lost:]
    return records


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize("timing", [True, False])
@pytest.mark.parametrize("hung", [0, 2, 3])
def test_who_is_missed_in_the_new_group_is_named(
    hung: int, timing: bool, form: str, tmp_path: Path
) -> None:
    said = answer(write(tmp_path, restarted(4, hung, timing=timing), form))
    assert convicted(said) == {hung}
    assert said.verdict.category == "host_stall"
    assert any("set up anew" in note for note in said.coverage.notes)


def test_a_ring_that_lost_the_old_group_on_some_ranks_is_in_the_new_one(tmp_path: Path) -> None:
    records = restarted(4, 2)
    records[0].entries = records[0].entries[41:]
    assert convicted(answer(write(tmp_path, records))) == {2}


def test_who_never_set_it_up_anew_is_who_is_missed(tmp_path: Path) -> None:
    records = restarted(4, 3)
    records[3].entries = records[3].entries[:40]
    said = answer(write(tmp_path, records))
    assert named(said)[:1] == [3]
    assert convicted(said) <= {3}


def test_a_job_that_went_on_after_it_is_well(tmp_path: Path) -> None:
    records = {}
    for rank in range(4):
        record = records[rank] = Record(4)
        record.steps(40)
        if rank != 1:
            record.issue("all_reduce", done=False)
        record.born += 60 * SECOND
        record.steps(30, pg_id=1)
    assert not named(answer(write(tmp_path, records)))
