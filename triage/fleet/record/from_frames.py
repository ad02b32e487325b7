"""A record out of DataFrames: a trace, an export or a table of one's own becomes a fleet's record.

For notebooks: what the service joins out of its database is here said by two or three tables.
Times that name no zone are in UTC.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from triage.domain.category import Category
from triage.domain.hosts import expand
from triage.errors import UsageError
from triage.fleet.domain.cause import (
    OutageCause,
    RepairAction,
    classify_outage_cause,
    classify_repair_action,
)
from triage.fleet.domain.exposure import FACTS, Ending, NodeFacts, NodeRepair, Outage, Run
from triage.fleet.parsers.rows import DAY_ZERO
from triage.fleet.record.columns import EPOCH, FleetRecord
from triage.fleet.record.from_rows import RecordRows, ToldStop

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_DAYS: Final = 36_600.0


def record_from_frames(
    runs: "DataFrame | None" = None,
    interruptions: "DataFrame | None" = None,
    outages: "DataFrame | None" = None,
    *,
    since: object = None,
    until: object = None,
    cluster: str | None = None,
    nodes: int | Iterable[str] = (),
    inventory: "DataFrame | None" = None,
    repairs: "DataFrame | None" = None,
) -> FleetRecord:
    """``runs``: one row per attempt of a job: ``started_at``, ``ended_at`` (missing: it still
    runs) and ``num_gpus``; where known ``num_nodes``, ``nodes`` (names, or a Slurm host list),
    ``job_id``, ``ending`` (``completed``, ``unexpected``, ``planned`` ...) and ``cause``.

    ``interruptions``: ``at``; where known ``cause``, ``planned``, ``resolved``, ``job_id`` (joins
    it to the run of that job at that time), ``node`` (who is to blame) and ``score``. Without
    this table each run that ended unexpectedly, or as planned, is one.

    ``outages``: ``node``, ``from`` or ``from_at``, ``to`` or ``to_at`` (missing: still out), or
    ``from_day`` and ``to_day``, days since a day that nobody names; where known ``cause``,
    ``detail``, ``reason``, ``action`` and ``planned``. A record of outages alone is a record. What
    is still out, and has runs that began later, was out until the first of them. Rows of one node
    and start are reports of one outage; rows that end before they begin, or name no node, are left
    out. The notes count both.

    ``repairs``: notes that came apart from their outage: ``node``, ``at``, and ``action`` or
    ``text``.

    ``nodes`` are those of the fleet that no table names, or how many it has in all.
    ``inventory``: ``node`` and any of ``generation``, ``rack``, ``leaf_switch``, ``batch``,
    ``cage``, ``slot``, ``role``. ``since`` and ``until`` are the first start and the last time
    that is told, where not given; runs are cut to them.

    Raises :class:`UsageError` with the table, the row and the column that cannot be.
    """
    rows = RecordRows()
    for table in _iterate_rows(runs, "runs", "started_at"):
        rows.add(_read_run(table))
    if interruptions is not None:
        rows.stops = [
            _read_stop(one) for one in _iterate_rows(interruptions, "interruptions", "at")
        ]
    notes = _add_outages(rows, outages)
    repaired = [
        note for one in _iterate_rows(repairs, "repairs", "at") if (note := _read_repair(one))
    ]
    for note in repaired:
        rows.add(note)
    for one in _iterate_rows(inventory, "inventory"):
        if node := one.get_name("node"):
            facts: dict[str, Any] = {fact: one.get_name(fact) for fact in FACTS}
            rows.add(NodeFacts(node, **facts))
    times = [*rows.iterate_run_times()]
    starts = [run.started_at for run in rows.runs]
    if not starts:
        times += rows.iterate_outage_times()
        times += [DAY_ZERO] if outages is not None and _counts_days(outages) else []
        starts = times
    first = min(starts, default=EPOCH) if since is None else _parse_moment(since, "since")
    last = max(times, default=first) if until is None else _parse_moment(until, "until")
    found = rows.build(
        first, last, nodes=nodes, also={note.node for note in repaired}, cluster=cluster
    )
    return replace(found, notes=(*notes, *found.notes))


@dataclass(frozen=True, slots=True)
class _TableRow:
    """A row of a table; what cannot be is refused with the table, the row and the column."""

    table: str
    number: int
    values: Mapping[str, Any]

    def get(self, name: str) -> Any:  # noqa: ANN401 - whatever a cell holds
        """The value of a cell; None where it is None, NaN, NaT, NA or there is no such column."""
        value = self.values.get(name)
        if value is None or isinstance(value, str | list | tuple | set | frozenset):
            return value
        import pandas as pd

        return None if pd.api.types.is_scalar(value) and pd.isna(value) else value

    def get_name(self, name: str) -> str | None:
        """A text without blanks around it; None where there is none."""
        value = self.get(name)
        return None if value is None else str(value).strip() or None

    def get_time(self, name: str, *, needed: bool = False) -> datetime | None:
        """A time in UTC. Raises UsageError."""
        value = self.get(name)
        if value is None:
            if needed:
                raise self.refuse(f"{name} is missing")
            return None
        return _parse_moment(value, f"{self.table}, row {self.number}: {name}")

    def get_day(self, name: str) -> datetime | None:
        """A number of days since a day that nobody names. Raises UsageError."""
        if self.get(name) is None:
            return None
        return DAY_ZERO + timedelta(days=self._get_number(name, float, -_MOST_DAYS, _MOST_DAYS))

    def get_count(self, name: str) -> int:
        """A whole number from 0 up; 0 where there is none. Raises UsageError."""
        return int(self._get_number(name, int, 0, (1 << 31) - 1))

    def _get_number(self, name: str, kind: type[float], least: float, most: float) -> float:
        value = self.get(name)
        try:
            number = kind(0 if value is None else value)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.refuse(f"{name} {value!r:.60} is no number") from error
        if not least <= number <= most:
            raise self.refuse(f"{name} cannot be {number}")
        return number

    def get_cause(self) -> Category | None:
        """A leaf of the categories; None where nobody knows. Raises UsageError."""
        value = self.get("cause")
        try:
            return None if value is None else Category(str(value))
        except ValueError as error:
            raise self.refuse(f"cause {value!r:.60} is none of {', '.join(Category)}") from error

    def get_nodes(self) -> tuple[str, ...]:
        """Names, or those of a Slurm host list such as ``n[001-128]``. Raises UsageError."""
        value = self.get("nodes")
        try:
            names = expand(value) if isinstance(value, str) else [str(one) for one in value or ()]
        except (TypeError, ValueError) as error:
            raise self.refuse(f"nodes: {error}") from error
        return tuple(dict.fromkeys(names))

    def refuse(self, why: str) -> UsageError:
        """The refusal of this row."""
        return UsageError(f"{self.table}, row {self.number}: {why}")


def _iterate_rows(
    frame: "DataFrame | None", table: str, needed: str | None = None
) -> Iterator[_TableRow]:
    """The rows of a table, which has the column that is needed. Raises UsageError."""
    if frame is None:
        return
    if needed is not None and needed not in frame:
        raise UsageError(f"{table}: there is no column {needed}")
    columns = {str(name): frame[name].tolist() for name in frame}
    for number in range(len(frame)):
        yield _TableRow(table, number, {name: cells[number] for name, cells in columns.items()})


def _parse_moment(value: object, where: str) -> datetime:
    """A time in UTC; one without a zone is UTC. Raises UsageError."""
    import pandas as pd

    try:
        at = pd.Timestamp(value)  # type: ignore[arg-type]
        at = at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")
        return at.floor("us").to_pydatetime()
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{where}: {value!r:.60} is no time") from error


def _read_run(row: _TableRow) -> Run:
    started_at = row.get_time("started_at", needed=True) or EPOCH
    ended_at = row.get_time("ended_at")
    if ended_at is not None and ended_at < started_at:
        raise row.refuse("it ends before it begins")
    ending = str(row.get("ending") or "")
    return Run(
        job_id=str(row.get("job_id") or ""),
        started_at=started_at,
        ended_at=ended_at,
        ending=Ending(ending) if ending in set(Ending) else Ending.UNKNOWN,
        num_nodes=row.get_count("num_nodes"),
        num_gpus=row.get_count("num_gpus"),
        nodes=row.get_nodes(),
        cause=row.get_cause(),
    )


def _read_stop(row: _TableRow) -> ToldStop:
    job_id, score = row.get("job_id"), row.get("score")
    return ToldStop(
        at=row.get_time("at", needed=True) or EPOCH,
        cause=row.get_cause(),
        planned=bool(row.get("planned")),
        resolved=bool(row.get("resolved")),
        job_id=None if job_id is None else str(job_id),
        node=row.get_name("node"),
        score=1.0 if score is None else float(score),
    )


def _read_repair(row: _TableRow) -> NodeRepair | None:
    """A note; None where it names no node. What names no action is any repair."""
    at, node = row.get_time("at", needed=True), row.get_name("node")
    if at is None or node is None:
        return None
    text = row.get("text")
    words = str(text if row.get("action") is None else row.get("action"))
    action = classify_repair_action(words) or RepairAction.OTHER
    return NodeRepair(node, at, action, "" if text is None else str(text))


def _counts_days(outages: "DataFrame") -> bool:
    return "from_day" in outages and "from" not in outages and "from_at" not in outages


def _add_outages(rows: RecordRows, outages: "DataFrame | None") -> list[str]:
    """Add the rows that can be; what was left out, in words."""
    if outages is None:
        return []
    by_day = _counts_days(outages)
    begin, end = ("from", "to") if "from" in outages else ("from_at", "to_at")
    begin, end = ("from_day", "to_day") if by_day else (begin, end)
    left_out: dict[str, list[int]] = {}
    for row in _iterate_rows(outages, "outages", begin):
        if by_day:
            from_at, to_at = row.get_day(begin), row.get_day(end)
        else:
            from_at, to_at = row.get_time(begin, needed=True), row.get_time(end)
        node = row.get_name("node")
        if from_at is None:
            raise row.refuse(f"{begin} {row.values.get(begin)!r:.60} is no number")
        if to_at is not None and to_at < from_at:
            left_out.setdefault("outages that end before they begin", []).append(row.number)
        elif node is None:
            left_out.setdefault("outages that name no node", []).append(row.number)
        else:
            rows.add(_read_outage(row, node, from_at, to_at))
    return [
        f"{what}, left out: {len(numbers):,}, the first row {numbers[0]}"
        for what, numbers in sorted(left_out.items())
    ]


def _read_outage(row: _TableRow, node: str, from_at: datetime, to_at: datetime | None) -> Outage:
    """Causes and repairs are read out of their words."""
    words = (row.get(name) for name in ("cause", "detail", "reason"))
    texts = [str(text) for text in words if text is not None]
    reason, cause = "; ".join(texts), classify_outage_cause(*texts)
    action, planned = row.get("action"), row.get("planned")
    return Outage(
        node=node,
        from_at=from_at,
        to_at=to_at,
        reason=reason,
        cause=cause,
        action=classify_repair_action(reason if action is None else str(action)),
        planned=cause is OutageCause.MAINTENANCE if planned is None else bool(planned),
    )
