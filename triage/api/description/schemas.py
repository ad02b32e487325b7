"""The shapes that go out, for the OpenAPI description.

They are written by the views themselves; these say what to expect, and the tests hold the two
together.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from triage.api.requests.values import FILE_KINDS, NAME_SCHEMA
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.evidence import EvidenceRole
from triage.domain.states import ArtifactState, DeliveryState, IncidentState
from triage.notify.message import Event
from triage.notify.request import Kind as ReceiverKind

__all__ = [
    "OUTGOING", "Announced", "Artifact", "ArtifactPage", "Bundle", "CollectivePage", "Delivery",
    "DeliveryPage", "EndedJob", "EvidencePage", "Health", "Heard", "ImportedRows", "IncidentPage",
    "NewSubscription", "Node", "OneIncident", "Open", "Page", "Ready", "Report", "Resolution",
    "SubscriptionPage", "Suspects", "Time", "TimelinePage",
]  # fmt: skip

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Name = Annotated[str, Field(json_schema_extra=dict(NAME_SCHEMA))]
FileKind = Annotated[str, Field(json_schema_extra={"enum": list(FILE_KINDS)})]


class Open(BaseModel):
    """Later releases may add keys."""

    model_config = ConfigDict(extra="allow")


class ProblemError(BaseModel):
    """One wrong place of a request."""

    pointer: str | None = Field(None, description="JSON pointer into the body.")
    parameter: str | None = Field(None, description="Name of a parameter or header.")
    in_: Literal["query", "path", "header"] | None = Field(None, alias="in")
    place: str | None = None
    message: str


class Problem(Open):
    """An RFC 9457 problem document."""

    type: str = Field(description="Where /docs explains this kind of problem.")
    title: str
    status: int
    detail: str
    instance: str
    errors: list[ProblemError]
    hint: str | None = Field(None, description="What to do next.")
    request_id: str | None = Field(None, description="Stands in the log of the service.")


class Verdict(Open):
    """The one sentence and what follows from it."""

    kind: VerdictKind
    category: Category
    llama3_category: str | None
    confidence: Annotated[float, Field(ge=0, le=1)]
    summary: str
    action: Action
    cordon: list[str]
    at: Time | None


class Because(Open):
    """One reason, with its place."""

    detector: str
    text: str
    artifact: str | None
    line: int | None
    at: Time | None


class Suspect(Open):
    """One node of the ranked answer, or one rank where no map is known."""

    position: int
    node: str | None
    ranks: list[int]
    gpus: list[str]
    category: Category
    score: Annotated[float, Field(ge=0, le=1)]
    role: Role
    action: Action
    because: list[Because]


class Collective(Open):
    """One collective at a frontier."""

    pg: str
    desc: str
    seq_id: int
    op: str
    waiting: list[int]
    missing: list[int]
    mismatched: list[int]


class Resolution(Open):
    """What an incident turned out to be."""

    category: Category
    node: str | None
    note: str | None
    by: str = Field(description="Id of the token that said it, or `local`.")
    resolved_at: Time


class Incident(Open):
    """One failure of one job."""

    id: str
    job_id: str
    cluster: str | None
    state: IncidentState
    revision: int
    provisional: bool
    verdict: Verdict | None
    coverage: dict[str, Any] | None
    resolution: Resolution | None
    created_at: Time
    settled_at: Time | None
    reason: str | None
    num_artifacts: int
    expected_artifacts: int | None


class Repeat(Open):
    """An earlier incident, of whatever job, that convicted a suspect of this one."""

    incident_id: str
    job_id: str
    at: Time = Field(description="When it was opened.")
    node: str
    part: str | None = Field(description="GPU, NIC, disk or DIMM; None where nothing names one.")
    why: str = Field(description="What both have in common, and how often that was.")


class OneIncident(Incident):
    """One failure of one job, and what it may be a repeat of."""

    repeats: Annotated[list[Repeat], Field(max_length=20, description="Newest first.")]


class Announced(Open):
    """The incident of a failure, and where to send its files."""

    incident: Incident
    upload_url: str = Field(description="For bundles; relative, and names the incident.")


class Ignored(Open):
    """A notice that was kept out."""

    fingerprint: str
    why: str


class Heard(Open):
    """What became of the notices of one request."""

    accepted: int
    ignored: list[Ignored]
    incidents: list[Incident]
    truncated: int = Field(description="Alerts that the sender left out, by its own account.")


class EndedJob(Open):
    """What became of the end of a job."""

    job_id: str
    cluster: str | None
    ended_at: str
    ending: str = Field(description="completed, unexpected, planned or unknown.")
    run: str = Field(description="new, changed, known; unknown where nobody told its start.")
    note: str | None


class UnreadRow(Open):
    """A row that was left out."""

    line: int = Field(description="From 1; of a list of objects its place.")
    why: str


class ImportedRows(Open):
    """What became of the rows of an export."""

    format: str = Field(description="Known by its content: sacct, acme, csv, inventory, ...")
    rows: int = Field(description="Those that told something.")
    added: int
    changed: int
    unchanged: int
    num_skipped: int
    skipped: Annotated[list[UnreadRow], Field(max_length=100, description="The first of them.")]
    notes: list[str]


class Artifact(Open):
    """One uploaded file and what became of it."""

    id: str
    incident_id: str
    node: str | None
    rank: int | None
    kind: FileKind
    filename: str
    sha256: str
    bytes: int
    state: ArtifactState
    reason: str | None
    redacted: dict[str, int] = Field(description="Secrets cut out before it was kept, by kind.")
    created_at: Time


class Member(Open):
    """What became of one file of a bundle."""

    member: str
    status: int = Field(description="201, 200 for one that was there already, 413 or 422.")
    reason: str | None
    id: str | None


class Bundle(Open):
    """What became of a bundle."""

    incident_id: str
    artifacts: list[Member]


class Report(Open):
    """The report `triage.report/1`."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    schema_: Literal["triage.report/1"] = Field(alias="schema")
    job: dict[str, Any]
    verdict: Verdict
    suspects: list[Suspect]
    groups: list[Collective]
    victims: dict[str, Any]
    coverage: dict[str, Any]


