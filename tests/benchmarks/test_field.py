"""The field generator: the same seed gives the same bytes, and truths that a scorer can read."""

import json
from pathlib import Path

import pytest

from benchmarks.field.dumps import mesh, program, run
from benchmarks.field.envelopes import FORMS
from benchmarks.field.kinds import KINDS
from benchmarks.field.make import LLAMA3, main
from benchmarks.field.platforms import PLATFORMS
from benchmarks.field.writing import ROWS
from triage import analyze

TRUTH = {
    "id", "kind", "category", "acceptable", "llama3_category", "verdict_kinds", "culprit_nodes",
    "alternate_nodes", "culprit_ranks", "alternate_rank_sets", "hardware", "cordon_expected",
    "cordon_allowed", "expect_suspects", "hard", "hard_reasons", "notes", "world_size",
    "gpus_per_node", "nodes", "rank_to_node", "mesh", "dumps", "shape", "map_in", "fault_at",
    "ended_at", "op",
}  # fmt: skip


def bytes_of(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("field")
    assert main(["--out", str(out), "--seed", "3", "--count", "12"]) == 0
    return out


def test_the_same_seed_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    main(["--out", str(tmp_path), "--seed", "3", "--count", "12"])
    assert bytes_of(made) == bytes_of(tmp_path)


def test_truth_holds_what_a_scorer_reads(made: Path) -> None:
    truths = [json.loads(p.read_text()) for p in sorted((made / "truth").iterdir())]
    assert len(truths) == 12
    for truth in truths:
        assert truth.keys() >= TRUTH
        assert truth["category"] in ROWS
        assert set(truth["acceptable"]) <= set(ROWS)
        assert truth["category"] in truth["acceptable"]
        named = truth["culprit_nodes"] + truth["alternate_nodes"] + truth["cordon_allowed"]
        assert set(named) <= set(truth["nodes"])
        assert len(truth["rank_to_node"]) == truth["world_size"]
        assert (made / "cases" / truth["id"]).is_dir()


def test_a_case_is_read_and_its_dumps_decoded(made: Path) -> None:
    truths = [json.loads(p.read_text()) for p in sorted((made / "truth").iterdir())]
    smallest = min((t for t in truths if t["dumps"]["any"]), key=lambda t: t["world_size"])
    report = analyze(made / "cases" / smallest["id"]).to_dict()
    assert report["schema"] == "triage.report/1"
    read = report["coverage"]["dumps_read"]
    assert read + len(smallest["dumps"]["truncated"]) >= smallest["dumps"]["written"]


def test_nine_platforms_and_twenty_forms_and_a_proportion_for_every_interruption() -> None:
    assert len(PLATFORMS) == 9
    assert len(FORMS) >= 20
    assert sum(LLAMA3.values()) == 419
    assert set(LLAMA3) <= set(KINDS)


def test_a_device_that_stops_is_where_the_waits_of_a_pipeline_end() -> None:
    groups = mesh.build(16, 2, 4, 1, "tp-dp-pp", "megatron")
    steps = [program.pipeline(groups, r, 4, 4096, 0.01, True) for r in range(16)]
    job = program.Program(steps)
    whole = run.simulate(groups, job, 3, 1, 8)
    assert all(whole.stuck(r) is None for r in range(16))

    half = max(d or 0.0 for d in whole.done[5]) / 2
    stopped = run.simulate(groups, job, 3, 1, 8, run.Fault(host_stops={5: half}))
    assert [r for r in range(16) if stopped.stuck(r) is None] == [5]
