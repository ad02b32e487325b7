"""Fleets whose repairs hold or do not, as they were planted."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.faults import Faults, faults_of
from triage.fleet.repairs.returns import Returns, build_returns
from triage.reliability import record_from_frames

Kind = tuple[OutageCause, RepairAction | None]
Row = tuple[str, float, float | None, str]
NIC_SWAPPED: Kind = (OutageCause.NIC, RepairAction.SWAP_NIC)
NIC_REBOOTED: Kind = (OutageCause.NIC, RepairAction.REBOOT)
ANY: Kind = (OutageCause.UNKNOWN, None)


def record(*rows: Row, nodes: int = 8, days: float = 100.0) -> FleetRecord:
    """A record of outages alone: node, from, to (days), and the reason."""
    table = pd.DataFrame(rows, columns=["node", "from_day", "to_day", "cause"])
    since = pd.Timestamp("2000-01-01")
    return record_from_frames(
        outages=table, nodes=nodes, since=since, until=since + pd.Timedelta(days=days)
    )


def returns(*rows: Row, nodes: int = 8, days: float = 100.0) -> Returns:
    """The returns of such a record."""
    return build_returns(faults_of(record(*rows, nodes=nodes, days=days)))


def fleet(
    seed: int = 1,
    *,
    again: Mapping[Kind, float],
    nodes: int = 600,
    days: float = 300.0,
    a_day: float = 0.004,
    bad: Sequence[int] = (),
) -> Faults:
    """Faults of a fleet whose returns fail again within days as often as ``again`` says.

    ``bad`` nodes fail again nine times out of ten, whatever is done.
    """
    rng = np.random.default_rng(seed)
    kinds = list(again)
    rows: list[tuple[float, int, float, Kind]] = []
    for node in range(nodes):
        at = rng.exponential(1 / a_day)
        while at < days:
            kind = kinds[rng.integers(len(kinds))]
            end = at + rng.lognormal(-1.0, 1.0)
            rows.append((at, node, end, kind))
            soon = rng.random() < (0.9 if node in bad else again[kind])
            at = end + (rng.exponential(1.5) if soon else rng.exponential(1 / a_day))
    rows.sort(key=lambda row: row[:2])
    ends = np.array([end for _, _, end, _ in rows])
    return Faults(
        node=np.array([node for _, node, _, _ in rows], np.int32),
        start_day=np.array([at for at, *_ in rows]),
        end_day=np.minimum(ends, days),
        back_day=np.minimum(ends, days),
        begun=np.ones(len(rows), np.bool_),
        back=ends < days,
        cause=tuple(kind[0] for *_, kind in rows),
        action=tuple(kind[1] for *_, kind in rows),
        num_nodes=nodes,
        days=days,
    )
