"""Each kind of fault leaves the state that its physics says, at 16 and 64 ranks."""

from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from simulator import KINDS, NAMES
from tests.simulator.dumps import (
    collectives,
    idle,
    is_collective,
    job,
    last_enqueued,
    running,
    signature,
    unfinished,
)

SIZES = (16, 64)
SLOW = {"straggler", "slow-gpu", "slow-link", "slow-stage", "slow-since", "input-bound"}
HEALTHY = {"healthy", "healthy-live", *SLOW}
STALLS = {"host-stall", "two-culprits", "mixed-jobs", "early-stall", "setup-hang", "stale-dump"}
DISAGREE = {"mismatch-op", "mismatch-size", "mismatch-dtype", "mismatch-pair", "swapped-order"}
WAYS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "timing": {"timing": True, "seed": 1},
    "no run-ahead": {"run_ahead": False, "timing": True, "seed": 2},
    "plain p2p": {"batched_p2p": False, "seed": 3},
    "experts": {"ep": 2, "seed": 4},
}


def test_every_name_has_a_kind() -> None:
    assert tuple(KINDS) == NAMES
    assert all(kind.about for kind in KINDS.values())


@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("kind", NAMES)
def test_what_ended_was_entered_by_all_members(kind: str, ranks: int, tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, kind, ranks=ranks, entries=80)

    assert len(dumps) == ranks - len(truth.missing)
    for (name, members, seq_id), entries in collectives(dumps).items():
        if any(entry["state"] == "completed" for entry in entries.values()):
            for member in set(members) & set(dumps) - set(truth.stale):
                assert last_enqueued(dumps[member], name) >= seq_id


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kind", NAMES)
def test_the_right_ranks_wait(kind: str, way: dict[str, Any], tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, kind, **way)

    if kind == "healthy-live":
        assert unfinished(dumps[0])
    elif kind in HEALTHY:
        assert idle(dumps) == set(dumps)
    elif kind in STALLS:
        assert idle(dumps) == {*truth.culprit_ranks, *truth.stale}
    else:
        assert idle(dumps) == set()
        assert truth.hang


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kind", sorted(DISAGREE))
def test_only_the_culprit_differs(kind: str, way: dict[str, Any], tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, kind, **way)

    assert truth.at is not None
    assert truth.at.seq_id is not None
    found = collectives(dumps)[truth.at.pg, truth.at.ranks, truth.at.seq_id]
    (culprit,) = truth.culprit_ranks
    others = {signature(entry) for rank, entry in found.items() if rank != culprit}
    assert len(others) == 1
    assert signature(found[culprit]) not in others
    assert {entry["state"] for entry in found.values()} <= {"scheduled", "started"}
    agreed = [key for key, entries in collectives(dumps).items() if _agree(entries)]
    assert len(agreed) > len(collectives(dumps)) * 0.9


def _agree(entries: dict[int, dict[str, Any]]) -> bool:
    return len({signature(entry) for entry in entries.values()}) == 1


def test_mismatch_pair_has_siblings_of_the_right_size(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "mismatch-pair")

    assert truth.at is not None
    assert truth.at.seq_id is not None
    assert len(truth.at.ranks) == 2
    found = collectives(dumps)
    (culprit,) = truth.culprit_ranks
    wrong = signature(found[truth.at.pg, truth.at.ranks, truth.at.seq_id][culprit])
    same_place = [
        signature(entry)
        for (name, _, seq_id), entries in found.items()
        for rank, entry in entries.items()
        if seq_id == truth.at.seq_id
        and entry["process_group"][1] == truth.at.desc
        and rank != culprit
        and name
    ]
    assert len(same_place) > 2
    assert wrong not in same_place


def test_mismatch_tie_has_nothing_to_compare_with(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "mismatch-tie")

    assert truth.expect == "undecided"
    assert truth.at is not None
    own = {key: value for key, value in collectives(dumps).items() if key[0] == truth.at.pg}
    assert list(own) == [(truth.at.pg, truth.possible_ranks, 1)]
    assert not _agree(own[truth.at.pg, truth.possible_ranks, 1])


def test_a_stalled_device_has_not_ended_what_its_peers_ended(tmp_path: Path) -> None:
    for seed in range(4):
        truth, dumps = job(tmp_path / str(seed), "device-stall", seed=seed)
        assert truth.at is not None
        assert truth.at.seq_id is not None
        (culprit,) = truth.culprit_ranks
        found = collectives(dumps)[truth.at.pg, truth.at.ranks, truth.at.seq_id]
        ended = {rank for rank, entry in found.items() if entry["state"] == "completed"}
        assert ended == set(truth.at.ranks) - {culprit}


def test_a_fabric_stall_has_all_members_inside(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "fabric-stall")

    assert truth.culprit_ranks == ()
    assert truth.at is not None
    assert truth.at.seq_id is not None
    found = collectives(dumps)[truth.at.pg, truth.at.ranks, truth.at.seq_id]
    assert set(found) == set(truth.at.ranks)
    assert {entry["state"] for entry in found.values()} == {"scheduled"}
    assert _agree(found)


