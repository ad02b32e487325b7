"""What the simulator's tools say of a hanging job agrees with what its recorders say."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import simulate
from simulator.live.ras import FUNCTIONS
from simulator.truth import Truth
from triage.formats.dumps import read_dumps
from triage.parsers.files.inputs import find_inputs

RANKS = 32


def written(tmp_path: Path, kind: str, seed: int = 1) -> tuple[Path, Truth]:
    out = tmp_path / "job"
    truth = simulate(kind, out, ranks=RANKS, seed=seed, live=("stacks", "ras"))
    return out, truth


def reports(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "ras").iterdir())]


def stacks_of(folder: Path, rank: int) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob(f"stacks/*/rank_{rank}.txt"))]


def main_thread(text: str) -> list[str]:
    """The frames of the first thread, innermost first."""
    lines = text.splitlines()
    begin = next(place for place, line in enumerate(lines) if '"MainThread"' in line)
    return [line for line in lines[begin + 1 : begin + 40] if line.startswith("    ")]


@pytest.mark.parametrize("seed", range(3))
def test_ras_counts_what_the_recorders_counted(tmp_path: Path, seed: int) -> None:
    folder, truth = written(tmp_path, "host-stall", seed)
    digests = {one.rank: one for one in read_dumps(find_inputs([folder / "fr"]).files).digests}
    world = next(c for c in reports(folder)[0]["communicators"] if c["size"] == RANKS)
    for member in world["ranks"]:
        digest = digests[member["rank"]]
        default = next(row.key for row in digest.groups if len(row.ranks or ()) == RANKS)
        counted = next(row.enqueued for row in digest.counters if row.key == default)
        assert sum(member["collective_counts"][name] for name in FUNCTIONS) == counted
    assert truth.culprit_ranks


def test_the_culprit_of_a_host_stall_is_behind_in_a_group_of_its_own(tmp_path: Path) -> None:
    folder, truth = written(tmp_path, "host-stall")
    (culprit,) = truth.culprit_ranks
    behind = set()
    for communicator in reports(folder)[0]["communicators"]:
        totals = {r["pid"]: sum(r["collective_counts"].values()) for r in communicator["ranks"]}
        hosts = {r["pid"]: (r["host"], r["cuda_dev"]) for r in communicator["ranks"]}
        least = min(totals.values())
        if least < max(totals.values()):
            behind |= {hosts[pid] for pid, total in totals.items() if total == least}
    home = next(
        (r["host"], r["cuda_dev"])
        for c in reports(folder)[0]["communicators"]
        if c["size"] == RANKS
        for r in c["ranks"]
        if r["rank"] == culprit
    )
    assert home in behind


def test_only_the_culprit_of_a_host_stall_stands_outside_collectives(tmp_path: Path) -> None:
    folder, truth = written(tmp_path, "host-stall")
    waits = {
        rank: "synchronize" in main_thread(stacks_of(folder, rank)[0])[0] for rank in range(RANKS)
    }
    assert [rank for rank, one in waits.items() if not one] == list(truth.culprit_ranks)


def test_a_job_that_hangs_looks_the_same_twice(tmp_path: Path) -> None:
    folder, _ = written(tmp_path, "host-stall")
    first, second = reports(folder)
    assert first["communicators"] == second["communicators"]
    assert first["timestamp"] < second["timestamp"]
    for rank in range(RANKS):
        one, other = stacks_of(folder, rank)
        assert one == other


def test_in_a_device_stall_all_hosts_wait(tmp_path: Path) -> None:
    folder, _ = written(tmp_path, "device-stall")
    for rank in range(RANKS):
        assert "synchronize" in main_thread(stacks_of(folder, rank)[0])[0]


def test_a_process_that_is_gone_has_no_stack_and_does_not_answer(tmp_path: Path) -> None:
    folder, truth = written(tmp_path, "no-dump")
    (gone,) = truth.culprit_ranks
    assert stacks_of(folder, gone) == []
    world = next(c for c in reports(folder)[0]["communicators"] if c["size"] == RANKS)
    assert [one["rank"] for one in world["missing_ranks"]] == [gone]
    assert gone not in [one["rank"] for one in world["ranks"]]


def test_without_dumps_only_the_looks_are_written(tmp_path: Path) -> None:
    out = tmp_path / "job"
    simulate("host-stall", out, ranks=8, dumps=False, live=("ras",))
    assert [path.name for path in (out / "fr").iterdir()] == []
    assert len(list((out / "ras").iterdir())) == 2
    assert not (out / "stacks").exists()


def test_the_gpu_of_the_culprit_is_idle_and_the_others_spin(tmp_path: Path) -> None:
    out = tmp_path / "job"
    truth = simulate("host-stall", out, ranks=16, dumps=False, live=("gpus",))
    (culprit,) = truth.culprit_ranks
    for node in range(2):
        first, *_ = sorted((out / "nodes" / f"n{node:04d}").glob("nvidia-smi_*.csv"))
        head, *rows = first.read_text().splitlines()
        busy = head.split(", ").index("utilization.gpu [%]")
        loads = [row.split(", ")[busy] for row in rows]
        expected = ["0 %" if node * 8 + k == culprit else "100 %" for k in range(8)]
        assert loads == expected


def test_a_job_that_runs_has_moved_between_two_looks(tmp_path: Path) -> None:
    folder, _ = written(tmp_path, "healthy")
    first, second = reports(folder)
    assert first["communicators"] != second["communicators"]
    same = [rank for rank in range(RANKS) if len(set(stacks_of(folder, rank))) == 1]
    assert len(same) < RANKS // 2


def test_in_a_set_up_that_hangs_its_members_stand_in_the_set_up(tmp_path: Path) -> None:
    folder, truth = written(tmp_path, "setup-hang")
    for rank in truth.possible_ranks:
        assert "all_ready" in "".join(main_thread(stacks_of(folder, rank)[0]))
