"""The tables; only ``triage.store`` imports them."""

from models.action import Action
from models.actuator_halt import ActuatorHalt
from models.api_key import ApiKey
from models.artifact import Artifact
from models.audit import Audit
from models.base import Base
from models.clock_mark import ClockMark
from models.cluster import Cluster
from models.delivery import Delivery
from models.digest import Digest
from models.erasure import Erasure
from models.evidence import Evidence
from models.health_check import HealthCheck
from models.idempotency import Idempotency
from models.incident import Incident
from models.incident_facts import IncidentFacts
from models.installation import Installation
from models.job import Job
from models.node import Node
from models.node_notice import NodeNotice
from models.node_set import NodeSet
from models.outage import Outage
from models.page_session import PageSession
from models.part_sighting import PartSighting
from models.past_stop import PastStop
from models.past_suspect import PastSuspect
from models.repair import Repair
from models.resolution import Resolution
from models.revision import Revision
from models.run import Run
from models.signature_file import SignatureFile
from models.subscription import Subscription
from models.suspect import Suspect
from models.telemetry_day import TelemetryDay
from models.telemetry_pack import TelemetryPack
from models.test_plan import TestPlan
from models.unreferenced_blob import UnreferencedBlob
from models.upload import Upload
from models.work import Work
from models.worker_beat import WorkerBeat

__all__ = [
    "Action",
    "ActuatorHalt",
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
    "Installation",
    "Job",
    "Node",
    "NodeNotice",
    "NodeSet",
    "Outage",
    "PageSession",
    "PartSighting",
    "PastStop",
    "PastSuspect",
    "Repair",
    "Resolution",
    "Revision",
    "Run",
    "SignatureFile",
    "Subscription",
    "Suspect",
    "TelemetryDay",
    "TelemetryPack",
    "TestPlan",
    "UnreferencedBlob",
    "Upload",
    "Work",
    "WorkerBeat",
]
