# ruff: noqa: ARG002 - hooks that do nothing take what the others do.
"""What every use-case needs: settings, database, blobs, wake-ups; what fleet and acting add."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from triage.domain.probation import Probation
from triage.domain.standing import Prior
from triage.queue.wakeups import Wakeups
from triage.services.quotas import Quotas
from triage.settings import Settings
from triage.store.blobs.interface import Blobs
from triage.store.database.engine import Database
from triage.store.database.group_commit import GroupCommit
from triage.store.uploads.evidence import Reading


class FleetHooks:
    """What the fleet does beside an incident: nothing, where there is no record of one.

    The incident's services know no more of it.
    """

    def job_failed(
        self,
        session: Session,
        job_id: str,
        facts: Mapping[str, Any],
        *,
        cluster: str,
        failed_at: datetime | None,
        now: datetime,
        key_id: str | None,
    ) -> None:
        """Keep the run of a job that failed, in the transaction that opens its incident."""

    def saw_parts(
        self, session: Session, cluster_id: int, readings: Sequence[Reading], now: datetime
    ) -> None:
        """Keep which hardware the files of an incident name, in the transaction of their rows."""

    def num_brought(
        self, session: Session, key_id: str, since: datetime | None
    ) -> Mapping[str, int]:
        """How much of each kind a token has brought to the record, of that time."""
        return {}

    def withdraw(self, session: Session, key_id: str, since: datetime | None) -> Mapping[str, int]:
        """Remove what a token has brought, of that time; how much of each kind."""
        return {}

    def subscribed(self, session: Session, settings: Settings, now: datetime) -> None:
        """See to what a new receiver may be owed, in the transaction that adds it."""

    def priors(
        self, ctx: "Context", facts: Mapping[str, Any], cluster: str | None
    ) -> Mapping[str, Prior]:
        """What the record knows of the nodes of an incident, for its first answer."""
        return {}

    def probation(self, ctx: "Context", node: str, cluster: str | None) -> Probation | None:
        """Whether the node came back from a repair lately, and is likely to fail again."""
        return None


@dataclass(frozen=True, slots=True)
class ShownActs:
    """Acts that wait for a person, and the newest others.

    The pages know nothing of the actuator: an act is a value with the names of a row of
    ``GET /v1/actions``, and ``at``, when it came to stand as it does.
    """

    waiting: Sequence[Any] = ()
    newest: Sequence[Any] = ()


class ActingHooks:
    """What acting on nodes does beside an incident: nothing, where no node is acted on."""

    def answered(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """See to what the answer of a settled incident asks for, in the transaction of it."""

    def resolved(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """See to what a person's word means for what was done, in the transaction of it."""

    def counts(self, session: Session, settings: Settings) -> Mapping[str, Any]:
        """What the metrics say of acting, by their names."""
        return {}

    def list_shown(self, session: Session, cluster: str | None) -> ShownActs:
        """Acts of a cluster, or of all, for the overview."""
        return ShownActs()

    def list_by_incident(self, session: Session, incident_id: str) -> Sequence[Any]:
        """Acts of an incident, the first first."""
        return ()


@dataclass(frozen=True, slots=True)
class Context:
    """One process's way to everything outside it; shared between its threads.

    ``fleet`` and ``acting`` are what those two do beside an incident, whose services know no more
    of them; :func:`triage.server.context.open_context` puts all together.
    """

    settings: Settings
    database: Database
    blobs: Blobs
    wakeups: Wakeups
    commit: GroupCommit
    quotas: Quotas
    fleet: FleetHooks = field(default_factory=FleetHooks)
    acting: ActingHooks = field(default_factory=ActingHooks)

    def close(self) -> None:
        """End threads and connections."""
        self.commit.close()
        self.database.close()
