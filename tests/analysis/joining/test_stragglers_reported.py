"""A monitor that reports a straggler speaks of a job that goes on."""

from pathlib import Path

import pytest

from tests.analysis.facts.job_logs import answer, clock, deepspeed, steps

REPORT = '{"ts":"2026-11-20T09:01:40Z","finding":"laggard","rank":5,"node":"n2","late_ms":510}'


@pytest.mark.parametrize(
    ("said", "kind", "category"),
    [
        (REPORT, "straggler", "straggler"),
        ('{"ts":"2026-11-20T09:01:40Z","straggler_detection":true,"rank":5}', "healthy", "none"),
    ],
)
def test_who_holds_up_a_job_that_moves_is_named(
    tmp_path: Path, said: str, kind: str, category: str
) -> None:
    found = answer(tmp_path, [*steps(deepspeed, 10, 40, 0.0), said])
    assert (found.verdict.kind, found.verdict.category) == (kind, category)
    if kind == "straggler":
        assert [(one.node, one.role) for one in found.suspects] == [("n2", "possible")]


SAID = (
    "slow rank in llm-7: rank 5 on n2 is last into each all-reduce, 6 s behind the others",
    "straggler report: rank 5 (n2) relative performance 0.46 of median",
    "llm-7 runs at half speed: the others wait for rank 5 each step",
)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize(
    ("pace", "more", "nodes"),
    [
        (3, "", ["n2"]),  # rank 5 sits on n2
        (1, "", []),  # a job that goes on as before is well, whatever somebody says
        (3, "every step waits for rank 0", []),  # two nodes are said to be slow
    ],
)
def test_who_is_said_to_hold_up_a_job_that_has_become_slow(
    tmp_path: Path, said: str, pace: int, more: str, nodes: list[str]
) -> None:
    slow = [deepspeed(50 + k, 400 + 10.0 * pace * k) for k in range(60)]
    told = [f"[{clock(1900)}] {one}" for one in (said, more) if one]
    found = answer(tmp_path, [*steps(deepspeed, 10, 40, 0.0), *slow[:50], *told, *slow[50:]])
    assert found.verdict.kind == ("straggler" if pace > 1 else "healthy"), found.verdict.summary
    assert [one.node for one in found.suspects] == nodes
    assert all(one.role == "possible" for one in found.suspects)
