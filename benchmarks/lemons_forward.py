"""Calls of lemons walked forward, beside as many nodes of the highest counts.

A fleet's record is cut at several days. At each the standings name lemons from what was known by
then, and the faults of these in the next 56 days are held against those of as many nodes by plain
and decayed counts; where nodes tie, the mean of them counts. Both kinds of simulated fleets: in
one nodes fail at rates that nothing changes, the other is like a real one. Special nodes stand
aside. The best of the counts is chosen in hindsight, so it flatters the counts.

    python -m benchmarks.lemons_forward [--seeds 6] [--step 42]
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.table import aligned, machine
from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.truth import SimulatedFleet
from simulator.fleet.wish import FaultModel, FleetWish
from triage.domain.standing import Grade
from triage.fleet.record.columns import FleetRecord, Floats
from triage.fleet.record.faults import faults_of
from triage.fleet.standings.standing import fleet_standings

_AHEAD_DAYS: Final = 56.0
_FIRST_DAY: Final = 84.0
_DAY_NS: Final = 86_400 * 10**9
_WINDOWS: Final = (56.0, 112.0)
_HALF_LIVES: Final = (14.0, 28.0)
_FLEETS: Final = {
    "like real, 400 nodes": FleetWish.like_real(),
    "like real, 1,000 nodes": FleetWish.like_real(nodes=1000),
    "like real, all repairs take": FleetWish.like_real(
        faults=FaultModel(again_times=0.0, burst_share=0.0)
    ),
    "lemons 20 times, 1,024 nodes": FleetWish(nodes=1024, days=280.0, lemon_factor=20.0),
    "lemons 5 times, 1,024 nodes": FleetWish(nodes=1024, days=280.0, lemon_factor=5.0),
}


@dataclass(frozen=True, slots=True)
class _Call:
    """The nodes called on one day: what they did, and what those of each count did."""

    called: int
    failed: int
    lemons: int
    faults: float
    of_any: float
    by_count: Mapping[str, float]


def main() -> int:
    """Simulate, cut, call, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--step", type=float, default=42.0, help="days between two cuts")
    options = parser.parse_args()
    print(f"{machine()}; {options.seeds} fleets of each kind\n")
    rows = []
    for name, wish in _FLEETS.items():
        calls = [
            call
            for seed in range(options.seeds)
            for call in _calls_of(simulate_fleet(replace(wish, seed=seed)), options.step)
        ]
        rows.append(_row_of(name, calls))
    print(aligned(_HEAD, rows))
    return 0


def _calls_of(fleet: SimulatedFleet, step_days: float) -> Iterator[_Call]:
    """The calls of one fleet, one for each cut that names anybody."""
    record = fleet.record
    days = (record.until_ns - record.since_ns) / _DAY_NS
    node, day, weight = _faults_told(record)
    true_node, true_day = _true_faults(fleet)
    special = np.array([name in fleet.special for name in record.nodes])
    place = {name: number for number, name in enumerate(record.nodes)}
    for cut in np.arange(_FIRST_DAY, days - _AHEAD_DAYS + 1e-6, step_days).tolist():
        found = fleet_standings(known_at(record, cut)).nodes
        called = [place[row.node] for row in found if row.grade is Grade.LEMON]
        called = [number for number in called if not special[number]]
        if not called:
            continue
        ahead = (true_day >= cut) & (true_day < cut + _AHEAD_DAYS)
        after = np.bincount(true_node[ahead], minlength=len(record.nodes)).astype(np.float64)
        before = day < cut
        scores = _counts_at(node[before], cut - day[before], weight[before], len(record.nodes))
        yield _Call(
            called=len(called),
            failed=int(np.count_nonzero(after[called])),
            lemons=sum(record.nodes[number] in fleet.lemons for number in called),
            faults=float(after[called].sum()),
            of_any=float(after[~special].mean()) * len(called),
            by_count={
                name: of_highest(score[~special], len(called), after[~special])
                for name, score in scores.items()
            },
        )


