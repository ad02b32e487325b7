"""A job that is slow is never told that there is nothing to do."""

from pathlib import Path

import pytest

from simulator import simulate
from triage.analysis.answer import with_slowness
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.report import Verdict
from triage.domain.slow import SlowCause, SlowJob, SlowPart
from triage.report import analyze

PART = SlowPart(SlowCause.INPUT_BOUND, (), 20.0, 0.2, 38.4, "all ranks wait for their hosts")
SLOW = SlowJob(120.0, 1.2, 8, (PART,))


@pytest.mark.parametrize("action", [Action.NONE, Action.INVESTIGATE, Action.FIX_CODE])
def test_something_is_to_be_done(action: Action) -> None:
    given = Verdict(VerdictKind.HEALTHY, Category.NONE, 0.9, "All is done.", action)
    found = with_slowness(given, SLOW)
    assert found.kind is VerdictKind.HEALTHY
    assert found.action is (Action.INVESTIGATE if action is Action.NONE else action)
    assert ("all ranks wait for their hosts" in found.summary) is (action is Action.NONE)


@pytest.mark.parametrize("kind", ["healthy", "slow-gpu", "slow-stage", "slow-since", "input-bound"])
def test_in_whole_answers_too(tmp_path: Path, kind: str) -> None:
    simulate(kind, tmp_path, ranks=8, tp=2, seed=11, timing=True)
    report = analyze(tmp_path).to_dict()
    assert not ("slow" in report and report["verdict"]["action"] == "none")
