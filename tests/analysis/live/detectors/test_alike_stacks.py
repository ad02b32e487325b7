"""Where all ranks wait alike, no host is at fault, and nobody is named."""

import pytest

from tests.support.stacks import COMPUTE, DEVICE, HALL, LOADER, MEET, REDUCE, case_of, look
from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors.stacks import find_alike_stacks
from triage.domain.category import Role, VerdictKind
from triage.domain.finding import Finding


def found(case: LiveCase) -> list[Finding]:
    return list(find_alike_stacks(case))


def test_names_nobody_and_says_where_to_look() -> None:
    (finding,) = found(case_of(look([DEVICE] * 8)))
    assert (finding.ranks, finding.nodes, finding.role) == ((), (), Role.POSSIBLE)
    assert "all 8 ranks wait for their device at step (train.py:27)" in finding.summary
    assert "power" in finding.advice


def test_one_look_does_not_tell_a_hang_from_a_job_that_runs() -> None:
    (once,) = found(case_of(look([DEVICE] * 8)))
    (twice,) = found(case_of(look([DEVICE] * 8, at_s=10), look([DEVICE] * 8, at_s=40)))
    assert (once.kind, twice.kind) == (VerdictKind.INCONCLUSIVE, VerdictKind.HANG)
    assert once.strength < twice.strength


def test_ranks_that_meet_wait_for_those_that_do_not_come() -> None:
    (finding,) = found(case_of(look([MEET] * 7), world=8))
    assert "did not come" in finding.advice
    assert "of 1 ranks there is no stack" in finding.summary


def test_a_rank_that_was_not_looked_at_may_be_the_one() -> None:
    twice = look([DEVICE] * 7, at_s=10), look([DEVICE] * 7, at_s=40)
    (without,) = found(case_of(*twice, world=8))
    (whole,) = found(case_of(*twice, world=7))
    assert without.strength < whole.strength
    assert "none of these hosts is at fault" in without.summary
    assert "no host is at fault" in whole.summary


def test_several_places_are_told() -> None:
    (finding,) = found(case_of(look([REDUCE] * 4 + [HALL] * 4)))
    assert "2 places" in finding.summary
    assert len(finding.because) == 2


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case_of(look([REDUCE] * 7 + [LOADER])), id="one stands elsewhere"),
        pytest.param(case_of(look([REDUCE])), id="one rank"),
        pytest.param(case_of(), id="no stack"),
        pytest.param(
            case_of(look([REDUCE] * 8, at_s=10), look([DEVICE] * 8, at_s=40)), id="it moves"
        ),
        pytest.param(case_of(look([LOADER] * 8)), id="all in their loaders"),
        pytest.param(case_of(look([COMPUTE] * 2)), id="two at one line"),
    ],
)
def test_stays_silent(case: LiveCase) -> None:
    assert not found(case)
