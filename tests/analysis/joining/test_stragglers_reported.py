"""A monitor that reports a straggler speaks of a job that goes on."""

from pathlib import Path

import pytest

from tests.analysis.facts.job_logs import answer, deepspeed, steps

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
