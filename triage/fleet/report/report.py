"""The fleet report: every answer that a record of interruptions gives, in one value.

Pure: the same record and options give the same report. Which nodes stand out is another
question (``standing``). What the record lacks is said in ``notes``, and the answers that need
it are empty.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import numpy as np

from triage.domain.wire import UNSENT, Count, SentAs, WireForm, convert_to_wire, format_iso_utc
from triage.fleet.record.columns import FleetRecord, convert_from_epoch_ns
from triage.fleet.record.exposed import HOUR_NS, Exposed, clip_exposure
from triage.fleet.report.away import (
    NextPeriod,
    NodesAway,
    Repairs,
    SpareRow,
    build_spare_rows,
    collect_record_repairs,
    estimate_next_period,
    measure_nodes_away,
)
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.plan import (
    EttrPlan,
    SurvivalPoint,
    compute_survival_points,
    estimate_reference_mtti,
    find_usual_sizes,
    list_checkpoint_plans,
    list_rate_warnings,
    plan_ettr,
    project_sizes,
)
from triage.fleet.report.rates import (
    BySize,
    CauseCount,
    MttiWindow,
    OriginCount,
    Periods,
    Rates,
    SizeTest,
    compare_periods,
    compare_sizes,
    compute_day_edges,
    count_by_cause,
    count_by_origin,
    divide_into_windows,
    estimate_by_size,
    estimate_rates,
    measure_clustering,
)
from triage.statistics.cause_mix import CauseMix, compare_cause_mix, count_by_row
from triage.statistics.dispersion import Dispersion, SilentDays, find_silent_days
from triage.statistics.estimate import Estimate
from triage.statistics.ettr import CheckpointPlan
from triage.statistics.projection import Projection


def iterate_record_notes(record: FleetRecord, seen: Exposed) -> Iterator[str]:
    """One sentence for each kind of gap in the record."""
    if seen.by_calendar:
        yield (
            "no run is known: rates count the hours of the record, as if one job ran through; "
            "import runs (triage fleet import) for rates per GPU and by size"
        )
    elif (without := int((seen.run < 0).sum())) > 0:
        yield (
            f"{without:,} of {len(seen.index):,} interruptions have no run: they are among the "
            "causes, and in no rate; import what the scheduler knows of their jobs"
        )
    if not seen.by_calendar and not seen.gpu_hours:
        yield "no run says how many GPUs it had: nothing can be projected"
    if nameless := count_runs_without_nodes(record, seen):
        yield (
            f"{_format_many(nameless, 'run does', 'runs do')} not say on which nodes:"
            " they count for the fleet, and for no node"
        )
    causes = record.interruptions.cause
    if unknown := sum(causes[i] is None for i in seen.index):
        yield (
            f"{_format_many(unknown, 'interruption was', 'interruptions were')} not triaged, of "
            f"{len(seen.index):,}: no cause is known"
        )


def count_runs_without_nodes(record: FleetRecord, seen: Exposed) -> int:
    """How many runs within the record do not name their nodes."""
    return int(((np.diff(record.runs.node_at) == 0) & (seen.hours > 0)).sum())


def _format_many(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


SCHEMA: Final = "triage.fleet/1"


@dataclass(frozen=True, slots=True)
class Exposure:
    """What the rates rest on.

    ``basis`` is ``runs``, or ``calendar`` where not one run is known: then ``job_hours`` are
    those of the record, as of one job. ``seen_gpus`` are the sizes that hold the middle nine
    tenths of GPU-hours; ``reference_gpus`` is the job that plans are worked out for.
    """

    basis: str
    days: float
    job_hours: float
    gpu_hours: float
    node_days: float
    runs: Count
    runs_without_nodes: int
    num_nodes: Count
    gpus_per_node: int | None
    seen_gpus: Annotated[tuple[int, int] | None, "Sizes of jobs that the rate is from."]
    reference_gpus: Annotated[int | None, "The job that plans are worked out for."]


@dataclass(frozen=True, slots=True)
class Stops:
    """Interruptions by how they count; planned ones are in no rate.

    ``unexpected`` = ``counted`` (with a run: rates count them) + ``without_run``. ``triaged``
    have a cause, ``resolved`` have it from a person.
    """

    unexpected: Count
    counted: Annotated[Count, "With a run: rates count these."]
    without_run: Count
    planned: Count
    triaged: Count
    resolved: Count


@dataclass(frozen=True, slots=True)
class FleetReport(WireForm):
    """All answers; ``to_dict`` is the wire form ``triage.fleet/1``.

    Every :class:`Estimate` is ``{value, low, high, n, unit, level, notes}``, where ``value`` is
    null after no event and bounds are null where there is none. Times (``since``, ``until``) are
    RFC 3339; ``schema`` names the form, ``cluster`` and ``options`` what was asked, ``notes`` what
    is missing.

    ``stops`` are counted over ``exposure`` (hours of jobs, GPUs and nodes). ``rates`` say the same
    in other units; ``reference_mtti`` (h) is that of a job of ``exposure.reference_gpus``, which
    ``survival``, ``checkpoints`` and ``ettr`` are worked out for. ``causes`` are by
    leaf, ``origins`` by where a cause lies, and ``mix`` by row of the Llama 3 table.
    ``comparison`` is the later part over the earlier one, ``spares`` and ``away`` say how many
    nodes to keep, ``repairs`` how long they are out. ``by_size`` with its ``size_test``,
    ``over_time`` (windows), ``dispersion`` (index and p-value) and ``silent_days`` say whether one
    rate is enough; ``projection`` and ``next_period`` what it means for other sizes and for the
    time to come.
    """

    cluster: str | None
    since: datetime
    until: datetime
    options: FleetOptions
    exposure: Exposure
    stops: Stops
    rates: Rates
    reference_mtti: Estimate
    causes: tuple[CauseCount, ...]
    origins: tuple[OriginCount, ...]
    mix: CauseMix
    by_size: tuple[BySize, ...]
    size_test: SizeTest
    over_time: tuple[MttiWindow, ...]
    dispersion: Dispersion
    comparison: Annotated[Periods, SentAs(dict[str, Any])]
    projection: tuple[Projection, ...]
    survival: tuple[SurvivalPoint, ...]
    checkpoints: tuple[CheckpointPlan, ...]
    ettr: EttrPlan
    repairs: Repairs
    spares: tuple[SpareRow, ...]
    away: NodesAway | None
    next_period: NextPeriod | None
    silent_days: Annotated[SilentDays, SentAs(dict[str, Any])]
    silent_dates: Annotated[tuple[str, ...], UNSENT]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The wire form, of plain values; hours of the record become times."""
        return {
            "schema": SCHEMA,
            **convert_to_wire(self),
            "comparison": {
                "split": format_iso_utc(self.at(self.comparison.split_h)),
                **self.comparison.comparison.to_dict(),
            },
            "silent_days": {**self.silent_days.to_dict(), "days": list(self.silent_dates)},
        }

    def at(self, hours: float) -> datetime:
        """The time that lies so many hours after the record's start."""
        return datetime.fromtimestamp(self.since.timestamp() + hours * 3600, UTC)


