"""What the store hands out: plain values, so that nothing above it knows a table."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from triage.domain.caller import Caller
from triage.domain.category import Category
from triage.domain.file_kind import FileKind
from triage.domain.recurrence import ProblemOfIncident
from triage.domain.report import Verdict
from triage.domain.states import (
    ArtifactState,
    DeliveryState,
    IncidentState,
)
from triage.domain.wire import UNSENT, Key, SentAs, WireForm

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

V = TypeVar("V", bound="DataclassInstance")


def make_view(view: type[V], row: object, **given: Any) -> V:  # noqa: ANN401
    """A row as a value that outlives its session: each field from the column of its name.

    ``given`` are the fields that are made of a column, or of no column of this row.
    """
    columns = [field.name for field in fields(view) if field.name not in given]
    return view(**{name: getattr(row, name) for name in columns}, **given)


@dataclass(frozen=True, slots=True)
class ResolutionView(WireForm):
    """What it turned out to be."""

    category: Annotated[str, SentAs(Category)]
    node: str | None
    note: str | None
    said_by: Annotated[str, Key("by"), "Id of the token that said it, or `local`."]
    resolved_at: datetime


@dataclass(frozen=True, slots=True)
class IncidentView(WireForm):
    """One incident, without its report."""

    id: str
    job_id: str
    cluster: str | None
    state: IncidentState
    revision: int
    provisional: bool
    verdict: Annotated[dict[str, Any] | None, SentAs(Verdict | None)]
    coverage: Annotated[dict[str, Any] | None, SentAs(dict[str, Any] | None)]
    resolution: ResolutionView | None
    created_at: datetime
    settled_at: datetime | None
    updated_at: Annotated[datetime, UNSENT]
    reason: str | None
    num_artifacts: int
    expected_artifacts: int | None
    problem: Annotated[
        ProblemOfIncident | None, "The recurring problem; null before it is final."
    ] = None


@dataclass(frozen=True, slots=True)
class ArtifactView(WireForm):
    """One uploaded file, where its bytes lie, and what became of it.

    ``identity`` is unique in its incident. ``position`` and ``stored_bytes`` say where in the
    blob its frame lies; ``blob_key`` is None once the bytes were pruned. ``tries`` counts
    readers that were lost over it alone.
    """

    id: str
    incident_id: str
    identity: Annotated[str, UNSENT]
    node: str | None
    rank: int | None
    kind: Annotated[str, SentAs(FileKind)]
    filename: str
    sha256: str
    size_bytes: Annotated[int, Key("bytes")]
    position: Annotated[int, UNSENT]
    stored_bytes: Annotated[int, UNSENT]
    state: ArtifactState
    reason: str | None
    redacted: Annotated[dict[str, int], "Secrets cut out before it was kept, by kind."]
    created_at: datetime
    blob_key: Annotated[str | None, UNSENT]
    tries: Annotated[int, UNSENT] = 0
    key_id: Annotated[str | None, "The token that brought it."] = None
    is_digest: Annotated[bool | None, Key("digest"), "Of a dump, made on its node; else null."] = (
        None
    )

    @property
    def name(self) -> str:
        """Its name in reports."""
        return name_in_reports(self.node, self.filename)


def name_in_reports(node: str | None, filename: str) -> str:
    """What reports call a file: ``nodes/<node>/<filename>`` where its node is known."""
    return filename if node is None else f"nodes/{node}/{filename}"


@dataclass(frozen=True, slots=True)
class KeyView:
    """A token by its id; the token itself is nowhere.

    ``cluster``, ``node_pattern`` and ``job_id`` are what it is bound to; None is anything.
    """

    id: str
    name: str
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    cluster: str | None = None
    node_pattern: str | None = None
    job_id: str | None = None
    last_used_at: datetime | None = None
    tainted_at: datetime | None = None

    def caller(self) -> Caller:
        """Who asks with this token."""
        return Caller(self.id, self.scopes, self.cluster, self.node_pattern, self.job_id)


@dataclass(frozen=True, slots=True)
class SubscriptionView(WireForm):
    """One receiver. ``secrets`` are shown only when it is made."""

    id: str
    kind: str
    url: str
    routing_key: Annotated[str | None, UNSENT]
    secrets: Annotated[tuple[str, ...], UNSENT]
    events: tuple[str, ...]
    incident_id: Annotated[str | None, "Of a callback: the one that it is told of."]
    key_id: Annotated[str | None, "The token that asked for it."]
    created_at: datetime
    disabled_at: datetime | None
    disabled_why: str | None
    failing_since: datetime | None
    not_before: Annotated[datetime | None, UNSENT]


@dataclass(frozen=True, slots=True)
class NewDelivery(WireForm):
    """A message that is to be sent to one receiver."""

    id: str
    subscription_id: str
    incident_id: str | None
    revision: int
    event: Annotated[str, Key("type")]
    method: Annotated[str, UNSENT]
    url: Annotated[str, UNSENT]
    headers: Annotated[Mapping[str, str], UNSENT]
    body: Annotated[bytes, UNSENT]


@dataclass(frozen=True, slots=True)
class DeliveryView(NewDelivery):
    """One message to one receiver and how far it came."""

    state: DeliveryState
    attempts: int
    next_at: datetime | None
    last_status: int | None
    last_error: str | None
    latency_ms: int | None
    created_at: datetime
    tried_at: datetime | None
    delivered_at: datetime | None
