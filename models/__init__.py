"""The tables; only ``triage.store`` imports them."""

from models.access import ApiKey, Audit, Idempotency, PageSession
from models.actions import Action
from models.base import Base
from models.checks import HealthCheck
from models.fleet_record import Outage, PastStop, PastSuspect, Repair, Run
from models.incidents import (
    Evidence,
    Incident,
    IncidentFacts,
    Job,
    Occurrence,
    Resolution,
    Revision,
    Suspect,
)
from models.messages import Delivery, Subscription
from models.nodes import Cluster, Node, NodeNotice, NodeSet, PartSighting
from models.telemetry import TelemetryDay, TelemetryPack
from models.uploads import Artifact, Digest, Erasure, UnreferencedBlob, Upload
from models.work import ClockMark, Work

__all__ = [
    "Action",
    "ApiKey",
    "Artifact",
    "Audit",
    "Base",
    "ClockMark",
    "Cluster",
    "Delivery",
    "Digest",
    "Erasure",
    "Evidence",
    "HealthCheck",
    "Idempotency",
    "Incident",
    "IncidentFacts",
    "Job",
    "Node",
    "NodeNotice",
    "NodeSet",
    "Occurrence",
    "Outage",
    "PageSession",
    "PartSighting",
    "PastStop",
    "PastSuspect",
    "Repair",
    "Resolution",
    "Revision",
    "Run",
    "Subscription",
    "Suspect",
    "TelemetryDay",
    "TelemetryPack",
    "UnreferencedBlob",
    "Upload",
    "Work",
]