class Suspects(Open):
    """The ranked answer."""

    incident_id: str
    state: IncidentState
    revision: int
    provisional: bool
    suspects: list[Suspect]


class EvidenceRow(Open):
    """One dated fact, as `triage parse` prints it."""

    artifact: str
    line: int | None
    at: Time | None
    clock: Literal["wall", "uptime", "none"]
    node: str | None
    rank: int | None
    kind: str
    code: int | None
    gpu: str | None
    category: str | None
    role: EvidenceRole
    signature: str
    text: str


class TimelineRow(Open):
    """First root evidence of a node, or the stop."""

    at: Time | None
    node: str | None
    rank: int | None
    kind: str
    category: str | None
    text: str


class Node(Open):
    """A node's history."""

    node: str
    clusters: list[str]
    first_seen_at: Time
    last_seen_at: Time
    incidents: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    rate: dict[str, Any]


class Subscription(Open):
    """One receiver."""

    id: str
    kind: ReceiverKind
    url: str
    events: list[Event]
    created_at: Time
    disabled_at: Time | None
    disabled_why: str | None
    failing_since: Time | None


class NewSubscription(Subscription):
    """One receiver that was just made; the secret is shown only here."""

    secret: str | None


class Delivery(Open):
    """One message to one receiver."""

    id: str
    subscription_id: str
    incident_id: str
    revision: int
    type: str
    state: DeliveryState
    attempts: int
    next_at: Time | None
    last_status: int | None
    last_error: str | None
    latency_ms: int | None
    created_at: Time
    tried_at: Time | None
    delivered_at: Time | None


class Health(Open):
    """The process answers."""

    status: Literal["ok"]


class Part(Open):
    """One part that the service rests on."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str


class Ready(Open):
    """Whether the service can do its work."""

    status: Literal["ok", "fail"]
    parts: list[Part]


class Page(BaseModel):
    """One page of a list."""

    next_cursor: str | None


class IncidentPage(Page):
    """One page of incidents."""

    items: list[Incident]


class ArtifactPage(Page):
    """One page of files."""

    items: list[Artifact]


class EvidencePage(Page):
    """One page of evidence."""

    items: list[EvidenceRow]


class CollectivePage(Page):
    """One page of collectives."""

    items: list[Collective]


class TimelinePage(Page):
    """One page of the timeline."""

    items: list[TimelineRow]


class SubscriptionPage(Page):
    """One page of receivers."""

    items: list[Subscription]


class DeliveryPage(Page):
    """One page of messages."""

    items: list[Delivery]


OUTGOING: tuple[type[BaseModel], ...] = (
    Problem, Incident, OneIncident, Announced, EndedJob, Heard, ImportedRows, Artifact, Bundle,
    Report, Suspects,
    Resolution, Node, NewSubscription, Delivery, Health, Ready, IncidentPage, ArtifactPage,
    EvidencePage, CollectivePage, TimelinePage, SubscriptionPage, DeliveryPage,
)  # fmt: skip
