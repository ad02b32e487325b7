"""Records of outages alone, planted for tests of standings."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.from_rows import record_from_frames

START = pd.Timestamp("2026-01-01", tz="UTC")

# (node, from day, to day, cause)
Out = tuple[str, float, float, str]


def record_of(rows: Sequence[Out], *, nodes: int = 100, days: float = 200.0) -> FleetRecord:
    """A record of ``days`` and at least ``nodes`` nodes, n000 and so on."""
    names = {f"n{one:03d}" for one in range(nodes)}
    table = pd.DataFrame(
        {
            "node": [row[0] for row in rows],
            "from_at": [START + pd.Timedelta(days=row[1]) for row in rows],
            "to_at": [None if row[2] > days else START + pd.Timedelta(days=row[2]) for row in rows],
            "cause": [row[3] for row in rows],
        }
    )
    until = START + pd.Timedelta(days=days)
    return record_from_frames(outages=table, nodes=sorted(names), since=START, until=until)


def at_random(
    num: int, *, nodes: int = 100, days: float = 200.0, seed: int = 0, cause: str = "gpu"
) -> list[Out]:
    """So many outages of two hours, each of any node."""
    chance = np.random.default_rng(seed)
    return [
        (f"n{chance.integers(nodes):03d}", at, at + 0.08, cause)
        for at in chance.uniform(0, days - 1, num).tolist()
    ]


def in_bursts(num: int, *, nodes: int = 100, days: float = 200.0, seed: int = 0) -> list[Out]:
    """Outages of any node, half of which come back within days, again and again."""
    chance = np.random.default_rng(seed)
    rows: list[Out] = []
    for node, day in zip(
        chance.integers(nodes, size=num).tolist(), chance.uniform(0, days - 1, num).tolist(),
        strict=True,
    ):  # fmt: skip
        at = day
        while at < days - 1:
            rows.append((f"n{node:03d}", at, at + 0.08, "memory"))
            if chance.random() > 0.6:
                break
            at += 0.1 + chance.exponential(6.0)
    return rows
