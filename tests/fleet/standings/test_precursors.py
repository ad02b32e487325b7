"""Counters that announce: a planted one is found with its lead, any other one is not."""

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import pytest

from triage.domain.precursor import NO_PRECURSORS, Precursors
from triage.fleet.record.columns import CounterDays, FleetRecord
from triage.fleet.record.from_frames import record_from_frames
from triage.fleet.render.precursors import describe_precursors
from triage.fleet.standings.precursors import COUNTERS, judge_precursors
from triage.fleet.standings.standing import fleet_standings
from triage.fleet.store.telemetry import COUNTERS as STORED

RECOVERIES: Final = "link_recovery_growth"
CORRECTED: Final = "ecc_corrected_growth"
BEGIN: Final = pd.Timestamp("2026-08-01", tz="UTC")
DAYS: Final = 112


def record(
    seed: int = 1,
    *,
    nodes: int = 200,
    days: int = DAYS,
    rate: float = 0.005,
    announced: float = 0.5,
    noise: float = 0.01,
    lead: int = 2,
    bad_from: int = 0,
) -> FleetRecord:
    """Faults at random; before a share of them link recoveries grow by 20 and more, some days
    ``lead``. Corrected errors grow at random, on all days of nodes from ``bad_from`` days on.
    """
    rng = np.random.default_rng(seed)
    outages, rows = [], []
    for node in range(nodes):
        for day in np.flatnonzero(rng.random(days) < rate).tolist():
            start = day + rng.random()
            outages.append((f"n{node:04d}", start, min(start + 0.1 + rng.exponential(1.0), days)))
            if rng.random() < announced and day >= lead + bad_from:
                rows.append((node, day - lead, 20.0 + rng.integers(0, 30), 0.0))
        rows += [
            (node, day, float(rng.geometric(0.2)), float(rng.geometric(0.01)))
            for day in np.flatnonzero(rng.random(days) < noise).tolist()
        ]
    return with_counters(outages, rows, nodes, days)


def with_counters(outages, rows, nodes: int, days: int) -> FleetRecord:
    frame = pd.DataFrame(outages, columns=["node", "from_day", "to_day"])
    for name in ("from", "to"):
        frame[f"{name}_at"] = BEGIN + pd.to_timedelta(frame[f"{name}_day"], unit="D")
    found = record_from_frames(
        outages=frame[["node", "from_at", "to_at"]],
        nodes=[f"n{node:04d}" for node in range(nodes)],
        since=BEGIN,
        until=BEGIN + pd.Timedelta(days=days),
    )
    table = np.array(rows, np.float64).reshape(len(rows), 4)
    everybody = np.arange(nodes, dtype=np.int32)
    counters = CounterDays(
        node=table[:, 0].astype(np.int32),
        day=table[:, 1].astype(np.int32),
        growth={RECOVERIES: table[:, 2], CORRECTED: table[:, 3]},
        seen_node=everybody,
        first_day=np.zeros(nodes, np.int32),
        last_day=np.full(nodes, days - 1, np.int32),
    )
    return replace(found, counters=counters)


def paying(found: Precursors) -> list[str]:
    return [one.counter for one in found.counters if one.pays]


@pytest.mark.parametrize("lead", [1, 2, 5])
def test_a_counter_that_grows_before_faults_is_found_with_its_lead(lead: int) -> None:
    found = judge_precursors(record(lead=lead))
    row = next(one for one in found.counters if one.counter == RECOVERIES)

    assert paying(found) == [RECOVERIES]
    assert row.lead_days == pytest.approx(lead, abs=0.5)
    assert row.threshold is not None
    assert 10 <= row.threshold <= 25
    assert row.announced == pytest.approx(0.5, abs=0.2)
    assert row.precision is not None
    assert row.base_rate is not None
    assert row.precision > 5 * row.base_rate
    assert "base rate" in row.text
    assert found.text.startswith("Growth of link recoveries announces faults here: ")


def test_growth_that_has_nothing_to_do_with_faults_is_not_found() -> None:
    found = judge_precursors(record(announced=0.0, noise=0.05))

    assert paying(found) == []
    assert found.flags == ()
    assert found.text.startswith("No counter of this fleet announces faults: ")