def test_a_group_that_is_not_set_up_is_in_no_dump(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "setup-hang")

    assert truth.at is not None
    assert truth.culprit_ranks == truth.at.ranks
    late = {name for dump in dumps.values() for name, row in dump["pg_config"].items()
            if row["desc"] == "mesh_late"}  # fmt: skip
    assert late
    assert truth.at.pg not in late


def test_a_crashed_rank_leaves_no_dump(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "no-dump")

    assert truth.missing == truth.culprit_ranks
    assert set(range(16)) - set(dumps) == set(truth.culprit_ranks)


def test_a_skipped_operation_leaves_the_culprit_one_behind(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "skipped-op")

    assert truth.at is not None
    (culprit,) = truth.culprit_ranks
    counts = {rank: last_enqueued(dumps[rank], truth.at.pg) for rank in truth.at.ranks}
    behind = counts.pop(culprit)
    assert set(counts.values()) == {behind + 1}


def test_group_order_is_a_cycle(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "group-order")

    (culprit,) = truth.culprit_ranks
    assert truth.at is not None
    assert unfinished(dumps[culprit])[0]["process_group"][1] == "default_pg"
    for peer in set(truth.at.ranks) - {culprit}:
        assert unfinished(dumps[peer])[0]["process_group"][0] == truth.at.pg


@pytest.mark.parametrize("batched", [True, False])
def test_the_wrong_peer_is_in_the_name(batched: bool, tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "p2p-wrong-peer", batched_p2p=batched)

    (culprit,) = truth.culprit_ranks
    names = [entry["profiling_name"] for entry in dumps[culprit]["entries"] if entry["is_p2p"]]
    odd = {name for name in names if names.count(name) == 1}
    assert odd
    assert all("recv" in name for name in odd)


@pytest.mark.parametrize("batched", [True, False])
def test_a_missing_send_shows_in_the_counts(batched: bool, tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "p2p-missing-send", batched_p2p=batched, steps=1, entries=999)

    sent = {rank: _names(dump, "send") for rank, dump in dumps.items()}
    (culprit,) = truth.culprit_ranks
    stage = [rank for rank in dumps if rank // 4 == culprit // 4 and rank != culprit]
    assert {sent[rank] for rank in stage} == {sent[culprit] + 1}


def _names(dump: dict[str, Any], word: str) -> int:
    return sum(word in entry["profiling_name"] for entry in dump["entries"])


def test_a_send_of_another_size(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "p2p-size")

    odd = {
        rank
        for rank, dump in dumps.items()
        if len({str(entry["input_sizes"]) for entry in dump["entries"] if entry["is_p2p"]}) > 1
    }
    assert odd == set(truth.culprit_ranks)


@pytest.mark.parametrize("way", ["as it comes", "no run-ahead"])
def test_a_straggler_is_late_and_its_lateness_is_inherited(way: str, tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "straggler", entries=900, **WAYS[way])

    (culprit,) = truth.culprit_ranks
    late: dict[int, list[float]] = {rank: [] for rank in dumps}
    for entries in collectives(dumps).values():
        if {entry["process_group"][1] for entry in entries.values()} == {"mesh_tp"}:
            middle = median(entry["time_created_ns"] for entry in entries.values())
            for rank, entry in entries.items():
                late[rank].append((entry["time_created_ns"] - middle) / 1e6)
    means = {rank: fmean(values) for rank, values in late.items()}
    assert max(means, key=lambda rank: means[rank]) == culprit
    if WAYS[way].get("run_ahead", True):
        assert 50 < means.pop(culprit) < 70
        assert max(means.values()) < 10


def test_an_early_stall_has_left_the_rings_of_its_peers(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "early-stall")

    (culprit,) = truth.culprit_ranks
    group = next(ranks for ranks in truth.groups["mesh_dp"] if culprit in ranks)
    peer = next(rank for rank in group if rank != culprit)
    assert (
        dumps[peer]["entries"][0]["time_created_ns"]
        > dumps[culprit]["entries"][-1]["time_created_ns"]
    )
    assert len(dumps[peer]["entries"]) == 160


def test_a_stale_dump_is_two_hours_old(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "stale-dump")

    (stale,) = truth.stale
    assert stale not in truth.culprit_ranks
    newest = {rank: dump["entries"][-1]["time_created_ns"] for rank, dump in dumps.items()}
    hours = (median(newest.values()) - newest[stale]) / 3.6e12
    assert 1.5 < hours < 2.5


def test_another_job_lies_in_the_folder(tmp_path: Path) -> None:
    truth, _ = job(tmp_path, "mixed-jobs")

    names = {path.name for path in (tmp_path / "mixed-jobs" / "fr").iterdir()}
    assert truth.foreign_files
    assert set(truth.foreign_files) < names


def test_live_dumps_differ_in_progress_and_have_started_operations(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "healthy-live", ranks=64)

    assert truth.timing
    states = {entry["state"] for dump in dumps.values() for entry in running(dump)}
    assert states == {"scheduled", "started", "completed"}
    ends = [last_enqueued(dump, "0") for dump in dumps.values()]
    assert max(ends) - min(ends) <= 1
    assert all(is_collective(entry) or entry["p2p_seq_id"] for entry in running(dumps[0]))
