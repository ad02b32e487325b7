"""Where the commands of the fleet ask: the service that is named, else the configured database."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from triage.cli.ask import asking
from triage.cli.extras import service_context
from triage.cli.options import since_time
from triage.errors import Refusal, UsageError

if TYPE_CHECKING:
    from triage.client import Client, Fleet
    from triage.services.context import Context

__all__ = [
    "AsOf",
    "Cluster",
    "Days",
    "FleetQuery",
    "FleetSource",
    "FleetUrl",
    "Since",
    "Until",
    "period",
    "source",
]

Facts = dict[str, Any]
FleetUrl = Annotated[
    str,
    typer.Option(
        "--url", metavar="URL", help="Ask this service [TRIAGE_URL], not the configured database."
    ),
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Begin of the period: 90d, 6h or RFC 3339."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Its end; now if left out.")
]
AsOf = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="As they stood then; now if left out."),
]
Days = Annotated[
    float, typer.Option("--days", metavar="N", help="Days before the end, without --since.")
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="NAME", help="Only this cluster.")
]
MAX_DAYS = 3_660.0
MOST_STAYS = 200


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """The period and the cluster of a question; None is what the service takes by default."""

    since: datetime | None = None
    until: datetime | None = None
    cluster: str | None = None

    @classmethod
    def as_of(cls, until: str | None, cluster: str | None) -> "FleetQuery":
        """What stood at a time that somebody typed; now where it is None. Raises UsageError."""
        return cls(None, None if until is None else since_time(until, "--until"), cluster)

    def of(self, cluster: str | None) -> "FleetQuery":
        """The same of that cluster."""
        return FleetQuery(self.since, self.until, cluster)


class FleetSource(Protocol):
    """Answers in their wire form; the knobs are the parameters of the routes."""

    def report(self, asked: FleetQuery, top: int, knobs: Mapping[str, Any]) -> Facts:
        """``GET /v1/fleet``."""

    def nodes(self, asked: FleetQuery, standing: str | None, limit: int | None) -> list[Facts]:
        """``GET /v1/fleet/nodes``, the worst first; all where ``limit`` is None."""

    def repairs(self, asked: FleetQuery) -> Facts:
        """``GET /v1/fleet/repairs``."""

    def hardware(self, asked: FleetQuery, identity: str | None, node: str | None) -> Facts:
        """``GET /v1/fleet/hardware``: 200 stays at most."""

    def plan(self, asked: FleetQuery, knobs: Mapping[str, Any]) -> Facts:
        """``projection``, ``checkpoint`` and ``spares`` of one plan."""


@contextmanager
def source(url: str, token_file: str | None, ca_file: str | None) -> Iterator[FleetSource]:
    """The service at ``url`` or ``TRIAGE_URL``; without both, the database of the settings."""
    if url or os.environ.get("TRIAGE_URL"):
        with asking(url, token_file, ca_file) as client:
            yield OfService(client)
        return
    with service_context() as ctx:
        try:
            yield OfDatabase(ctx)
        except Refusal as error:
            raise UsageError(str(error)) from error


def period(since: str | None, until: str | None, days: float) -> FleetQuery:
    """The period that the options name. Raises UsageError."""
    if not 0 < days <= MAX_DAYS:
        raise UsageError(f"--days {days:g}: give more than 0 and at most {MAX_DAYS:,.0f}")
    end = None if until is None else since_time(until, "--until")
    if since is not None:
        return FleetQuery(since_time(since), end)
    if end is None and days == 30:
        return FleetQuery()
    return FleetQuery((end or datetime.now(UTC)) - timedelta(days=days), end)


@dataclass(frozen=True, slots=True)
class OfService:
    """Over HTTP."""

    client: "Client"

    def report(self, asked: FleetQuery, top: int, knobs: Mapping[str, Any]) -> Facts:
        return self.fleet(asked, top=top, **knobs).to_dict()

    def nodes(self, asked: FleetQuery, standing: str | None, limit: int | None) -> list[Facts]:
        return self.fleet(asked).node_rows(standing)[:limit]

    def repairs(self, asked: FleetQuery) -> Facts:
        return self.fleet(asked).repair_facts()

    def hardware(self, asked: FleetQuery, identity: str | None, node: str | None) -> Facts:
        return self.client.hardware_facts(identity, node=node, cluster=asked.cluster)

    def plan(self, asked: FleetQuery, knobs: Mapping[str, Any]) -> Facts:
        return self.fleet(asked).plan(**knobs)

    def fleet(self, asked: FleetQuery, **knobs: Any) -> "Fleet":  # noqa: ANN401 - as the client has them
        """The fleet of that period."""
        return self.client.fleet(
            since=asked.since, until=asked.until, cluster=asked.cluster, **knobs
        )


@dataclass(frozen=True, slots=True)
class OfDatabase:
    """In this process; nothing has to run."""

    ctx: "Context"

    def report(self, asked: FleetQuery, top: int, knobs: Mapping[str, Any]) -> Facts:
        from triage.fleet.services.answers import fleet_of, options_of

        answer = fleet_of(
            self.ctx,
            since=asked.since,
            until=asked.until,
            cluster=asked.cluster,
            options=options_of(**knobs),
        )
        return answer.to_dict(top)

    def nodes(self, asked: FleetQuery, standing: str | None, limit: int | None) -> list[Facts]:
        from triage.fleet.services.answers import standings_of

        found = standings_of(self.ctx, until=asked.until, cluster=asked.cluster)
        wanted = (one for one in found.nodes if standing in (None, str(one.grade)))
        return [one.to_dict() for one in islice(wanted, limit)]

    def repairs(self, asked: FleetQuery) -> Facts:
        from triage.fleet.services.answers import period_of
        from triage.fleet.services.repairs import repairs_of

        until = period_of(None, asked.until).until
        return repairs_of(self.ctx, until=until, cluster=asked.cluster).to_dict()

    def hardware(self, asked: FleetQuery, identity: str | None, node: str | None) -> Facts:
        from triage.fleet.services.hardware.answers import hardware_of

        return hardware_of(
            self.ctx, identity=identity, node=node, cluster=asked.cluster, limit=MOST_STAYS
        ).to_dict()

    def plan(self, asked: FleetQuery, knobs: Mapping[str, Any]) -> Facts:
        from triage.fleet.services.plans import plans_of

        return plans_of(self.ctx, asked.since, asked.until, asked.cluster, knobs)
