"""Where incidents, artifacts, work and messages of the service can stand."""

from enum import StrEnum


class IncidentState(StrEnum):
    """Where an incident stands; ``failed`` is a failure of ours."""

    COLLECTING = "collecting"
    ANALYSING = "analysing"
    READY = "ready"
    FAILED = "failed"


class ArtifactState(StrEnum):
    """What became of a file."""

    STORED = "stored"
    ANALYSED = "analysed"
    PARTIAL = "partial"
    QUARANTINED = "quarantined"


class WorkKind(StrEnum):
    """What can be owed."""

    PARSE = "parse"  # key: upload id
    ANALYSE = "analyse"  # key: incident id
    NOTIFY = "notify"  # key: subscription id
    ACT = "act"  # key: action id
    RETENTION = "retention"  # what the clock asks for; key: "prune", "problems"


class WorkState(StrEnum):
    """Where a row of work stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    QUARANTINED = "quarantined"


class DeliveryState(StrEnum):
    """Where a message stands; ``failed`` is given up."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
