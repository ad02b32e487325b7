"""The chances of another fault: told apart where there is something, calibrated, and never sure."""

import numpy as np
import pytest

from tests.fleet.repairs.planted import ANY, NIC_REBOOTED, NIC_SWAPPED, fleet, returns
from triage.fleet.record.faults import Faults
from triage.fleet.repairs.features import FEATURES, LATE_FEATURES, compute_features
from triage.fleet.repairs.model import fit_model, judge_chances, predict_chances, walk_forward
from triage.fleet.repairs.returns import Returns, build_returns

TWO_REPAIRS = {NIC_SWAPPED: 0.08, NIC_REBOOTED: 0.65}


def said_and_seen(faults: Faults, days: float = 7.0):
    found = build_returns(faults)
    said = walk_forward(found, compute_features(found))
    over = found.over(days)
    chance = said.within_7 if days == 7.0 else said.within_30
    return chance[over], found.failed(days)[over]


def test_a_repair_that_does_not_hold_is_learnt_from_the_record():
    found = build_returns(fleet(1, again=TWO_REPAIRS))
    features = compute_features(found)

    said = predict_chances(fit_model(found, features, found.days), features)

    late = found.day > 150
    swapped = found.action == found.action[[found.action.argmax()]]
    assert said.within_7[late & swapped].mean() < 0.25
    assert said.within_7[late & ~swapped].mean() > 0.5


def test_of_two_repairs_returns_are_told_apart_on_their_day():
    got = judge_chances(*said_and_seen(fleet(2, again=TWO_REPAIRS)), 7.0)

    assert got.auc is not None
    assert got.auc > 0.72
    assert got.log_loss < got.base_log_loss


@pytest.mark.parametrize("days", [7.0, 30.0])
@pytest.mark.parametrize("again", [TWO_REPAIRS, {ANY: 0.33}, {ANY: 0.02}])
def test_what_is_said_comes_as_often_as_said(again, days):
    chance, failed = said_and_seen(fleet(3, again=again, nodes=1500), days)

    assert abs(chance.mean() - failed.mean()) < 0.04
    for one in judge_chances(chance, failed, days).deciles:
        noise = 3 * (one.chance * (1 - one.chance) / one.num_returns) ** 0.5
        assert abs(one.chance - one.observed) < 0.05 + noise


def test_a_node_that_recurs_is_said_to():
    faults = fleet(4, again={ANY: 0.1}, bad=range(6))
    found = build_returns(faults)

    said = walk_forward(found, compute_features(found))

    bad = np.isin(found.node, range(6)) & (found.day > 100)
    assert said.within_7[bad].mean() > 1.6 * said.within_7[~bad & (found.day > 100)].mean()


def test_shuffled_outcomes_are_not_told_apart():
    found = build_returns(fleet(5, again=TWO_REPAIRS))
    areas = []
    for seed in range(12):
        gap = np.random.default_rng(seed).permutation(found.next_day - found.day)
        columns = {name: getattr(found, name) for name in Returns.__slots__}
        mixed = Returns(**{**columns, "next_day": found.day + gap})
        over = mixed.over(7)
        said = walk_forward(mixed, compute_features(mixed))
        got = judge_chances(said.within_7[over], mixed.failed(7)[over], 7.0)
        areas.append((got.auc_low, got.auc))

    assert sum(low > 0.5 for low, _ in areas) <= 2
    assert abs(np.mean([area for _, area in areas]) - 0.5) < 0.03


def test_a_young_record_says_what_public_records_do_with_a_wide_interval():
    found = returns(("a", 10, 11, "NIC"), days=12)
    features = compute_features(found)

    said = predict_chances(fit_model(found, features, 12.0), features)

    assert said.num_returns.tolist() == [0]
    assert 0.2 < said.within_7[0] < 0.5
    assert said.high_7[0] - said.low_7[0] > 0.2
    assert said.within_30[0] > said.within_7[0]


def test_it_says_the_same_twice_and_whatever_the_order_of_rows():
    faults = fleet(6, again=TWO_REPAIRS, nodes=100)
    found = build_returns(faults)
    order = np.random.default_rng(1).permutation(len(faults))
    mixed = Faults(
        node=faults.node[order],
        start_day=faults.start_day[order],
        end_day=faults.end_day[order],
        back_day=faults.back_day[order],
        begun=faults.begun[order],
        back=faults.back[order],
        cause=tuple(faults.cause[row] for row in order),
        action=tuple(faults.action[row] for row in order),
        num_nodes=faults.num_nodes,
        days=faults.days,
    )
    other = build_returns(mixed)

    first = walk_forward(found, compute_features(found))
    second = walk_forward(other, compute_features(other))

    np.testing.assert_array_equal(first.within_7, second.within_7)


def test_there_are_no_more_weights_than_a_reader_can_follow():
    assert len(FEATURES) + len(LATE_FEATURES) <= 15


@pytest.mark.parametrize(
    "rows",
    [
        (),
        (("a", 0, 100, "GPU"),),
        (("a", 1, 1, "GPU"), ("a", 1, 1, "GPU")),
        tuple(("a", day, day + 0.0001, "GPU") for day in range(1, 90)),
        tuple((f"n{k}", 5, 6, "power outage") for k in range(8)),
    ],
    ids=["nothing", "never back", "no time at all", "every day", "all at once"],
)
def test_records_that_are_odd_give_chances_or_nothing(rows):
    found = returns(*rows)
    said = walk_forward(found, compute_features(found))

    for name in ("within_7", "low_7", "high_7", "within_30"):
        column = getattr(said, name)
        assert len(column) == len(found)
        assert ((column > 0) & (column < 1)).all()
    assert (said.low_7 <= said.within_7).all()
    assert (said.within_7 <= said.within_30).all()
