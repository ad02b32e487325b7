"""Claims hold as often as they say: nodes that are bad as the prior has it, tests that err."""

import numpy as np
import pytest

from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.plan import (
    GroupOutcome,
    IsolationPlan,
    new_plan,
    with_next_round,
    with_results,
)
from triage.fleet.isolation.posterior import prior_probabilities

SEARCHES = 120
NODES = [f"n{place}" for place in range(48)]


def finished(options: IsolationOptions, bad: set[int], rng: np.random.Generator) -> IsolationPlan:
    """The plan after tests that err as the options say."""
    plan = new_plan(NODES, None, options)
    while plan.waiting and len(plan.rounds) < 40:
        results = {}
        for group in plan.waiting:
            missed = (1 - options.recall) ** len(bad.intersection(group.nodes))
            fails = rng.random() < 1 - (1 - options.false_alarm) * missed
            results[group.id] = GroupOutcome.FAIL if fails else GroupOutcome.PASS
        plan = with_next_round(with_results(plan, results))
    return plan


@pytest.mark.parametrize("false_alarm", [0.0, 0.02])
def test_what_is_called_sure_is_right_as_often_as_it_says(false_alarm: float) -> None:
    options = IsolationOptions(recall=0.7, false_alarm=false_alarm, expected=1.0, nobody=0.2)
    rng = np.random.default_rng(5)
    prior = prior_probabilities(np.ones(len(NODES)), options.expected)
    named = right = decided = whole = 0
    for _ in range(SEARCHES):
        bad: set[int] = set()
        somebody = rng.random() >= options.nobody
        while somebody and not bad:
            bad = set(np.flatnonzero(rng.random(len(NODES)) < prior).tolist())
        plan = finished(options, bad, rng)
        named += len(plan.bad_nodes)
        right += len(bad.intersection(plan.bad_nodes))
        if plan.decided:
            decided += 1
            whole += set(plan.bad_nodes) == bad

    # 95 % of the claims, less three standard deviations of so many.
    assert decided > 0.95 * SEARCHES
    assert right / named > 0.95 - 3 * (0.05 * 0.95 / named) ** 0.5
    assert whole / decided > 0.95 - 3 * (0.05 * 0.95 / decided) ** 0.5
