"""A job log of steps alone is a job that was seen."""

import json
from pathlib import Path

import pytest

import triage

STEPS = "".join(
    f"2026-11-20T09:5{minute}:01Z iteration {800 + minute}/ 10000 | loss 2.1\n"
    for minute in range(9)
)


@pytest.mark.parametrize(
    ("facts", "behind", "kind"),
    [
        pytest.param({}, "", "healthy", id="moves-to-its-end"),
        pytest.param(
            {"exit_code": 0}, "2026-11-20T09:59:30Z Training complete.\n", "healthy", id="ended"
        ),
        pytest.param({"failed_at": "2026-11-20T11:30:00Z"}, "", "inconclusive", id="failed"),
        pytest.param({"exit_code": 1}, "", "inconclusive", id="failed-by-its-code"),
    ],
)
def test_steps_alone_say_how_it_went(
    facts: dict[str, object], behind: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "job.json").write_text(json.dumps({"job_id": "5", "world_size": 8, **facts}))
    (tmp_path / "job.log").write_text(STEPS + behind)
    assert triage.analyze(tmp_path).verdict.kind == kind
