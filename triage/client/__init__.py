"""Client: the service over HTTP, from a notebook or a script."""

from triage.client.client import Client
from triage.client.fleet import Fleet
from triage.client.incident import Incident
from triage.client.node import NodeHistory

__all__ = ["Client", "Fleet", "Incident", "NodeHistory"]
