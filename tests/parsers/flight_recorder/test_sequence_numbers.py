"""Dumps that tools wrote anew: numbers as doubles, sizes as text, numbers that are gone."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import triage
from tests.analysis.by_hand import Record
from tests.parsers.flight_recorder.dumps import DECODER, decode
from triage.domain.rank_digest import S_LAST
from triage.domain.report import Answer

WORLD = 8
LATE = 5
Dump = dict[str, Any]
Edit = Callable[[int, dict[str, Any], int], None]


def dump_of(last: int, *, waits: bool) -> Dump:
    record = Record(WORLD)
    for number in range(1, last + 1):
        record.issue("all_reduce", done=number < last or not waits)
    everybody = json.dumps([*range(WORLD)])
    return {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": everybody}},
        "entries": record.entries,
    }


def job(edit: Edit, ranks: range = range(2, 3)) -> list[Dump]:
    """A job that waits for one rank; ``edit`` changes the entries of ``ranks``."""
    dumps = [dump_of(29 if rank == LATE else 30, waits=rank != LATE) for rank in range(WORLD)]
    for rank in ranks:
        for place, entry in enumerate(dumps[rank]["entries"]):
            edit(place, entry, len(dumps[rank]["entries"]))
    return copy.deepcopy(dumps)


def answer(folder: Path, dumps: list[Dump], *, in_json: bool = True) -> Answer:
    for rank, dump in enumerate(dumps):
        data = json.dumps(dump).encode() if in_json else pickle.dumps(dump, protocol=2)
        (folder / f"rank_{rank}{'.json' * in_json}").write_bytes(data)
    return triage.analyze(folder).answer


def as_doubles(_place: int, entry: dict[str, Any], _count: int) -> None:
    for name in ("record_id", "pg_id", "collective_seq_id", "op_id", "time_created_ns"):
        entry[name] = float(entry[name])


def sizes_as_text(_place: int, entry: dict[str, Any], _count: int) -> None:
    for name in ("input_sizes", "output_sizes"):
        entry[name] = json.dumps(entry[name])


def sizes_of_torch(_place: int, entry: dict[str, Any], _count: int) -> None:
    entry["input_sizes"] = entry["output_sizes"] = "[torch.Size([1024])]"


def without_last(_place: int, entry: dict[str, Any], count: int) -> None:
    if entry["record_id"] >= count - 1:
        entry.pop("collective_seq_id")


def without_some(place: int, entry: dict[str, Any], count: int) -> None:
    if place in (0, 1, 10, 11) or place >= count - 3:
        entry["collective_seq_id"] = None


def with_half(place: int, entry: dict[str, Any], count: int) -> None:
    if place >= count - 2:
        entry["collective_seq_id"] += 0.5


EDITS = (as_doubles, sizes_as_text, sizes_of_torch, without_last, without_some, with_half)


@pytest.mark.parametrize("in_json", [True, False])
@pytest.mark.parametrize("ranks", [range(2, 3), range(WORLD)], ids=["one rank", "all"])
@pytest.mark.parametrize("edit", EDITS)
def test_the_rank_that_is_late_is_named_and_no_other(
    edit: Edit, ranks: range, in_json: bool, tmp_path: Path
) -> None:
    told = answer(tmp_path, job(edit, ranks), in_json=in_json)
    assert [one.ranks for one in told.suspects] == [(LATE,)], told.verdict.summary
    assert told.verdict.category == "host_stall"
    assert not told.coverage.partial


def test_numbers_that_nothing_tells_leave_a_record_that_ends_there(tmp_path: Path) -> None:
    def lose(place: int, entry: dict[str, Any], count: int) -> None:
        if place >= count - 3:
            entry.pop("collective_seq_id")
        entry["record_id"] += 100 * (place > 4)

    told = answer(tmp_path, job(lose))
    assert [one.ranks for one in told.suspects] == [(LATE,)], told.verdict.summary
    assert [one.artifact for one in told.coverage.partial] == ["rank_2.json"]


def last_number(dump: Dump) -> int:
    return int(decode(json.dumps(dump).encode()).streams.values[0, S_LAST])


def test_what_is_told_of_the_numbers_that_are_gone() -> None:
    dump = dump_of(30, waits=True)
    without_some_entries = [
        {**one, "collective_seq_id": None if k in (3, 29) else one["collective_seq_id"]}
        for k, one in enumerate(dump["entries"])
    ]
    digest = DECODER.decode(
        json.dumps({**dump, "entries": without_some_entries}).encode(), "dump", 0
    )
    assert last_number({**dump, "entries": without_some_entries}) == 30
    assert digest.notes == ("2 entries lack a sequence number that the entries beside them tell",)
    assert digest.partial is None


def test_blocks_whose_members_share_a_number_tell_none_at_their_end() -> None:
    record = Record(WORLD)
    for _ in range(6):
        record.block([(16,), (32,)])
    for entry in record.entries[-3:]:
        entry.pop("collective_seq_id")
    dump = {**dump_of(1, waits=False), "entries": record.entries}
    digest = decode(json.dumps(dump).encode())
    assert last_number(dump) == 5
    assert digest.partial is not None
