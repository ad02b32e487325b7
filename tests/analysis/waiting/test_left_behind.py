"""Ranks that several finished operations separate from their peers are stuck, however fresh the
dumps; a job that runs looks alike for a moment, and is told from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.standing import (
    RankStand,
    Standing,
    read_standing,
    write_json,
    write_standing,
)
from triage import analyze

GUILTY: Mapping[str, tuple[int, ...]] = {
    "gpu-error-1": (12, 14),
    "gpu-error-2": (9, 14),
    "held-lock-1": (9, 14),
    "held-lock-2": (10, 15),
}
GPU_ERRORS = ("gpu-error-1", "gpu-error-2")


def culprits(folder: Path) -> list[int]:
    report = analyze(folder).to_dict()
    assert report["verdict"]["kind"] == "hang"
    named = [one for one in report["suspects"] if one["role"] == "culprit"]
    return sorted(rank for one in named for rank in one["ranks"])


def mirrored(standing: Standing) -> Standing:
    """The same job with its ranks counted from the other end."""
    top = max(standing.ranks)

    def of_group(kind: str, ranks: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        # The order within a group stays: it is what send/recv count by.
        return kind, tuple(top - rank for rank in ranks)

    return Standing(
        {name: of_group(*group) for name, group in standing.groups.items()},
        {top - rank: stand for rank, stand in standing.ranks.items()},
    )


@pytest.mark.parametrize("name", GUILTY)
@pytest.mark.parametrize("write", [write_standing, write_json])
def test_a_stop_of_real_gpus_names_its_ranks(
    tmp_path: Path, name: str, write: Callable[[Standing, Path], Path]
) -> None:
    assert culprits(write(read_standing(name), tmp_path)) == sorted(GUILTY[name])


@pytest.mark.parametrize("name", GUILTY)
def test_other_ranks_are_named_where_they_stand_so(tmp_path: Path, name: str) -> None:
    folder = write_standing(mirrored(read_standing(name)), tmp_path)
    assert culprits(folder) == sorted(15 - rank for rank in GUILTY[name])


@pytest.mark.parametrize("name", GPU_ERRORS)
def test_finished_operations_beside_them_change_nothing(tmp_path: Path, name: str) -> None:
    """A whole ring: what each group finished last is there too, and retired."""

    def whole(_: int, dump: dict[str, Any]) -> None:
        first: dict[int, dict[str, Any]] = {}
        for entry in dump["entries"]:
            if not entry["is_p2p"]:
                first.setdefault(entry["pg_id"], entry)
        done = []
        for entry in first.values():
            created = entry["time_created_ns"] - 900_000_000
            done.append(
                entry
                | {
                    "collective_seq_id": entry["collective_seq_id"] - 1,
                    "op_id": entry["op_id"] - 1,
                    "time_created_ns": created,
                    "time_discovered_completed_ns": created + 5_000_000,
                    "state": "completed",
                    "retired": True,
                }
            )
        dump["entries"] = done + dump["entries"]
        for number, entry in enumerate(dump["entries"]):
            entry["record_id"] = 500 + number

    folder = write_standing(read_standing(name), tmp_path, whole)
    assert culprits(folder) == sorted(GUILTY[name])


@pytest.mark.parametrize("name", GPU_ERRORS)
def test_without_counters_the_entries_say_it(tmp_path: Path, name: str) -> None:
    def uncounted(_: int, dump: dict[str, Any]) -> None:
        dump["pg_status"] = {}

    assert culprits(write_standing(read_standing(name), tmp_path, uncounted)) == sorted(
        GUILTY[name]
    )


def lagging(by: int) -> Callable[[int, RankStand], RankStand]:
    """Counters that the watchdogs have not moved on yet, as in a job that runs."""

    def behind(_: int, stand: RankStand) -> RankStand:
        counts = {
            key: (enqueued, max(completed - by, 1) if enqueued > completed else completed)
            for key, (enqueued, completed) in stand.counts.items()
        }
        return replace(stand, counts=counts)

    return behind


@pytest.mark.parametrize("name", GPU_ERRORS)
def test_what_was_not_counted_yet_had_just_ended(tmp_path: Path, name: str) -> None:
    folder = write_standing(read_standing(name).changed(lagging(4)), tmp_path)
    report = analyze(folder).to_dict()
    assert report["suspects"] == []
    assert report["verdict"]["kind"] in ("healthy", "inconclusive")


def test_ranks_one_behind_the_other_were_dumped_in_turn(tmp_path: Path) -> None:
    """All members of a group issued the same, and each finished some more than the one before."""
    standing = read_standing("gpu-error-1")
    ranks = {}
    for rank, stand in standing.ranks.items():
        its = [one for one in standing.ranks[0].open if one.group == "35"]
        kept = tuple(replace(one, group="0", pg_id=0) for one in its[rank % 5 :])
        seqs = [one.seq for one in its]
        ranks[rank] = RankStand(("0",), {"0": (seqs[-1], kept[0].seq - 1)}, kept)
        assert stand.groups[0] == "0"
    folder = write_standing(Standing({"0": standing.groups["0"]}, ranks), tmp_path)
    report = analyze(folder).to_dict()
    assert report["suspects"] == []
    assert report["verdict"]["kind"] in ("healthy", "inconclusive")
