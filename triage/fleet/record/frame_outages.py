"""Outages out of a DataFrame: what cannot be is left out and counted, reports of one merged.

Rows of one node and start are reports of one outage. Which of them stands is told by
``triage.fleet.domain.same_outage``, as it is for what an import keeps.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from triage.fleet.domain.cause import OutageCause, classify_outage_cause
from triage.fleet.domain.repair import RepairAction, classify_repair_action
from triage.fleet.domain.same_outage import (
    CLOCKS_APART,
    complete_fields,
    describe_contradictions,
    is_contradiction,
    order_reports,
)
from triage.fleet.record.columns import Outages, Runs
from triage.fleet.record.frame_columns import (
    FIRST_DAY_NS,
    NONE_NS,
    get_column_values,
    read_days_column,
    read_names_column,
    read_times_column,
)
from triage.fleet.record.next_runs import find_next_runs

if TYPE_CHECKING:
    from pandas import DataFrame

_Ints = npt.NDArray[np.int64]
_SECOND_NS: Final = 10**9
_APART_NS: Final = round(CLOCKS_APART.total_seconds()) * _SECOND_NS


class TableOutage(NamedTuple):
    """One row that can be; ``to_at`` is None where the node is still out. Times in ns."""

    node: str
    from_at: int
    to_at: int | None
    reason: str
    cause: OutageCause
    action: RepairAction | None
    planned: bool


@dataclass(frozen=True, slots=True)
class OutageTable:
    """The outages of a table, by node and start.

    ``from_first_day`` says that days are counted from the record's first one; ``notes`` what was
    left out or merged.
    """

    rows: tuple[TableOutage, ...] = ()
    from_first_day: bool = False
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, outages: "DataFrame | None") -> "OutageTable":
        """From either pair of columns of times. Raises UsageError."""
        if outages is None:
            return cls()
        begin, end_name = ("from", "to") if "from" in outages else ("from_at", "to_at")
        by_day = "from_day" in outages and begin not in outages
        if by_day:
            start = read_days_column(outages, "outages", "from_day")
            end = read_days_column(outages, "outages", "to_day", needed=False)
        else:
            start = read_times_column(outages, "outages", begin)
            end = read_times_column(outages, "outages", end_name, needed=False)
        of_node = read_names_column(outages)
        named = np.array([name is not None for name in of_node], np.bool_)
        backwards = (end != NONE_NS) & (end < start)
        kept: dict[tuple[str, int], TableOutage] = {}
        contradictions: set[tuple[str, int]] = set()
        for row in _iterate_outages(
            outages, of_node, start, end, np.flatnonzero(named & ~backwards)
        ):
            key = row.node, row.from_at // _SECOND_NS
            same = kept.get(key, row)
            if is_contradiction(same, row, _APART_NS):
                contradictions.add(key)
            kept[key] = _merge_two(same, row)
        notes = list(_describe_left_out(backwards, ~named))
        if contradictions:
            notes.append(describe_contradictions(len(contradictions)))
        return cls(tuple(kept[key] for key in sorted(kept)), by_day, tuple(notes))

    def told(self) -> _Ints:
        """All times that are told."""
        ends = [row.to_at for row in self.rows if row.to_at is not None]
        zero = [FIRST_DAY_NS] if self.from_first_day else []
        return np.array([*zero, *(row.from_at for row in self.rows), *ends], np.int64)

    def columns(self, place: Mapping[str, int], first: int, last: int, ran: Runs) -> Outages:
        """Those within the record, cut to it; ``place`` is each node's in the record.

        What is still out, and has runs that began later, was out until the first of them.
        """
        rows = [
            row
            for row in self.rows
            if row.from_at < last and (row.to_at is None or row.to_at >= first)
        ]
        start = np.array([row.from_at for row in rows], np.int64)
        end = np.array([last if row.to_at is None else row.to_at for row in rows], np.int64)
        node = np.array([place[row.node] for row in rows], np.int32)
        lasting = np.array([n for n, row in enumerate(rows) if row.to_at is None], np.int64)
        again = find_next_runs(ran, first, node[lasting], start[lasting])
        end[lasting] = np.minimum(end[lasting], again)
        begins = np.maximum(start, first)
        return Outages(
            node=node,
            start_ns=begins,
            end_ns=np.maximum(np.minimum(end, last), begins),
            reason=tuple(row.reason for row in rows),
            cause=tuple(row.cause for row in rows),
            action=tuple(row.action for row in rows),
            planned=np.array([row.planned for row in rows], np.bool_),
        )


def _iterate_outages(
    outages: "DataFrame", of_node: list[str | None], start: _Ints, end: _Ints, rows: _Ints
) -> Iterator[TableOutage]:
    """These rows of the table; causes and repairs are read out of their words."""
    words = [get_column_values(outages, name) for name in ("cause", "detail", "reason")]
    done, meant = get_column_values(outages, "action"), get_column_values(outages, "planned")
    for row in rows.tolist():
        texts = [str(column[row]) for column in words if column[row] is not None]
        reason, cause = "; ".join(texts), classify_outage_cause(*texts)
        planned: Any = meant[row]
        yield TableOutage(
            node=of_node[row] or "",
            from_at=int(start[row]),
            to_at=None if end[row] == NONE_NS else int(end[row]),
            reason=reason,
            cause=cause,
            action=classify_repair_action(reason if done[row] is None else str(done[row])),
            planned=cause is OutageCause.MAINTENANCE if planned is None else bool(planned),
        )


def _merge_two(one: TableOutage, other: TableOutage) -> TableOutage:
    if one == other:
        return one
    first, last = sorted((one, other), key=lambda row: (*order_reports(row), row.from_at))
    return first._replace(**complete_fields(first, last))


def _describe_left_out(
    backwards: npt.NDArray[np.bool_], nameless: npt.NDArray[np.bool_]
) -> Iterator[str]:
    """What was left out, in words."""
    for what, rows in (
        ("outages that end before they begin", np.flatnonzero(backwards)),
        ("outages that name no node", np.flatnonzero(nameless & ~backwards)),
    ):
        if len(rows):
            yield f"{what}, left out: {len(rows):,}, the first row {int(rows[0])}"
