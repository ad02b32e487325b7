"""A record out of DataFrames: a trace, an export or a table of one's own becomes a fleet's record.

For notebooks: what the service joins out of its database is here said by two or three tables.
Times that name no zone are in UTC.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from triage.domain.category import Category
from triage.errors import UsageError
from triage.fleet.domain.exposure import FACTS, Ending
from triage.fleet.record.columns import (
    Accusation,
    Accusations,
    FleetRecord,
    Interruptions,
    Runs,
)
from triage.fleet.record.frame_columns import (
    NONE_NS,
    get_column_values,
    parse_instant_ns,
    read_causes_column,
    read_flags_column,
    read_members_column,
    read_names_column,
    read_numbers_column,
    read_times_column,
)
from triage.fleet.record.frame_outages import OutageTable
from triage.fleet.record.frame_repairs import read_repairs_frame

if TYPE_CHECKING:
    from pandas import DataFrame

_Ints = npt.NDArray[np.int64]
# A failure is told a little before or after the end of its run, by another clock.
_SLACK_NS: Final = 60 * 1_000_000_000


def record_from_frames(
    runs: "DataFrame | None" = None,
    interruptions: "DataFrame | None" = None,
    outages: "DataFrame | None" = None,
    *,
    since: object = None,
    until: object = None,
    leaf_switch: Mapping[str, str] | None = None,
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
    import pandas as pd

    if runs is None:
        runs = pd.DataFrame({"started_at": [], "ended_at": [], "num_gpus": []})
    start = read_times_column(runs, "runs", "started_at")
    end = read_times_column(runs, "runs", "ended_at", needed=False)
    at = (
        np.zeros(0, np.int64)
        if interruptions is None
        else read_times_column(interruptions, "interruptions", "at")
    )
    away = OutageTable.of(outages)
    told = np.concatenate([end[end != NONE_NS], start, at])
    if not len(start):
        start_of = told = np.concatenate([told, away.told()])
    else:
        start_of = start
    first, last = _determine_period(since, until, start_of, told)
    end = np.where(end == NONE_NS, np.maximum(last, start), end)
    if len(backwards := np.flatnonzero(end < start)):
        raise UsageError(f"runs, row {int(backwards[0])}: it ends before it begins")
    order = np.flatnonzero((start < last) & (end >= first))
    order = order[np.argsort(start[order], kind="stable")]
    kept = runs.iloc[order]
    of_runs = read_members_column(kept, "runs")
    tables = [table for table in (interruptions, inventory, repairs) if table is not None]
    named = {node for table in tables for node in read_names_column(table) if node is not None}
    named.update(row.node for row in away.rows)
    every = _collect_nodes(named.union(*of_runs), nodes)
    place = {name: number for number, name in enumerate(every)}
    ran = _build_runs(
        kept, np.maximum(start[order], first), np.minimum(end[order], last), of_runs, place
    )
    over = end[order] < last
    if interruptions is None:
        stops = _build_stops_from_runs(kept, ran, over)
    else:
        within = (at >= first) & (at <= last)
        interruptions, at = interruptions[within], at[within]
        stops = _build_stops_from_table(interruptions, at, kept, ran)
    facts = _collect_facts(inventory, every)
    leaves = tuple((leaf_switch or {}).get(name) for name in every)
    return FleetRecord(
        since_ns=first,
        until_ns=last,
        nodes=every,
        generation=facts["generation"],
        rack=facts["rack"],
        leaf_switch=tuple(a or b for a, b in zip(leaves, facts["leaf_switch"], strict=True)),
        batch=facts["batch"],
        cage=facts["cage"],
        slot=facts["slot"],
        role=facts["role"],
        runs=ran,
        interruptions=stops,
        accusations=_build_accusations(interruptions, stops, place),
        outages=away.columns(place, first, last, ran),
        gpus_per_node=_find_usual_gpus_per_node(ran),
        cluster=cluster,
        notes=away.notes,
        repairs=None if repairs is None else read_repairs_frame(repairs, place, first, last),
    )


def _collect_nodes(named: set[str], nodes: int | Iterable[str]) -> tuple[str, ...]:
    """All names, sorted; nodes that are only counted get names that no table has."""
    if not isinstance(nodes, int):
        return tuple(sorted(named.union(map(str, nodes))))
    if nodes < len(named):
        raise UsageError(f"nodes: the tables name {len(named)} nodes, and {nodes} were said")
    free = (name for number in count() if (name := f"unnamed{number:05d}") not in named)
    return tuple(sorted([*named, *islice(free, nodes - len(named))]))


def _collect_facts(
    inventory: "DataFrame | None", nodes: Sequence[str]
) -> dict[str, tuple[str | None, ...]]:
    """Each fact of the inventory for all nodes; of two rows of a node the later one stands."""
    facts: dict[str, tuple[str | None, ...]] = {}
    listed = [] if inventory is None else read_names_column(inventory)
    for fact in FACTS:
        values = [] if inventory is None else get_column_values(inventory, fact)
        of = {n: str(v) for n, v in zip(listed, values, strict=True) if v is not None}
        facts[fact] = tuple(of.get(node) for node in nodes)
    return facts


def _determine_period(since: object, until: object, start: _Ints, told: _Ints) -> tuple[int, int]:
    first = int(start.min()) if len(start) else 0
    last = int(told.max()) if len(told) else first
    first = first if since is None else parse_instant_ns(since, "since")
    last = last if until is None else parse_instant_ns(until, "until")
    if last < first:
        raise UsageError("the record ends before it begins: since has to be before until")
    return first, last


def _build_runs(
    kept: "DataFrame",
    start: _Ints,
    end: _Ints,
    of_runs: Sequence[tuple[str, ...]],
    place: Mapping[str, int],
) -> Runs:
    ending = [str(one or "") for one in get_column_values(kept, "ending")]
    sizes = [len(one) for one in of_runs]
    told = read_numbers_column(kept, "runs", "num_nodes")
    return Runs(
        start_ns=start,
        end_ns=end,
        num_nodes=np.where(told > 0, told, sizes).astype(np.int32),
        num_gpus=read_numbers_column(kept, "runs", "num_gpus").astype(np.int32),
        interrupted=np.array([one == Ending.UNEXPECTED for one in ending], np.bool_),
        planned=np.array([one == Ending.PLANNED for one in ending], np.bool_),
        node_at=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
        node=np.array([place[name] for one in of_runs for name in one], np.int32),
    )


def _build_stops_from_runs(
    kept: "DataFrame", ran: Runs, over: npt.NDArray[np.bool_]
) -> Interruptions:
    """Each run that was stopped within the record, at its end."""
    run = np.flatnonzero((ran.interrupted | ran.planned) & over)
    run = run[np.argsort(ran.end_ns[run], kind="stable")]
    why = read_causes_column(kept, "runs")
    return Interruptions(
        at_ns=ran.end_ns[run],
        cause=tuple(why[one] for one in run),
        resolved=np.zeros(len(run), np.bool_),
        planned=ran.planned[run],
        run=run.astype(np.int32),
        num_gpus=ran.num_gpus[run],
        incident_id=(None,) * len(run),
    )


def _build_stops_from_table(
    interruptions: "DataFrame", at: _Ints, kept: "DataFrame", ran: Runs
) -> Interruptions:
    """The table's rows, in its order; each with the run of its job at its time."""
    of_job: dict[str, list[int]] = {}
    for number, job in enumerate(get_column_values(kept, "job_id")):
        if job is not None:
            of_job.setdefault(str(job), []).append(number)
    run = np.full(len(at), -1, np.int32)
    for row, job in enumerate(get_column_values(interruptions, "job_id")):
        for number in of_job.get(str(job), ()) if job is not None else ():
            begins, ends = ran.start_ns[number] - _SLACK_NS, ran.end_ns[number] + _SLACK_NS
            if begins <= at[row] <= ends:
                run[row] = number
                break  # the earlier one: a stop ends a run, and the next begins at once
    return Interruptions(
        at_ns=at,
        cause=read_causes_column(interruptions, "interruptions"),
        resolved=read_flags_column(interruptions, "resolved"),
        planned=read_flags_column(interruptions, "planned"),
        run=run,
        num_gpus=np.where(run >= 0, ran.num_gpus[run] if len(ran.num_gpus) else 0, 0).astype(
            np.int32
        ),
        incident_id=(None,) * len(at),
    )


def _build_accusations(
    interruptions: "DataFrame | None", stops: Interruptions, place: Mapping[str, int]
) -> Accusations:
    """The node that a row names, where its cause is one that a node can have."""
    rows: list[Accusation] = []
    if interruptions is not None:
        scores: list[Any] = get_column_values(interruptions, "score")
        for row, node in enumerate(read_names_column(interruptions)):
            if node is not None and not stops.planned[row]:
                score = 1.0 if scores[row] is None else float(scores[row])
                category = stops.cause[row] or Category.GPU
                rows.append(Accusation(row, place[node], 1, score, True, category, None))
    return Accusations.of_rows(rows)


def _find_usual_gpus_per_node(ran: Runs) -> int | None:
    """What most runs had; None where no run says both."""
    both = (ran.num_nodes > 0) & (ran.num_gpus > 0)
    if not both.any():
        return None
    each, counts = np.unique(ran.num_gpus[both] // ran.num_nodes[both], return_counts=True)
    return int(each[counts.argmax()]) or None
