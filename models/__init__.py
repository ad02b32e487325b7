"""The tables; only ``triage.store`` imports them."""

from models.api_key import ApiKey
from models.artifact import Artifact
from models.audit import Audit
from models.base import Base
from models.cluster import Cluster
from models.delivery import Delivery
from models.digest import Digest
from models.evidence import Evidence
from models.incident import Incident
from models.job import Job
from models.node import Node
from models.resolution import Resolution
from models.revision import Revision
from models.subscription import Subscription
from models.suspect import Suspect
from models.upload import Upload
from models.work import Work

__all__ = [
    "ApiKey",
    "Artifact",
    "Audit",
    "Base",
    "Cluster",
    "Delivery",
    "Digest",
    "Evidence",
    "Incident",
    "Job",
    "Node",
    "Resolution",
    "Revision",
    "Subscription",
    "Suspect",
    "Upload",
    "Work",
]
