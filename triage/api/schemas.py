"""The shapes on the wire, for the OpenAPI description.

What goes out is written by the views themselves; these say what to expect, and the tests hold
the two together. What comes in is checked by what reads it, place by place.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from triage.api.values import FILE_KINDS, NAME_SCHEMA
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.evidence import EvidenceRole
from triage.domain.states import ArtifactState, DeliveryState, IncidentState
from triage.notify.message import Event
from triage.notify.request import Kind as ReceiverKind

__all__ = ["INCOMING", "OUTGOING"]

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


class IncidentPage(BaseModel):
    """One page of incidents."""

    items: list[Incident]
    next_cursor: str | None


class ArtifactPage(BaseModel):
    """One page of files."""

    items: list[Artifact]
    next_cursor: str | None


class EvidencePage(BaseModel):
    """One page of evidence."""

    items: list[EvidenceRow]
    next_cursor: str | None


class CollectivePage(BaseModel):
    """One page of collectives."""

    items: list[Collective]
    next_cursor: str | None


class TimelinePage(BaseModel):
    """One page of the timeline."""

    items: list[TimelineRow]
    next_cursor: str | None


class SubscriptionPage(BaseModel):
    """One page of receivers."""

    items: list[Subscription]
    next_cursor: str | None


class DeliveryPage(BaseModel):
    """One page of messages."""

    items: list[Delivery]
    next_cursor: str | None


OUTGOING: tuple[type[BaseModel], ...] = (
    Problem, Incident, Announced, Heard, Artifact, Bundle, Report, Suspects, Resolution, Node,
    NewSubscription, Delivery, Health, Ready, IncidentPage, ArtifactPage, EvidencePage,
    CollectivePage, TimelinePage, SubscriptionPage, DeliveryPage,
)  # fmt: skip

MAX_NOTE = 10_000
WHOLE: dict[str, Any] = {"type": "integer"}
NAME_OR_NUMBER: dict[str, Any] = {"anyOf": [NAME_SCHEMA, WHOLE]}
# Hooks come out of shell scripts: seconds since the epoch and numbers as text are fine.
TIME: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": "^[0-9]{9,11}(\\.[0-9]{1,9})?$"},
        {"type": "number"},
    ]
}


def may_be_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


INCOMING: dict[str, dict[str, Any]] = {
    "JobFailed": {
        "description": "The job.json object, and what to expect. Unknown keys are kept.",
        "type": "object",
        "required": ["job_id"],
        "properties": {
            "job_id": NAME_OR_NUMBER,
            "cluster": may_be_null(NAME_OR_NUMBER),
            "failed_at": may_be_null(TIME),
            "started_at": may_be_null(TIME),
            "nodelist": may_be_null(
                {
                    "type": ["string", "array"],
                    "description": "A Slurm host list, such as gpu[001-128,130].",
                }
            ),
            "expected_artifacts": may_be_null(
                {
                    "anyOf": [
                        {"type": "integer", "minimum": 0, "maximum": 10_000_000},
                        {"type": "string", "pattern": "^[0-9]{1,7}$"},
                    ],
                    "description": "Settle as soon as that many files are in.",
                }
            ),
            "collect_within_s": may_be_null(
                {
                    "type": "number", "exclusiveMinimum": 0, "maximum": 604_800,
                    "description": "Settle at the latest after so many seconds; default 300.",
                }
            ),
            "callback_url": may_be_null(
                {
                    "type": "string",
                    "description": "Where to post the answer: https, and a public address.",
                }
            ),
        },
        "additionalProperties": True,
    },
    "Alerts": {
        "description": "Alertmanager's webhook payload, version 4.",
        "type": "object",
        "required": ["alerts"],
        "properties": {
            "version": {"const": "4"},
            "truncatedAlerts": {"description": "How many alerts the sender left out."},
            "commonLabels": {"description": "Labels that all of the alerts have."},
            "alerts": {
                "type": "array",
                "maxItems": 10_000,
                "items": {
                    "type": "object",
                    "properties": {
                        # Senders differ; what is not as expected keeps out one alert.
                        "status": {"description": "`firing`, or it is kept out."},
                        "labels": {"description": "They name the job, the node, the Xid."},
                        "annotations": {"description": "description, summary or message."},
                        "startsAt": {"description": "RFC 3339."},
                        "fingerprint": {"description": "Names the alert in the answer."},
                    },
                },
            },
        },
    },
    "CloudEvent": {
        "description": "A CloudEvent of version 1.0.",
        "type": "object",
        "required": ["specversion", "id", "source", "type"],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": {"type": "string", "minLength": 1},
            "source": {"type": "string", "minLength": 1},
            "type": {"type": "string", "minLength": 1},
            "time": {"description": "RFC 3339."},
            "data": {"description": "A health event is {healthEvent: {nodeName, ...}}."},
        },
    },
    "NewResolution": {
        "description": "What the incident turned out to be.",
        "type": "object",
        "required": ["category"],
        "properties": {
            "category": {"type": "string", "enum": list(Category)},
            "node": may_be_null(NAME_SCHEMA),
            "note": may_be_null({"type": "string", "maxLength": MAX_NOTE}),
        },
        "additionalProperties": False,
    },
    "SubscriptionRequest": {
        "description": "A receiver. What each kind needs stands in docs/notifications.md.",
        "type": "object",
        "required": ["kind"],
        "properties": {
            "kind": {"type": "string", "enum": list(ReceiverKind)},
            "url": may_be_null(
                {"type": "string", "description": "https, and a public address."}
            ),
            "routing_key": may_be_null({"type": "string", "description": "PagerDuty's."}),
            "secret": may_be_null(
                {"type": "string", "description": "whsec_ and Base64; made when left out."}
            ),
            "events": may_be_null(
                {"type": "array", "items": {"type": "string", "enum": list(Event)}}
            ),
        },
        "additionalProperties": False,
    },
}  # fmt: skip
