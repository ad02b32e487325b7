"""A service's database of each kind, and small ways to tell it what ran."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.databases import migrated_postgres, put_migrated_sqlite
from triage.domain.category import Role
from triage.domain.failure_match import Failure
from triage.fleet.record.columns import FleetRecord
from triage.fleet.services.exposure.imports import Imported, import_exposure
from triage.fleet.services.record.record import read_fleet_record
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.settings import Settings
from triage.store.incidents import settling
from triage.store.views import ResolutionView

T0 = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HEADER = "job_id,started_at,ended_at,ending,num_nodes,num_gpus,nodes,cluster,cause"


@contextmanager
def service_on(kind: str, folder: Path) -> Iterator[Context]:
    """An empty service on SQLite or PostgreSQL."""
    if kind == "sqlite":
        put_migrated_sqlite(folder)
        with opened(Settings(data_dir=folder)) as ctx:
            yield ctx
        return
    with migrated_postgres() as url, opened(Settings(data_dir=folder, database_url=url)) as ctx:
        yield ctx


@contextmanager
def opened(settings: Settings) -> Iterator[Context]:
    ctx = open_context(settings)
    yield ctx
    ctx.close()


def at(hours: float) -> datetime:
    """So many hours into the time that tests are about."""
    return T0 + hours * HOUR


def stamp(hours: float | None) -> str:
    return "" if hours is None else f"{at(hours):%Y-%m-%dT%H:%M:%SZ}"


def row(
    job_id: str, start: float, end: float | None, ending: str = "failed", *,
    nodes: str = "n[0-3]", gpus: int = 32, cluster: str = "a", cause: str = "",
) -> str:  # fmt: skip
    return f'{job_id},{stamp(start)},{stamp(end)},{ending},,{gpus},"{nodes}",{cluster},{cause}'


def told(ctx: Context, *rows: str, **given: Any) -> Imported:
    """Import runs."""
    return imported(ctx, "\n".join([HEADER, *rows]), **given)


def tally(found: Imported) -> tuple[int, int, int]:
    """How many rows an import added, changed, and left as they were."""
    return found.added, found.changed, found.unchanged


def imported(ctx: Context, text: str, **given: Any) -> Imported:
    return import_exposure(ctx, io.BytesIO(text.encode()), **given)


def failed(
    ctx: Context, job_id: str, hours: float | None, *, cluster: str = "a", now: float | None = None,
    **facts: Any,
) -> str:  # fmt: skip
    """A job-failed hook; the id of its incident."""
    failure = Failure(
        job_id, cluster, None if hours is None else at(hours), {"job_id": job_id, **facts}
    )
    when = at(now if now is not None else hours or 0) + timedelta(seconds=1)
    return announce(ctx, failure, now=when).id


def answered(
    ctx: Context, incident_id: str, kind: str, category: str, *suspects: tuple[str, str, float]
) -> None:
    """Settle an incident with this verdict; suspects are (node, role, score)."""
    from models import Incident, Suspect

    with ctx.database.writing() as session:
        found = session.get_one(Incident, incident_id)
        found.verdict = {"kind": kind, "category": category}
        found.category = category
        found.settled_at = found.updated_at
        found.provisional = False
        found.state = "ready"
        for position, (node, role, score) in enumerate(suspects, 1):
            session.add(
                Suspect(
                    incident_id=incident_id, position=position, node=node, category=category,
                    role=role, score=score, row={"node": node, "category": category, "gpus": []},
                )
            )  # fmt: skip


def resolved(ctx: Context, incident_id: str, category: str, node: str | None = None) -> None:
    with ctx.database.writing() as session:
        said = ResolutionView(category, node, None, "local", at(0))
        settling.put(session, incident_id, said)


def record(ctx: Context, since: float = 0, until: float = 1000, **given: Any) -> FleetRecord:
    with ctx.database.reading() as session:
        return read_fleet_record(session, since=at(since), until=at(until), **given)


def node_hours(found: FleetRecord) -> dict[str, float]:
    """Hours of runs on each node."""
    total = dict.fromkeys(found.nodes, 0.0)
    runs = found.runs
    for run in range(len(runs.start_ns)):
        hours = (runs.end_ns[run] - runs.start_ns[run]) / 3.6e12
        for node in runs.node[runs.node_at[run] : runs.node_at[run + 1]]:
            total[found.nodes[node]] += float(hours)
    return total


def stops(found: FleetRecord) -> list[tuple[float, str | None, bool]]:
    """(hours, cause, planned) of each stop."""
    return [
        (int(when - int(T0.timestamp() * 1e9)) / 3.6e12, cause and str(cause), bool(planned))
        for when, cause, planned in zip(
            found.interruptions.at_ns, found.interruptions.cause, found.interruptions.planned,
            strict=True,
        )
    ]  # fmt: skip


CULPRIT, POSSIBLE, AFFECTED = str(Role.CULPRIT), str(Role.POSSIBLE), str(Role.AFFECTED)
