"""Whether a person has said that the suspect of an incident was not to blame."""

from sqlalchemy import ColumnElement, and_, or_

from models import Resolution, Suspect
from triage.domain.category import OF_THE_NODE


def build_accused_condition() -> ColumnElement[bool]:
    """Nobody has said that it was another node, or no trouble of a node at all."""
    same_node = or_(Resolution.node.is_(None), Resolution.node == Suspect.node)
    return or_(
        Resolution.incident_id.is_(None),
        and_(Resolution.category.in_(OF_THE_NODE), same_node),
    )