def known_at(record: FleetRecord, day: float) -> FleetRecord:
    """The record as it was on a day: what was to come is not in it, what lasted has no end yet."""
    until = record.since_ns + round(day * _DAY_NS)
    runs, stops, outages, accused = (
        record.runs, record.interruptions, record.outages, record.accusations,
    )  # fmt: skip
    kept = int(np.searchsorted(runs.start_ns, until))
    ended = runs.end_ns[:kept] <= until
    num_stops = int(np.searchsorted(stops.at_ns, until, "right"))
    of_stops = accused.interruption < num_stops
    out = np.flatnonzero(outages.start_ns < until)
    over = outages.end_ns[out] <= until
    return replace(
        record,
        until_ns=until,
        runs=replace(
            runs,
            start_ns=runs.start_ns[:kept],
            end_ns=np.minimum(runs.end_ns[:kept], until),
            num_nodes=runs.num_nodes[:kept],
            num_gpus=runs.num_gpus[:kept],
            interrupted=runs.interrupted[:kept] & ended,
            planned=runs.planned[:kept] & ended,
            node_at=runs.node_at[: kept + 1],
            node=runs.node[: runs.node_at[kept]],
        ),
        interruptions=replace(
            stops,
            at_ns=stops.at_ns[:num_stops],
            cause=stops.cause[:num_stops],
            resolved=stops.resolved[:num_stops],
            planned=stops.planned[:num_stops],
            run=stops.run[:num_stops],
            num_gpus=stops.num_gpus[:num_stops],
            incident_id=stops.incident_id[:num_stops],
        ),
        accusations=replace(
            accused,
            interruption=accused.interruption[of_stops],
            node=accused.node[of_stops],
            position=accused.position[of_stops],
            score=accused.score[of_stops],
            convicted=accused.convicted[of_stops],
            category=tuple(accused.category[row] for row in np.flatnonzero(of_stops)),
            part=tuple(accused.part[row] for row in np.flatnonzero(of_stops)),
        ),
        outages=replace(
            outages,
            node=outages.node[out],
            start_ns=outages.start_ns[out],
            end_ns=np.minimum(outages.end_ns[out], until),
            reason=tuple(outages.reason[row] for row in out),
            cause=tuple(outages.cause[row] for row in out),
            action=tuple(
                outages.action[row] if done else None for row, done in zip(out, over, strict=True)
            ),
            planned=outages.planned[out],
        ),
    )


def _faults_told(record: FleetRecord) -> tuple[Floats, Floats, Floats]:
    """(node, day, weight) of what counts count: outages, or blame where a drain is all there is."""
    faults = faults_of(record)
    if record.batch:
        return faults.node.astype(np.int64), faults.start_day, np.ones(len(faults))
    accused, stops = record.accusations, record.interruptions
    whole = np.bincount(accused.interruption, accused.score, len(stops.at_ns))
    day = (stops.at_ns[accused.interruption] - record.since_ns) / _DAY_NS
    share = accused.score / whole[accused.interruption]
    return accused.node.astype(np.int64), day, share


def _true_faults(fleet: SimulatedFleet) -> tuple[Floats, Floats]:
    """(node, day) of all faults, as they were."""
    record = fleet.record
    place = {name: number for number, name in enumerate(record.nodes)}
    if fleet.faults:
        pairs = [(place[fault.node], fault.start_day) for fault in fleet.faults]
    else:
        days = (record.interruptions.at_ns - record.since_ns) / _DAY_NS
        pairs = [
            (place[name], day)
            for name, day in zip(fleet.culprits, days.tolist(), strict=True)
            if name is not None
        ]
    return np.array([node for node, _ in pairs]), np.array([day for _, day in pairs])


def _counts_at(node: Floats, age: Floats, weight: Floats, num_nodes: int) -> dict[str, Floats]:
    """The scores of each node by plain and by decayed counts."""
    weights = {"all": weight}
    weights |= {f"{days:g} days": weight * (age < days) for days in _WINDOWS}
    weights |= {f"half-life {days:g}": weight * 0.5 ** (age / days) for days in _HALF_LIVES}
    return {
        name: np.bincount(node, of_each, num_nodes).astype(np.float64)
        for name, of_each in weights.items()
    }


def of_highest(score: Floats, number: int, after: Floats) -> float:
    """What the nodes of the highest scores had afterwards; those that tie count as their mean."""
    last = np.sort(score)[-number]
    above, level = score > last, score == last
    return float(after[above].sum() + after[level].mean() * (number - above.sum()))


_HEAD: Final = (
    "fleet", "calls", "lemons", "failed in 56 days", "faults of a call", "of any node",
    "by the best count", "which", "calls over it",
)  # fmt: skip


def _row_of(name: str, calls: Sequence[_Call]) -> tuple[str, ...]:
    """One line of the table."""
    number = sum(call.called for call in calls)
    if not number:
        return (name, "0", *("-",) * (len(_HEAD) - 2))
    totals = {
        count: sum(call.by_count[count] for call in calls) / number for count in calls[0].by_count
    }
    best = max(totals, key=lambda count: totals[count])
    faults = sum(call.faults for call in calls) / number
    return (
        name,
        str(number),
        f"{sum(call.lemons for call in calls) / number:.0%}",
        f"{sum(call.failed for call in calls) / number:.0%}",
        f"{faults:.2f}",
        f"{sum(call.of_any for call in calls) / number:.2f}",
        f"{totals[best]:.2f}",
        best,
        f"{faults / totals[best]:.2f}" if totals[best] else "-",
    )


if __name__ == "__main__":
    raise SystemExit(main())
