"""Fleets as the renderers get them: plain dicts, of a small fleet, a large one and none."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.wish import FleetWish
from tests.fleet.fleets import alone, fleet
from tests.fleet.records import example_record, record
from triage.domain.category import Category
from triage.fleet.record.columns import FleetRecord
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.report import fleet_report
from triage.fleet.standings.standing import fleet_standings

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J\u202e"

WireForms = tuple[Mapping[str, Any], Mapping[str, Any]]


def told(record_of: FleetRecord, **options: Any) -> WireForms:
    """(report, standings) as they come over the wire."""
    answer = fleet_report(record_of, options=FleetOptions(**options))
    return answer.to_dict(), fleet_standings(record_of).to_dict()


@cache
def llama3() -> WireForms:
    """54 days of one job of 16,384 GPUs; nobody is accused."""
    return told(example_record())


@cache
def with_lemons() -> WireForms:
    """60 days of 256 nodes behind 8 leaf switches, some of them lemons, one switch bad."""
    wish = FleetWish(nodes=256, seed=3, rate=0.02, leaf_per_day=0.4, lemon_share=0.02)
    return told(simulate_fleet(wish).record)


@cache
def nothing() -> WireForms:
    """A record of no run and no interruption."""
    return told(record(num_nodes=0))


@cache
def one_stop() -> WireForms:
    """A fleet with one interruption, whose size nobody said."""
    return told(fleet([(3.0, [(4, 1.0)])]))


@cache
def hostile() -> WireForms:
    """Names of nodes, switches and parts that would be markup, or drive a terminal."""
    stops = [*alone(4, np.linspace(1, 50, 9).tolist(), part=HOSTILE)]
    base = fleet(stops, leaf_size=8, categories=dict.fromkeys(range(9), Category.GPU))
    from dataclasses import replace

    bad = replace(
        base,
        nodes=tuple(f"{name}{HOSTILE}" for name in base.nodes),
        leaf_switch=tuple(f"{name}{HOSTILE}" for name in base.leaf_switch),
        rack=(HOSTILE,) * len(base.nodes),
        generation=(HOSTILE,) * len(base.nodes),
        cluster=HOSTILE,
        notes=(HOSTILE,),
    )
    return told(bad)
