"""What the store hands out: plain values, so that nothing above it knows a table."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from triage.domain.answer_wire import answer_from_bytes
from triage.domain.report import Answer, iso_utc
from triage.domain.states import (
    ArtifactState,
    DeliveryState,
    IncidentState,
    WorkKind,
    WorkState,
)
from triage.errors import Corrupt, Unavailable

__all__ = [
    "ArtifactView",
    "DeliveryView",
    "IncidentView",
    "KeyView",
    "ResolutionView",
    "RevisionView",
    "SubscriptionView",
    "WorkView",
    "name_in_reports",
    "view_of",
]

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

V = TypeVar("V", bound="DataclassInstance")


def view_of(view: type[V], row: object, **given: Any) -> V:  # noqa: ANN401
    """A row as a value that outlives its session: each field from the column of its name.

    ``given`` are the fields that are made of a column, or of no column of this row.
    """
    columns = [field.name for field in fields(view) if field.name not in given]
    return view(**{name: getattr(row, name) for name in columns}, **given)


@dataclass(frozen=True, slots=True)
class ResolutionView:
    """What it turned out to be."""

    category: str
    node: str | None
    note: str | None
    said_by: str
    resolved_at: datetime

    def to_dict(self) -> dict[str, Any]:
        """Its fields under their names, but ``by`` for ``said_by``; the time as RFC 3339."""
        return {
            "category": self.category,
            "node": self.node,
            "note": self.note,
            "by": self.said_by,
            "resolved_at": iso_utc(self.resolved_at),
        }


@dataclass(frozen=True, slots=True)
class IncidentView:
    """One incident, without its report."""

    id: str
    job_id: str
    cluster: str | None
    state: IncidentState
    revision: int
    provisional: bool
    verdict: dict[str, Any] | None
    coverage: dict[str, Any] | None
    resolution: ResolutionView | None
    created_at: datetime
    settled_at: datetime | None
    updated_at: datetime
    reason: str | None
    num_artifacts: int
    expected_artifacts: int | None

    def to_dict(self) -> dict[str, Any]:
        """The wire form, as in contract section 5."""
        return {
            "id": self.id,
            "job_id": self.job_id,
            "cluster": self.cluster,
            "state": str(self.state),
            "revision": self.revision,
            "provisional": self.provisional,
            "verdict": self.verdict,
            "coverage": self.coverage,
            "resolution": None if self.resolution is None else self.resolution.to_dict(),
            "created_at": iso_utc(self.created_at),
            "settled_at": iso_utc(self.settled_at),
            "reason": self.reason,
            "num_artifacts": self.num_artifacts,
            "expected_artifacts": self.expected_artifacts,
        }


@dataclass(frozen=True, slots=True)
class ArtifactView:
    """One uploaded file, where its bytes lie, and what became of it.

    ``identity`` is unique in its incident. ``position`` and ``stored_bytes`` say where in the
    blob its frame lies; ``blob_key`` is None once the bytes were pruned. ``tries`` counts
    readers that were lost over it alone.
    """

    id: str
    incident_id: str
    identity: str
    node: str | None
    rank: int | None
    kind: str
    filename: str
    sha256: str
    size_bytes: int
    position: int
    stored_bytes: int
    state: ArtifactState
    reason: str | None
    redacted: dict[str, int]
    created_at: datetime
    blob_key: str | None
    tries: int = 0

    @property
    def name(self) -> str:
        """Its name in reports."""
        return name_in_reports(self.node, self.filename)

    def to_dict(self) -> dict[str, Any]:
        """The wire form, as in contract section 5."""
        return {
            "id": self.id,
            "incident_id": self.incident_id,
            "node": self.node,
            "rank": self.rank,
            "kind": self.kind,
            "filename": self.filename,
            "sha256": self.sha256,
            "bytes": self.size_bytes,
            "state": str(self.state),
            "reason": self.reason,
            "redacted": self.redacted,
            "created_at": iso_utc(self.created_at),
        }


@dataclass(frozen=True, slots=True)
class RevisionView:
    """One answer, packed as :func:`triage.domain.answer_wire.answer_to_bytes` does."""

    incident_id: str
    revision: int
    provisional: bool
    answer: bytes
    created_at: datetime

    def reported(self) -> Answer:
        """The answer as far as reports and messages say it: what only pictures need is left out.

        Raises :class:`Unavailable` for bytes that cannot be read.
        """
        try:
            return answer_from_bytes(self.answer, pictures=False)
        except Corrupt as error:
            raise Unavailable(
                f"revision {self.revision} of {self.incident_id} cannot be read: {error}",
                hint="restore the database from a backup; or send one more file of the incident,"
                " which has it answered again",
            ) from error


def name_in_reports(node: str | None, filename: str) -> str:
    """What reports call a file: ``nodes/<node>/<filename>`` where its node is known."""
    return filename if node is None else f"nodes/{node}/{filename}"


@dataclass(frozen=True, slots=True)
class KeyView:
    """A token by its id; the token itself is nowhere."""

    id: str
    name: str
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class SubscriptionView:
    """One receiver. ``secrets`` are shown only when it is made."""

    id: str
    kind: str
    url: str
    routing_key: str | None
    secrets: tuple[str, ...]
    events: tuple[str, ...]
    incident_id: str | None
    created_at: datetime
    disabled_at: datetime | None
    disabled_why: str | None
    failing_since: datetime | None

    def to_dict(self) -> dict[str, Any]:
        """The wire form, without secrets."""
        return {
            "id": self.id,
            "kind": self.kind,
            "url": self.url,
            "events": list(self.events),
            "created_at": iso_utc(self.created_at),
            "disabled_at": iso_utc(self.disabled_at),
            "disabled_why": self.disabled_why,
            "failing_since": iso_utc(self.failing_since),
        }


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """One message to one receiver and how far it came."""

    id: str
    subscription_id: str
    incident_id: str | None
    revision: int
    event: str
    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    state: DeliveryState
    attempts: int
    next_at: datetime | None
    last_status: int | None
    last_error: str | None
    latency_ms: int | None
    created_at: datetime
    tried_at: datetime | None
    delivered_at: datetime | None

    def to_dict(self) -> dict[str, Any]:
        """What the API shows of it: no address, headers or body; ``type`` is the event."""
        return {
            "id": self.id,
            "subscription_id": self.subscription_id,
            "incident_id": self.incident_id,
            "revision": self.revision,
            "type": self.event,
            "state": str(self.state),
            "attempts": self.attempts,
            "next_at": iso_utc(self.next_at),
            "last_status": self.last_status,
            "last_error": self.last_error,
            "latency_ms": self.latency_ms,
            "created_at": iso_utc(self.created_at),
            "tried_at": iso_utc(self.tried_at),
            "delivered_at": iso_utc(self.delivered_at),
        }


@dataclass(frozen=True, slots=True)
class WorkView:
    """One thing that is owed, as a worker that claimed it sees it."""

    id: int
    kind: WorkKind
    key: str
    state: WorkState
    generation: int
    tries: int
    not_before: datetime
    lease_until: datetime | None
    last_error: str | None
    created_at: datetime
