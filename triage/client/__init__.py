"""Client: the service over HTTP, from a notebook or a script."""

from triage.client.client import Client
from triage.client.incident import Incident, NodeHistory
from triage.fleet.client import Fleet

__all__ = ["Client", "Fleet", "Incident", "NodeHistory"]
