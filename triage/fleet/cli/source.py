"""Where the commands of the fleet ask: the service that is named, else the configured database."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from triage.cli.ask import open_client
from triage.cli.extras import open_service_context
from triage.cli.options import parse_since_time, take
from triage.errors import Refusal, UsageError

if TYPE_CHECKING:
    from triage.client import Client, Fleet

FleetUrl = Annotated[
    str, take("URL", "Ask this service [TRIAGE_URL], not the configured database.")
]
Since = Annotated[str | None, take("TIME", "Begin of the period: 90d, 6h or RFC 3339.")]
Until = Annotated[str | None, take("TIME", "Its end; now if left out.")]
AsOf = Annotated[str | None, take("TIME", "As they stood then; now if left out.")]
Days = Annotated[float, take("N", "Days before the end, without --since.")]
Cluster = Annotated[str | None, take("NAME", "Only this cluster.")]
_MAX_DAYS = 3_660.0
# The service answers without tokens under a loopback name alone.
_HERE = "http://localhost"


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """The period and the cluster of a question; None is what the service takes by default."""

    since: datetime | None = None
    until: datetime | None = None
    cluster: str | None = None

    @classmethod
    def as_of(cls, until: str | None, cluster: str | None) -> "FleetQuery":
        """What stood at a time that somebody typed; now where it is None. Raises UsageError."""
        return cls(None, None if until is None else parse_since_time(until, "--until"), cluster)

    def asked(self, client: "Client", **knobs: Any) -> "Fleet":  # noqa: ANN401 - as the client has them
        """The fleet of that period and cluster; ``knobs`` are parameters of the routes."""
        return client.fleet(since=self.since, until=self.until, cluster=self.cluster, **knobs)


@contextmanager
def open_source(url: str, token_file: str | None, ca_file: str | None) -> "Iterator[Client]":
    """The service at ``url`` or ``TRIAGE_URL``; without both, its routes over the database of the
    settings, in this process.
    """
    if url or os.environ.get("TRIAGE_URL"):
        with open_client(url, token_file, ca_file) as client:
            yield client
        return
    with open_service_context() as ctx:
        from triage.client import Client
        from triage.server.within import WithinProcess

        with Client(_HERE, tries=1, over=WithinProcess(ctx)) as client:
            try:
                yield client
            except Refusal as error:
                raise UsageError(str(error)) from error


def parse_period(
    since: str | None, until: str | None, days: float, cluster: str | None = None
) -> FleetQuery:
    """The period that the options name. Raises UsageError."""
    if not 0 < days <= _MAX_DAYS:
        raise UsageError(f"--days {days:g}: give more than 0 and at most {_MAX_DAYS:,.0f}")
    end = None if until is None else parse_since_time(until, "--until")
    if since is not None:
        return FleetQuery(parse_since_time(since), end, cluster)
    if end is None and days == 30:
        return FleetQuery(cluster=cluster)
    return FleetQuery((end or datetime.now(UTC)) - timedelta(days=days), end, cluster)
