"""The suspects of the newest answer to an incident."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Suspect

__all__ = ["of_incident"]


def of_incident(session: Session, incident_id: str) -> list[dict[str, Any]]:
    """As the report prints them, best first; empty before the first answer."""
    rows = session.scalars(
        select(Suspect.row).where(Suspect.incident_id == incident_id).order_by(Suspect.position)
    )
    return list(rows)
