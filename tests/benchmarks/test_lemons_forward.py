"""Records cut at a day: nothing of what was to come is in them."""

import numpy as np
import pytest

from benchmarks.lemons_forward import known_at, of_highest
from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.wish import FleetWish


@pytest.mark.parametrize(
    "wish",
    [FleetWish.like_real(nodes=64, days=120, seed=2), FleetWish(nodes=64, days=60, seed=2)],
    ids=["like real", "poisson"],
)
@pytest.mark.parametrize("day", [10.0, 33.3, 60.0])
def test_nothing_of_the_future_is_known(wish, day):
    record = simulate_fleet(wish).record

    cut = known_at(record, day)

    assert cut.until_ns == record.since_ns + round(day * 86_400e9)
    for times in (cut.runs.end_ns, cut.interruptions.at_ns, cut.outages.end_ns):
        assert times.max(initial=0) <= cut.until_ns
    assert (cut.runs.start_ns < cut.until_ns).all()
    assert cut.accusations.interruption.max(initial=-1) < len(cut.interruptions.at_ns)
    assert len(cut.runs.node) == cut.runs.node_at[-1]
    still_out = cut.outages.end_ns == cut.until_ns
    assert not any(np.array([one is not None for one in cut.outages.action])[still_out])


def test_nodes_that_tie_count_as_their_mean():
    after = np.array([4.0, 2.0, 0.0, 6.0])

    assert of_highest(np.array([3.0, 1.0, 1.0, 0.0]), 2, after) == 4.0 + 1.0
    assert of_highest(np.zeros(4), 2, after) == 2 * 3.0
