"""All stored extracts, written again in another form."""

from collections.abc import Callable
from typing import Final

from sqlalchemy import select, tuple_, update

from models import Digest
from triage.errors import ArtifactError
from triage.store.database.engine import Database

_BATCH: Final = 200


def rewrite_extracts(database: Database, change: Callable[[bytes], bytes]) -> int:
    """Write down what ``change`` makes of each extract; how many changed.

    Commits as it goes; a second run changes nothing. One that is damaged stays as it is.
    """
    changed, after = 0, ("", "")
    key = (Digest.incident_id, Digest.artifact_id)
    query = select(*key, Digest.extract).order_by(*key).limit(_BATCH)
    while True:
        with database.writing() as session:
            rows = session.execute(query.where(tuple_(*key) > after)).all()
            if not rows:
                return changed
            for incident_id, artifact_id, extract in rows:
                new = _apply_change(change, extract)
                if new != extract:
                    of_file = Digest.artifact_id == artifact_id
                    this = update(Digest).where(Digest.incident_id == incident_id, of_file)
                    session.execute(this.values(extract=new))
                    changed += 1
            after = (incident_id, artifact_id)


def _apply_change(change: Callable[[bytes], bytes], extract: bytes) -> bytes:
    try:
        return change(extract)
    except ArtifactError:
        return extract
