"""Small fleets for tests of standings: one run of all nodes, and who was accused when."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from triage.domain.category import Category
from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.columns import (
    Accusations,
    FleetRecord,
    Interruptions,
    NodeSignals,
    Outages,
    OutageStretch,
    Runs,
)

DAY_NS = 86_400 * 10**9
SINCE_NS = 1_780_000_000 * 10**9
DAYS = 56

# (node, score) beside each other are a tie; a third value is the part.
Accused = Sequence[tuple[Any, ...]]


def node_name(number: int) -> str:
    return f"n{number:04d}"


def fleet(
    stops: Sequence[tuple[float, Accused]] = (),
    *,
    nodes: int = 100,
    days: float = DAYS,
    categories: Mapping[int, Category] | None = None,
    causes: Mapping[int, Category | None] | None = None,
    planned: Sequence[int] = (),
    without_run: Sequence[int] = (),
    outside: Sequence[int] = (),
    leaf_size: int | None = None,
    signals: Mapping[str, NodeSignals] | None = None,
    outages: Sequence[tuple[int, float]] = (),
    generation: Sequence[str | None] | None = None,
) -> FleetRecord:
    """One run of all nodes but ``outside`` over all days; ``stops`` are (day, accused)."""
    members = np.array([one for one in range(nodes) if one not in outside], dtype=np.int32)
    told = [(stop, *row) for stop, (_, accused) in enumerate(stops) for row in accused]
    of = (categories or {}).get
    count = len(stops)
    return FleetRecord(
        since_ns=SINCE_NS,
        until_ns=SINCE_NS + round(days * DAY_NS),
        nodes=tuple(node_name(one) for one in range(nodes)),
        generation=(None,) * nodes if generation is None else tuple(generation),
        rack=(None,) * nodes,
        leaf_switch=tuple(
            None if leaf_size is None else f"leaf{one // leaf_size}" for one in range(nodes)
        ),
        runs=Runs(
            start_ns=np.array([SINCE_NS]),
            end_ns=np.array([SINCE_NS + round(days * DAY_NS)]),
            num_nodes=np.array([len(members)], dtype=np.int32),
            num_gpus=np.array([8 * len(members)], dtype=np.int32),
            interrupted=np.array([True]),
            planned=np.array([False]),
            node_at=np.array([0, len(members)]),
            node=members,
        ),
        interruptions=Interruptions(
            at_ns=np.array([SINCE_NS + round(day * DAY_NS) for day, _ in stops], dtype=np.int64),
            cause=tuple((causes or {}).get(one, of(one, Category.GPU)) for one in range(count)),
            resolved=np.zeros(count, dtype=bool),
            planned=np.array([one in planned for one in range(count)], dtype=bool),
            run=np.array([-1 if one in without_run else 0 for one in range(count)], dtype=np.int32),
            num_gpus=np.zeros(count, dtype=np.int32),
            incident_id=tuple(f"inc{one}" for one in range(count)),
        ),
        accusations=Accusations(
            interruption=np.array([row[0] for row in told], dtype=np.int32),
            node=np.array([row[1] for row in told], dtype=np.int32),
            position=np.ones(len(told), dtype=np.int32),
            score=np.array([row[2] for row in told], dtype=np.float64),
            convicted=np.array([row[2] >= 0.5 for row in told], dtype=bool),
            category=tuple(of(row[0], Category.GPU) for row in told),
            part=tuple(row[3] if len(row) > 3 else None for row in told),
        ),
        outages=Outages.of_rows(
            [
                OutageStretch(
                    node,
                    *(SINCE_NS + round(at * DAY_NS) for at in (day, day + 0.1)),
                    "",
                    OutageCause.UNKNOWN,
                    None,
                    planned=False,
                )
                for node, day in outages
            ]
        ),
        signals=signals or {},
    )


def alone(node: int, days: Sequence[float], part: str | None = None) -> list[tuple[float, Accused]]:
    """Interruptions in which one node stood alone."""
    return [(day, [(node, 0.97, part)]) for day in days]


def background(num: int, nodes: int = 100, days: float = DAYS) -> list[tuple[float, Accused]]:
    """One interruption each of ``num`` different nodes, from the last on, spread over the days."""
    return [((one + 0.5) * days / num, [(nodes - 1 - one, 0.97)]) for one in range(num)]
