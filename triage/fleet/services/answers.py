"""The fleet as it stands: what its record answers, how its nodes stand, what is to be checked.

Reads only. The same database and the same times give the same answer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.health import CheckResult
from triage.domain.probation import Probation
from triage.domain.standing import FleetStandings, Grade
from triage.errors import Place, Unprocessable
from triage.fleet.record.columns import FleetRecord, NodeSignals
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.report import FleetReport, fleet_report
from triage.fleet.services.health.due_list import map_newest_results, open_checks
from triage.fleet.services.record.record import list_probations_at, read_fleet_record
from triage.fleet.services.telemetry.rollups import (
    NodeTelemetry,
    describe_telemetry,
    sum_node_telemetry,
)
from triage.fleet.standings.standing import fleet_standings
from triage.fleet.store import record as stored
from triage.services.context import Context


def with_probation(found: FleetStandings, probations: Iterable[Probation]) -> FleetStandings:
    """The same standings, in the same order, with the probation of each node."""
    by_node = {one.node: one for one in probations}
    if not by_node:
        return found
    nodes = (replace(row, probation=by_node.get(row.node)) for row in found.nodes)
    return replace(found, nodes=tuple(nodes))


def with_signals(
    record: FleetRecord,
    checks: Mapping[str, tuple[CheckResult, ...]],
    telemetry: NodeTelemetry,
) -> FleetRecord:
    """The record with the newest checks and the telemetry of its nodes; others are left out."""
    known = set(record.nodes)
    signals = dict(record.signals)
    for node in sorted(known & (checks.keys() | telemetry.keys())):
        signals[node] = replace(
            signals.get(node, NodeSignals()),
            checks=checks.get(node, ()),
            telemetry=telemetry.get(node, {}),
        )
    return replace(record, signals=signals)


DAY: Final = timedelta(days=1)
_MINUTE: Final = timedelta(minutes=1)
DEFAULT_DAYS: Final = 30.0
MAX_DAYS: Final = 3_660.0
# Beyond, ns since the epoch do not fit, nor do ten years before it.
_EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
# The tests of a standing look back over 112 days, four half-lives; forecasts learn from what came
# true of earlier ones, and from twice as long they have learned enough.
_STANDING_DAYS: Final = 224


@dataclass(frozen=True, slots=True)
class Period:
    """From ``since`` until before ``until``; both aware."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """One look at a fleet.

    ``report`` is of the period; ``standings`` are as of its end, whatever its length (they look
    back over 224 days at least). ``checks`` are the rows of ``GET /v1/fleet/checks`` that are
    due or failing; ``telemetry`` is what the last 28 days before the end measured of each node
    (``throttled_hours``, ``ecc_growth`` ...). ``clusters`` are the names to choose among.
    """

    period: Period
    cluster: str | None
    report: FleetReport
    standings: FleetStandings
    checks: tuple[Mapping[str, Any], ...] = ()
    telemetry: NodeTelemetry = field(default_factory=dict)
    clusters: tuple[str, ...] = ()

    def to_dict(self, top: int = 50) -> dict[str, Any]:
        """The wire form ``triage.fleet/1``: the report, beside it the ``top`` worst standings.

        Nodes of grade ``normal`` and ``unknown`` that are not on probation are in
        ``standings.counts`` alone.
        """
        standings = self.standings.to_dict()
        report = self.report.to_dict()
        told = {str(Grade.LEMON), str(Grade.WATCH), str(Grade.GOLDEN)}
        standings["nodes"] = [
            one for one in standings["nodes"] if one["grade"] in told or one["probation"]
        ][:top]
        return {
            **report,
            "mtti": report["rates"]["mtti"],
            "standings": standings,
            "checks": [dict(one) for one in self.checks[:top]],
            "num_checks": len(self.checks),
            "telemetry": describe_telemetry(self.telemetry, top),
            "clusters": list(self.clusters),
        }


def determine_fleet_period(since: datetime | None = None, until: datetime | None = None) -> Period:
    """The period that is asked for: by default the 30 days that end with this minute.

    Raises :class:`Unprocessable` for one that ends before it begins, or of more than ten years.
    """
    if until is None:
        # The same answer, and the same ETag, to all who ask within a minute.
        until = read_utc_now().replace(second=0, microsecond=0) + _MINUTE
    if not _EARLIEST <= until <= _LATEST:
        raise _make_refusal("until", f"until lies outside {_EARLIEST:%Y} to {_LATEST:%Y}")
    if since is None:
        since = until - DEFAULT_DAYS * DAY
    if since >= until:
        raise _make_refusal(
            "since", "the period ends before it begins: since has to be before until"
        )
    if until - since > MAX_DAYS * DAY:
        raise _make_refusal("since", f"the period is longer than {MAX_DAYS:,.0f} days")
    return Period(since, until)


def _make_refusal(name: str, why: str) -> Unprocessable:
    return Unprocessable(
        why,
        hint="give since and until as RFC 3339 times, at most ten years apart",
        places=(Place(f"query/{name}", why),),
    )


def look_at_fleet(
    ctx: Context,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    cluster: str | None = None,
    options: FleetOptions | None = None,
) -> FleetAnswer:
    """Look at a cluster, or at all of them; see :class:`FleetAnswer`.

    A cluster that nobody named gives an empty report. Raises :class:`Unprocessable` for a
    period that is none.
    """
    period = determine_fleet_period(since, until)
    with ctx.database.reading() as session:
        record = read_fleet_record(session, since=period.since, until=period.until, cluster=cluster)
        telemetry = sum_node_telemetry(session, period.until, cluster=cluster)
        lately = _read_standings_record(session, period, cluster, telemetry, record)
        probations = list_probations_at(session, period.until, cluster)
        checks = open_checks(session, min(period.until, read_utc_now()), cluster=cluster)
        names = sorted(name for name in stored.map_cluster_keys(session) if name)
    return FleetAnswer(
        period=period,
        cluster=cluster,
        report=fleet_report(record, options=options),
        standings=with_probation(fleet_standings(lately), probations),
        checks=tuple(checks),
        telemetry=telemetry,
        clusters=tuple(names),
    )


def look_at_standings(
    ctx: Context, *, until: datetime | None = None, cluster: str | None = None
) -> FleetStandings:
    """How the nodes stand at ``until``, by default now; see :class:`FleetAnswer`."""
    period = determine_fleet_period(None, until)
    with ctx.database.reading() as session:
        telemetry = sum_node_telemetry(session, period.until, cluster=cluster)
        lately = _read_standings_record(session, period, cluster, telemetry)
        probations = list_probations_at(session, period.until, cluster)
    return with_probation(fleet_standings(lately), probations)


def _read_standings_record(
    session: Session,
    period: Period,
    cluster: str | None,
    telemetry: NodeTelemetry,
    record: FleetRecord | None = None,
) -> FleetRecord:
    """The record that standings rest on: of the same days, whatever period is looked at."""
    since = period.until - _STANDING_DAYS * DAY
    if record is None or period.since != since:
        record = read_fleet_record(session, since=since, until=period.until, cluster=cluster)
    return with_signals(record, map_newest_results(session, cluster=cluster), telemetry)


def make_fleet_report(
    ctx: Context,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    cluster: str | None = None,
    options: FleetOptions | None = None,
) -> FleetReport:
    """The report alone, as :func:`look_at_fleet` gives it."""
    period = determine_fleet_period(since, until)
    with ctx.database.reading() as session:
        record = read_fleet_record(session, since=period.since, until=period.until, cluster=cluster)
    return fleet_report(record, options=options)
