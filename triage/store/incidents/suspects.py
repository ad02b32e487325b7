"""The suspects of the newest answer to an incident."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Suspect


def list_suspects(session: Session, incident_id: str) -> list[dict[str, Any]]:
    """As the report prints them, best first; empty before the first answer."""
    rows = session.scalars(
        select(Suspect.row).where(Suspect.incident_id == incident_id).order_by(Suspect.position)
    )
    return list(rows)


def list_first_suspects(session: Session, incident_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The first suspect of each of these incidents, as the report prints it; some have none."""
    rows = session.execute(
        select(Suspect.incident_id, Suspect.row).where(
            Suspect.incident_id.in_(incident_ids), Suspect.position == 1
        )
    )
    return {found.incident_id: found.row for found in rows}
