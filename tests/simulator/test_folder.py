"""What lies in the folder, what beside it, and which calls are refused."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from simulator import simulate, truth_path
from simulator.cli.simulate import simulate as command
from tests.simulator.dumps import job, load
from triage.errors import UsageError

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such kind": ("explosion", {}, "host-stall"),
    "one rank": ("healthy", {"ranks": 1}, "2 or more"),
    "ranks and tp": ("healthy", {"ranks": 30, "tp": 8}, "multiple of 8"),
    "ep and dp": ("healthy", {"ranks": 16, "tp": 4, "pp": 1, "ep": 3}, "divides 4"),
    "tp 0": ("healthy", {"tp": 0}, "tp is 0"),
    "culprit": ("host-stall", {"ranks": 8, "culprit": 8}, "0 to 7"),
    "cut": ("host-stall", {"ranks": 8, "cut": [9]}, "0 to 7"),
    "entries": ("host-stall", {"entries": 0}, "1 or more"),
    "steps": ("host-stall", {"steps": 0}, "1 or more"),
    "frames": ("host-stall", {"frames": 999}, "128 or fewer"),
    "version": ("host-stall", {"version": "1.4"}, "2.4 to 2.10"),
    "layout": ("host-stall", {"layout": "tree"}, "flat or nodes"),
    "skew": ("healthy", {"skew_ms": -1.0}, "0 or more"),
    "pair without pairs": ("mismatch-pair", {"ranks": 16, "tp": 4}, "give tp 2"),
    "p2p without a pipeline": ("p2p-size", {"ranks": 16, "pp": 1}, "pp of 2 or more"),
    "wrong peer of two": ("p2p-wrong-peer", {"ranks": 16, "pp": 2}, "pp of 3 or more"),
    "early stall of one replica": ("early-stall", {"ranks": 8, "tp": 8, "pp": 1}, "replicas"),
    "stall of a device alone": ("device-stall", {"ranks": 4, "tp": 1, "pp": 4}, "tp or dp"),
}


@pytest.mark.parametrize(("kind", "options", "says"), REFUSED.values(), ids=REFUSED)
def test_refuses_in_one_sentence(
    kind: str, options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        simulate(kind, tmp_path / "job", **options)

    assert "\n" not in str(refused.value)
    assert not (tmp_path / "job").exists()


def test_refuses_a_folder_with_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(UsageError, match="not empty"):
        simulate("healthy", tmp_path, ranks=4)


def test_the_truth_lies_beside_the_folder(tmp_path: Path) -> None:
    truth, _ = job(tmp_path, "host-stall", culprit=9)

    saved = json.loads(truth_path(tmp_path / "host-stall").read_text())
    assert saved == json.loads(json.dumps(truth.to_dict()))
    assert saved["culprit_ranks"] == [9]
    assert saved["culprit_nodes"] == ["n0001"]
    names = [path.name for path in (tmp_path / "host-stall").rglob("*")]
    assert not [name for name in names if "truth" in name]


def test_job_json_maps_ranks_to_nodes(tmp_path: Path) -> None:
    job(tmp_path, "host-stall", gpus_per_node=4)

    facts = json.loads((tmp_path / "host-stall" / "job.json").read_text())
    assert facts["nodes"] == ["n0000", "n0001", "n0002", "n0003"]
    assert (facts["gpus_per_node"], facts["world_size"]) == (4, 16)
    assert "host-stall" not in json.dumps(facts)


def test_dumps_can_lie_under_their_nodes(tmp_path: Path) -> None:
    simulate("healthy", tmp_path / "job", ranks=8, gpus_per_node=4, layout="nodes", entries=50,
             prefix="nccl_trace_rank_", job_json=False)  # fmt: skip

    assert (tmp_path / "job" / "nodes" / "n0001" / "nccl_trace_rank_7").is_file()
    assert not (tmp_path / "job" / "job.json").exists()


def test_files_are_missing_cut_and_empty_as_asked(tmp_path: Path) -> None:
    truth, dumps = job(tmp_path, "host-stall", missing=[1], cut=[2, 3], empty=[4])

    assert (truth.missing, truth.cut, truth.empty) == ((1,), (2, 3), (4,))
    assert set(dumps) == set(range(16)) - {1, 2, 3, 4}
    fr = tmp_path / "host-stall" / "fr"
    assert not (fr / "comm_lib_trace_rank_1").exists()
    assert (fr / "comm_lib_trace_rank_2").stat().st_size > 0
    assert (fr / "comm_lib_trace_rank_4").stat().st_size == 0


def test_skew_shifts_whole_nodes(tmp_path: Path) -> None:
    for name, skew in (("even", 0.0), ("skewed", 500.0)):
        simulate("healthy", tmp_path / name, ranks=16, entries=50, skew_ms=skew)

    even, skewed = load(tmp_path / "even"), load(tmp_path / "skewed")
    shift = {
        rank: {
            mine["time_created_ns"] - other["time_created_ns"]
            for mine, other in zip(skewed[rank]["entries"], even[rank]["entries"], strict=True)
        }
        for rank in even
    }
    assert all(len(values) == 1 for values in shift.values())
    assert [shift[rank] == shift[0] for rank in range(16)] == [True] * 8 + [False] * 8


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    simulate("healthy", tmp_path / "job", ranks=8, entries=20,
             progress=lambda done, total: told.append((done, total)))  # fmt: skip

    assert told == [(done, 8) for done in range(1, 9)]


def command_line() -> typer.Typer:
    app = typer.Typer()
    app.command()(command)
    return app


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    out = tmp_path / "job"
    result = CliRunner().invoke(
        command_line(), ["host-stall", "--ranks", "8", "--entries", "50", "--out", str(out)]
    )

    assert result.exit_code == 0
    assert "wrote 8 dumps of host-stall" in result.stdout
    assert f"{out}.truth.json" in result.stdout
    assert result.stdout.count("\n") == 1
    pickle.loads((out / "fr" / "comm_lib_trace_rank_0").read_bytes())


def test_the_command_refuses_with_status_2(tmp_path: Path) -> None:
    result = CliRunner().invoke(command_line(), ["nonsense", "--out", str(tmp_path / "job")])

    assert result.exit_code == 2
    assert "no kind of fault 'nonsense'" in result.stderr
    assert result.stdout == ""
