"""Simulated fleets: runs, interruptions and who was accused, with lemons that are known.

``FleetWish()`` is a fleet whose nodes fail at rates that nothing changes, each repair takes and
lemons are bad ones. ``FleetWish.like_real()`` follows records of real fleets: repairs that do not
take, bursts, long repairs, batches, moved parts, mild lemons.

>>> fleet = simulate_fleet(FleetWish.like_real(nodes=64, days=60, seed=7))
>>> len(fleet.record.outages.node) >= len([fault for fault in fleet.faults if fault.outage >= 0])
True
"""

from simulator.fleet.columns import OutageRow
from simulator.fleet.poisson_fleet import PoissonFleet
from simulator.fleet.real_fleet import RealFleet
from simulator.fleet.truth import SimulatedFleet
from simulator.fleet.wish import (
    FaultModel,
    FleetWish,
)


def simulate_fleet(wish: FleetWish | None = None) -> SimulatedFleet:
    """The record of a fleet; the same wish gives the same record."""
    wish = wish or FleetWish()
    if wish.faults is not None:
        return RealFleet(wish, wish.faults).lived()
    return PoissonFleet(wish).lived()


def simulated_outages(wish: FleetWish) -> list[OutageRow]:
    """The outages of a fleet like a real one alone, by start, in days: no job runs on it."""
    fleet = RealFleet(wish, wish.faults or FaultModel())
    fleet.plan_outages()
    return fleet.columns.outages