def fleet_report(record: FleetRecord, *, options: FleetOptions | None = None) -> FleetReport:
    """Answer everything from a record; an empty one gives an empty report with its notes."""
    options = options or FleetOptions()
    seen = clip_exposure(record)
    edges = compute_day_edges(record, seen)
    spread = measure_clustering(seen, edges)
    factor = spread.factor
    figures = estimate_rates(seen, factor)
    sizes = find_usual_sizes(seen)
    reference = options.reference_gpus or (sizes[0] if sizes else None)
    mtti = estimate_reference_mtti(figures, reference)
    causes = [record.interruptions.cause[i] for i in seen.index]
    counts, without_row = count_by_row(causes)
    origins = count_by_origin(record, seen, factor)
    table = estimate_by_size(seen, factor)
    same = compare_sizes(table, factor)
    mending = collect_record_repairs(record, seen)
    num_nodes = _estimate_fleet_size(record, reference)
    absent = measure_nodes_away(record)
    spares = build_spare_rows(seen, origins, mending, num_nodes, absent, options)
    exposure = _summarize_exposure(record, seen, sizes, reference)
    quiet = find_silent_days(
        seen.events_between(edges), np.diff(seen.exposure_before(edges)), factor=spread.day_factor
    )
    return FleetReport(
        cluster=record.cluster,
        since=convert_from_epoch_ns(record.since_ns),
        until=convert_from_epoch_ns(record.until_ns),
        options=options,
        exposure=exposure,
        stops=_summarize_stops(record, seen),
        rates=figures,
        reference_mtti=mtti,
        causes=count_by_cause(record, seen, factor),
        origins=origins,
        mix=compare_cause_mix(counts, without_row=without_row),
        by_size=table,
        size_test=same,
        over_time=divide_into_windows(record, seen, factor),
        dispersion=spread,
        comparison=compare_periods(seen, options.compare_last_days, factor),
        projection=project_sizes(
            figures, origins, seen.gpu_hours, sizes, list_rate_warnings(same, spread), options.sizes
        ),
        survival=compute_survival_points(figures, reference, options),
        checkpoints=list_checkpoint_plans(mtti, options),
        ettr=plan_ettr(seen, mtti, options),
        repairs=mending,
        spares=spares,
        away=absent,
        next_period=estimate_next_period(seen, absent),
        silent_days=quiet,
        silent_dates=tuple(
            convert_from_epoch_ns(record.since_ns + int(edges[day] * HOUR_NS)).date().isoformat()
            for day in quiet.days
        ),
        notes=(*record.notes, *iterate_record_notes(record, seen)),
    )


def _summarize_exposure(
    record: FleetRecord,
    seen: Exposed,
    sizes: tuple[int, tuple[int, int]] | None,
    reference: int | None,
) -> Exposure:
    return Exposure(
        "calendar" if seen.by_calendar else "runs",
        seen.period_h / 24,
        seen.job_hours,
        seen.gpu_hours,
        seen.node_days,
        int((seen.hours > 0).sum()),
        count_runs_without_nodes(record, seen),
        len(record.nodes),
        record.gpus_per_node,
        sizes[1] if sizes else None,
        reference,
    )


def _summarize_stops(record: FleetRecord, seen: Exposed) -> Stops:
    with_run = int((seen.run >= 0).sum())
    return Stops(
        len(seen.index),
        seen.events,
        len(seen.index) - with_run,
        seen.num_planned,
        sum(record.interruptions.cause[i] is not None for i in seen.index),
        int(record.interruptions.resolved[seen.index].sum()),
    )


def _estimate_fleet_size(record: FleetRecord, reference: int | None) -> int:
    if record.nodes or not reference or not record.gpus_per_node:
        return len(record.nodes)
    return max(1, reference // record.gpus_per_node)