def test_shuffled_nodes_find_nothing_in_19_of_20_fleets() -> None:
    rng = np.random.default_rng(7)
    wrong = 0
    for seed in range(40):
        planted = record(seed, nodes=100, rate=0.01)
        counters = planted.counters
        assert counters is not None
        other = rng.permutation(100).astype(np.int32)
        shuffled = replace(counters, node=other[counters.node])
        wrong += bool(paying(judge_precursors(replace(planted, counters=shuffled))))

    assert wrong <= 4  # two are expected


def test_what_a_fault_prints_itself_announces_nothing() -> None:
    """Counters that grow on the day of the fault, and while the node is out."""
    assert paying(judge_precursors(record(lead=0))) == []


def test_what_held_in_the_earlier_half_alone_does_not_pay() -> None:
    planted = record()
    counters = planted.counters
    assert counters is not None
    kept = counters.day < DAYS // 2
    early = replace(
        counters, node=counters.node[kept], day=counters.day[kept],
        growth={name: values[kept] for name, values in counters.growth.items()},
    )  # fmt: skip

    assert paying(judge_precursors(replace(planted, counters=early))) == []


@pytest.mark.parametrize(
    ("nodes", "days", "rate"), [(1, DAYS, 0.05), (200, 7, 0.005), (20, DAYS, 0.002), (5, 1, 0.5)],
    ids=["one node", "a week", "few faults", "a day"],
)  # fmt: skip
def test_a_small_record_cannot_tell(nodes: int, days: int, rate: float) -> None:
    found = judge_precursors(record(nodes=nodes, days=days, rate=rate))

    assert found.counters == ()
    assert "cannot be told" in found.text
    assert f"{found.num_faults:,} fault" in found.text


def test_without_telemetry_nothing_is_said() -> None:
    bare = replace(record(nodes=20), counters=None)

    assert judge_precursors(bare) == NO_PRECURSORS
    assert describe_precursors(fleet_standings(bare).to_dict()) == []


def test_a_node_that_is_flagged_now_is_under_watch_with_the_sentence() -> None:
    planted = record()
    counters = planted.counters
    assert counters is not None
    fresh = replace(
        counters,
        node=np.append(counters.node, [3, 4]).astype(np.int32),
        day=np.append(counters.day, [DAYS - 1, DAYS - 40]).astype(np.int32),
        growth={
            name: np.append(values, [41.0, 41.0] if name == RECOVERIES else [0.0, 0.0])
            for name, values in counters.growth.items()
        },
    )

    found = fleet_standings(replace(planted, counters=fresh))

    flags = {flag.node: flag for flag in found.precursors.flags}
    assert flags["n0003"].grew == 41
    assert flags["n0003"].days_ago == 0
    assert "its link recoveries grew by 41 in 3 days; here " in flags["n0003"].text
    assert "were followed by a fault within 7 days, base rate " in flags["n0003"].text
    shown = describe_precursors(found.to_dict())
    assert shown[0] == found.precursors.text
    assert any(text.startswith("n0003: its link recoveries") for text in shown)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -50.0])
def test_numbers_that_cannot_be_are_no_growth(value: float) -> None:
    planted = record()
    counters = planted.counters
    assert counters is not None
    broken = {name: np.full_like(values, value) for name, values in counters.growth.items()}

    assert (
        paying(judge_precursors(replace(planted, counters=replace(counters, growth=broken)))) == []
    )


def test_days_outside_the_record_are_passed_over() -> None:
    planted = record()
    counters = planted.counters
    assert counters is not None
    far = replace(
        counters,
        day=np.where(np.arange(len(counters.day)) % 2, counters.day, counters.day + 10_000).astype(
            np.int32
        ),
        first_day=counters.first_day - 400,
        last_day=counters.last_day + 400,
    )

    assert judge_precursors(replace(planted, counters=far)).num_nodes == 200


def test_the_same_record_gives_the_same_answer() -> None:
    assert judge_precursors(record()) == judge_precursors(record())


def test_every_stored_counter_has_a_name() -> None:
    assert set(STORED) == set(COUNTERS)
