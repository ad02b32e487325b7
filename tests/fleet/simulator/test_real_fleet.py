"""Fleets like real ones: the published figures, a truth that fits the record, near misses."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from statistics import mean, median

import numpy as np
import pytest

from simulator.fleet.fault_kinds import KINDS
from simulator.fleet.figures import Figures, figures_of
from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.truth import FaultSource, SimulatedFleet
from simulator.fleet.wish import FaultModel, FleetWish
from triage.fleet.domain.cause import OutageCause, RepairAction, classify_outage_cause
from triage.fleet.record.faults import faults_of

DAY_NS = 86_400e9
SMALL = FleetWish.like_real(nodes=96, days=120, seed=3)
SEEDS = range(6)


@cache
def fleet(wish: FleetWish) -> SimulatedFleet:
    return simulate_fleet(wish)


@cache
def published() -> list[Figures]:
    return [figures_of(fleet(FleetWish.like_real(seed=seed)).record) for seed in SEEDS]


@pytest.mark.parametrize(
    ("figure", "value", "within"),
    [
        ("rate_per_1000", 4.18, 0.5),
        ("daily_dispersion", 3.4, 0.9),
        ("node_dispersion", 2.6, 0.4),
        ("failed_nodes", 231 / 400, 0.06),
        ("repair_median_days", 0.85, 0.3),
        ("repair_mean_days", 5.5, 1.8),
        ("again_in_7", 0.33, 0.03),
        ("again_in_30", 0.45, 0.04),
        ("away_mean", 9.3, 3.0),
        ("most_in_a_day", 20, 6),
    ],
)
def test_the_mean_fleet_has_the_published_figure(figure, value, within):
    assert mean(getattr(one, figure) for one in published()) == pytest.approx(value, abs=within)


def test_nodes_away_at_once_are_over_dispersed():
    assert 2.5 < median(one.away_dispersion for one in published()) < 9


def test_the_longest_repairs_last_for_months():
    assert 60 < median(one.repair_longest_days for one in published()) < 150


def test_causes_stay_unknown_as_often_as_published():
    causes = [cause for seed in SEEDS for cause in causes_of(FleetWish.like_real(seed=seed))]

    assert causes.count(OutageCause.UNKNOWN) / len(causes) == pytest.approx(144 / 584, abs=0.06)
    assert causes.count(OutageCause.FAILED_TEST) / len(causes) == pytest.approx(97 / 584, abs=0.06)


def causes_of(wish: FleetWish) -> tuple[OutageCause, ...]:
    return faults_of(fleet(wish).record).cause


def test_the_hazard_after_a_return_falls():
    within = np.array([counts_after_returns(fleet(FleetWish.like_real(seed=seed)))
                       for seed in SEEDS]).sum(axis=0)  # fmt: skip
    per_day = within / np.array([1, 6, 23])

    assert per_day[0] > 4 * per_day[1]
    assert per_day[1] > 2 * per_day[2]


def counts_after_returns(of: SimulatedFleet) -> list[int]:
    """Failures on the first day after a return, the six after it and the 23 after those."""
    faults = faults_of(of.record)
    gaps = []
    for node in range(faults.num_nodes):
        own = np.flatnonzero(faults.node == node)
        gaps += (faults.start_day[own][1:] - faults.end_day[own][:-1]).tolist()
    return [sum(low <= gap < high for gap in gaps) for low, high in ((0, 1), (1, 7), (7, 30))]


def test_with_repairs_that_always_take_nodes_fail_again_at_the_base_rate():
    model = FaultModel(again_times=0, burst_share=0, batches=(), cage_times=1, front_ends=0,
                       shortages=0, moved_share=0)  # fmt: skip
    found = [
        figures_of(fleet(
            FleetWish.like_real(seed=seed, faults=model, lemon_share=0)
        ).record)
        for seed in SEEDS
    ]  # fmt: skip

    assert mean(one.again_in_7 for one in found) == pytest.approx(0.029, abs=0.01)
    assert mean(one.again_in_30 for one in found) == pytest.approx(0.118, abs=0.02)
    assert mean(one.daily_dispersion for one in found) == pytest.approx(1.0, abs=0.1)
    assert mean(one.node_dispersion for one in found) == pytest.approx(1.0, abs=0.1)
    assert mean(one.rate_per_1000 for one in found) == pytest.approx(4.18, abs=0.5)


def test_the_same_wish_gives_the_same_fleet():
    one, two = simulate_fleet(SMALL), simulate_fleet(SMALL)
    other = simulate_fleet(replace(SMALL, seed=4))

    assert one.faults == two.faults
    assert one.culprits == two.culprits
    assert np.array_equal(one.record.runs.node, two.record.runs.node)
    assert np.array_equal(one.record.outages.end_ns, two.record.outages.end_ns)
    assert one.faults != other.faults


@pytest.mark.parametrize(
    "wish",
    [
        SMALL,
        FleetWish.like_real(nodes=1, days=400, seed=1),
        FleetWish.like_real(nodes=2, days=7, seed=1),
        FleetWish.like_real(nodes=20, days=3650, seed=2),
        replace(SMALL, bad_leaves=2, healthy_shape=2.0),
    ],
    ids=["small", "one node", "a week", "ten years", "bad leaves"],
)
def test_a_record_holds_together(wish):
    made = fleet(wish)
    record, runs, outages = made.record, made.record.runs, made.record.outages

    assert (np.diff(runs.start_ns) >= 0).all()
    assert (runs.end_ns >= runs.start_ns).all()
    assert not (runs.interrupted & runs.planned).any()
    assert record.interruptions.at_ns.tolist() == runs.end_ns[record.interruptions.run].tolist()
    assert len(made.culprits) == len(record.interruptions.at_ns)
    assert (np.diff(outages.start_ns) >= 0).all()
    assert (outages.end_ns >= outages.start_ns).all()
    assert (outages.start_ns >= record.since_ns).all()
    assert (outages.end_ns <= record.until_ns).all()
    busy = [[] for _ in record.nodes]
    for run in range(len(runs.start_ns)):
        for node in runs.node[runs.node_at[run] : runs.node_at[run + 1]].tolist():
            busy[node].append((runs.start_ns[run], runs.end_ns[run]))
    for node, start, end in zip(outages.node, outages.start_ns, outages.end_ns, strict=True):
        busy[node].append((start, end))
    # Neither two runs at once, nor a run of a node in repair, nor two repairs of it.
    for spans in busy:
        spans.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_the_truth_is_that_of_the_record():
    made = fleet(FleetWish.like_real(seed=1))
    outages, since = made.record.outages, made.record.since_ns

    unplanned = np.flatnonzero(~outages.planned).tolist()
    assert sorted(fault.outage for fault in made.faults) == unplanned
    names = {name for _, *pair in made.renamed for name in pair}
    for number, fault in enumerate(made.faults):
        row = fault.outage
        assert made.record.nodes[outages.node[row]] == fault.node
        assert outages.cause[row] is fault.cause
        assert outages.action[row] in (fault.action, None)
        assert outages.start_ns[row] == pytest.approx(
            since + max(fault.start_day, 0) * DAY_NS, abs=1e6
        )
        if fault.again_of is not None:
            assert fault.again_of < number
            before = made.faults[fault.again_of]
            # Under another name it came back when that name did.
            assert before.end_day <= fault.start_day or before.node in names
            assert before.took is (fault.source is FaultSource.MOVED)
            if before.cause is fault.cause is OutageCause.GPU and before.took:
                assert before.part == fault.part


def test_each_interruption_by_a_node_is_a_fault_of_it():
    made = fleet(FleetWish.like_real(seed=2))
    began = {(fault.node, round(fault.start_day, 6)) for fault in made.faults}
    stops = made.record.interruptions.at_ns - made.record.since_ns

    guilty = [
        (node, round(at / DAY_NS, 6))
        for node, at in zip(made.culprits, stops.tolist(), strict=True)
        if node is not None
    ]
    assert len(guilty) > 300
    assert set(guilty) <= began


def test_a_moved_gpu_takes_its_fault_along():
    wish = FleetWish.like_real(nodes=400, seed=5, faults=FaultModel(moved_share=0.8))
    made = fleet(wish)
    moved = [fault for fault in made.faults if fault.source is FaultSource.MOVED]

    assert len(moved) >= 3
    for fault in moved:
        move = next(move for move in made.moves
                    if (move.part, move.to_slot) == (fault.part, fault.slot)
                    and move.in_day <= fault.start_day)  # fmt: skip
        assert move.from_node != move.to_node
        assert move.out_day <= move.in_day
        taken_out = [other for other in made.faults
                     if other.part == fault.part and other.node == move.from_node
                     and other.action is RepairAction.SWAP_GPU]  # fmt: skip
        assert taken_out or move.out_day < 0


def test_no_part_is_in_two_places():
    made = fleet(FleetWish.like_real(nodes=400, seed=5, faults=FaultModel(moved_share=0.8)))

    for move in made.moves:
        others = [fault for fault in made.faults
                  if fault.part == move.part and fault.node != move.from_node
                  and fault.start_day < move.out_day]  # fmt: skip
        earlier = {name for other in made.moves for name in (other.from_node, other.to_node)
                   if other.part == move.part and other.in_day <= move.out_day}  # fmt: skip
        renamed = {name for _, *pair in made.renamed for name in pair}
        assert all(fault.node in earlier | renamed for fault in others)


def test_lemons_fail_a_few_times_as_often():
    of_lemons = of_others = 0.0
    for seed in SEEDS:
        made = fleet(FleetWish.like_real(seed=seed))
        ordinary = set(made.record.nodes) - made.special
        own = [fault.node for fault in made.faults if fault.source is FaultSource.OWN]
        of_lemons += sum(node in made.lemons for node in own) / len(made.lemons)
        others = ordinary - made.lemons
        of_others += sum(node in others for node in own) / len(others)

    assert 3.6 < of_lemons / of_others < 7.6


def test_old_batches_and_top_cages_fail_as_often_as_published():
    model = FaultModel(again_times=0, burst_share=0, front_ends=0, renamed_share=0)
    per: dict[tuple[str, str], float] = {}
    for seed in range(4):
        made = fleet(FleetWish.like_real(
            nodes=600, seed=seed, faults=model, lemon_share=0, rate=0.02))  # fmt: skip
        place = {
            name: (batch, cage)
            for name, batch, cage in zip(
                made.record.nodes, made.record.batch, made.record.cage, strict=True
            )
        }
        for fault in made.faults:
            if fault.cause is OutageCause.GPU:
                per[place[fault.node]] = per.get(place[fault.node], 0) + 1

    old = sum(number for (batch, _), number in per.items() if batch == "old")
    new = sum(number for (batch, _), number in per.items() if batch == "new")
    top = sum(number for (_, cage), number in per.items() if cage == "top")
    bottom = sum(number for (_, cage), number in per.items() if cage == "bottom")
    assert old / new == pytest.approx(14.7, rel=0.25)
    assert top / bottom == pytest.approx(2.4, rel=0.2)


def test_a_front_end_runs_no_job_and_fails_of_other_things():
    made = fleet(FleetWish.like_real(seed=6))
    (front_end,) = made.special
    number = made.record.nodes.index(front_end)
    own = [fault.cause for fault in made.faults if fault.node == front_end]

    assert made.record.role[number] == "front_end"
    assert number not in made.record.runs.node
    assert len(own) >= 5
    assert OutageCause.GPU not in own[:1]
    assert own.count(OutageCause.SOFTWARE) + own.count(OutageCause.STORAGE) > len(own) / 2


def test_a_drift_is_in_the_rate_and_none_is_not():
    ratio = {}
    for drift in (1.0, 4.0):
        first = last = 0
        for seed in range(4):
            wish = FleetWish.like_real(seed=seed, faults=FaultModel(drift=drift))
            start = faults_of(fleet(wish).record).start_day
            first, last = first + (start < 116).sum(), last + (start > 233).sum()
        ratio[drift] = last / first

    assert ratio[1.0] == pytest.approx(1.0, abs=0.35)
    assert ratio[4.0] == pytest.approx(2.52, abs=0.7)


def test_the_words_of_each_kind_name_its_cause():
    for kind in KINDS:
        for words in kind.words:
            assert classify_outage_cause(*words) is kind.cause


def test_a_maintenance_ends_runs_as_planned():
    made = fleet(FleetWish.like_real(seed=3))

    assert made.record.outages.planned.sum() > 50
    assert made.record.runs.planned.sum() > 10
    assert sum(made.record.runs.interrupted) == len(made.record.interruptions.at_ns)
