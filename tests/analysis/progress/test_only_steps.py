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


UNDATED = "".join(f"iteration {800 + k}/ 10000 | loss 2.1\n" for k in range(9))


@pytest.mark.parametrize(
    ("log", "facts", "last", "kind"),
    [
        pytest.param(UNDATED, {}, "10:40", "inconclusive", id="nodes-go-on"),
        pytest.param(UNDATED, {}, "09:55", "healthy", id="as-long-as-it-sets-up"),
        pytest.param(UNDATED, {"exit_code": 0}, "10:40", "healthy", id="ended"),
        pytest.param(UNDATED, {"started_at": None}, "10:40", "inconclusive", id="begun-some-time"),
        pytest.param(STEPS, {}, "09:59", "healthy", id="dated"),
    ],
)
def test_a_log_without_a_clock_does_not_say_that_the_job_still_moves(
    log: str, facts: dict[str, object], last: str, kind: str, tmp_path: Path
) -> None:
    job = {"job_id": "5", "world_size": 8, "started_at": "2026-11-20T09:50:00Z", **facts}
    (tmp_path / "job.json").write_text(
        json.dumps({key: value for key, value in job.items() if value is not None})
    )
    (tmp_path / "job.log").write_text(log)
    node = tmp_path / "nodes" / "n1"
    node.mkdir(parents=True)
    (node / "kern.log").write_text(
        f"2026-11-20T{last}:00+00:00 n1 kernel: EDAC MC0: 1 CE memory read error on P1_DIMM_E1\n"
    )
    assert triage.analyze(tmp_path).verdict.kind == kind
