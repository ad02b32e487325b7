"""The rows of an export, asked of a service."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from triage.client.incident import build_incident_path
from triage.client.transport import Transport


class ServiceIncidents:
    """Incidents of the service behind ``transport``: two questions for each."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def incidents(self, filters: Mapping[str, object]) -> Iterator[Mapping[str, Any]]:
        """As the list of the service has them, newest first."""
        query = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in filters.items()
        }
        return self.transport.pages("/v1/incidents", query)

    def suspects(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """As the answer of the service has them, best first."""
        for one in incident_ids:
            for row in self.transport.get(build_incident_path(one, "suspects"))["suspects"]:
                yield one, row

    def evidence(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """In the order read."""
        for one in incident_ids:
            for row in self.transport.pages(build_incident_path(one, "evidence")):
                yield one, row

    def close(self) -> None:
        """End the connections."""
        self.transport.close()

    def __repr__(self) -> str:
        return self.transport.url
