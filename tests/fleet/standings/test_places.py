"""Places that fail unlike the rest: planted ones are found, and nothing where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from tests.fleet.standings.outages import in_bursts, record_of
from triage.fleet.standings.places import place_rates
from triage.fleet.standings.standing import fleet_standings


def gpus(seed=0, num=12_000):
    """GPUs of two deliveries in three cages, as on Titan: 14.7 and 2.4 times as often."""
    chance = np.random.default_rng(seed)
    batch = np.where(chance.random(num) < 0.5, "old", "new")
    cage = np.array(["bottom", "middle", "top"])[chance.integers(0, 3, num)]
    rate = np.where(batch == "old", 0.0822, 0.0056) * np.select(
        [cage == "top", cage == "middle"], [1.545, 1.0], 0.645
    )
    years = chance.uniform(1, 5, num)
    events = chance.poisson(rate * chance.gamma(2.0, 0.5, num) * years)
    return events, years, {"batch": batch.tolist(), "cage": cage.tolist()}


def test_a_bad_delivery_and_a_hot_cage_are_found_within_their_intervals():
    within = {("batch", "old"): 0, ("cage", "top"): 0}
    for seed in range(20):
        rows = {(row.kind, row.name): row for row in place_rates(*gpus(seed, 4_000))}
        assert all(rows[place].found for place in within)
        # The top is held against the middle and the bottom together.
        for place, planted in ((("batch", "old"), 14.7), (("cage", "top"), 1.545 / 0.8225)):
            within[place] += rows[place].ratio.low < planted < rows[place].ratio.high

    assert min(within.values()) >= 17


def test_two_cages_alone_differ_as_planted():
    events, years, places = gpus()
    kept = np.array(places["cage"]) != "middle"
    cage = {"cage": np.array(places["cage"])[kept].tolist()}

    rows = {row.name: row for row in place_rates(events[kept], years[kept], cage)}

    assert rows["top"].ratio.low < 2.4 < rows["top"].ratio.high


@pytest.mark.parametrize("spread", [0.3, 1.0, 50.0], ids=["a few bad", "differ", "all alike"])
def test_shuffled_labels_find_nothing(spread):
    found = 0
    for seed in range(100):
        chance = np.random.default_rng(seed)
        events = chance.poisson(0.8 * chance.gamma(spread, 1 / spread, 400))
        places = {
            kind: [str(one) for one in chance.permutation(np.arange(400) // size)]
            for kind, size in (("rack", 8), ("leaf_switch", 32), ("generation", 200))
        }
        found += any(row.found for row in place_rates(events, np.ones(400), places))

    assert found <= 8


def test_one_lemon_does_not_pass_for_its_rack():
    events = np.ones(80)
    events[3] = 200
    racks = [str(one // 8) for one in range(80)]

    assert not any(row.found for row in place_rates(events, np.ones(80), {"rack": racks}))


def test_a_rack_that_fails_is_found():
    chance = np.random.default_rng(1)
    events = chance.poisson(np.where(np.arange(160) < 16, 6.0, 1.0))
    racks = [str(one // 16) for one in range(160)]

    first, *others = place_rates(events, np.ones(160), {"rack": racks})

    assert (first.name, first.found) == ("0", True)
    assert not any(row.found for row in others)


def test_a_place_without_an_event_has_a_bound_and_no_ratio():
    events = np.array([0.0] * 20 + [2.0] * 20)

    rows = place_rates(events, np.ones(40), {"rack": ["a"] * 20 + ["b"] * 20})

    none = next(row for row in rows if row.name == "a")
    assert none.ratio.value is None
    assert none.ratio.low is None
    assert 0 < none.ratio.high < 0.5


@pytest.mark.parametrize(
    ("events", "places", "why"),
    [
        ([1.0] * 10, ["a"] * 2 + ["b"] * 8, "fewer than 3 members on a side"),
        ([1.0, *[0.0] * 9], ["a"] * 5 + ["b"] * 5, "fewer than 5 events"),
    ],
    ids=["two members", "one event"],
)
def test_too_little_cannot_be_told(events, places, why):
    for row in place_rates(events, [1.0] * 10, {"rack": places}):
        assert (row.why_not, row.ratio.value, row.p_value) == (why, None, None)


def test_a_place_that_stands_out_is_the_yardstick_of_its_nodes():
    inside = [(f"n{int(row[0][1:]) % 30:03d}", *row[1:]) for row in in_bursts(150, seed=3)]
    record = record_of([*in_bursts(60), *inside])
    record = replace(record, cage=("top",) * 30 + ("bottom",) * 70)

    found = fleet_standings(record)

    top = next(place for place in found.places if place.name == "top")
    assert top.found
    assert any(note.startswith("cage top fails") for note in found.notes)
    of_top = next(one for one in found.nodes if one.node == "n001")
    assert "of its cage (top)" in " ".join(of_top.reasons)
