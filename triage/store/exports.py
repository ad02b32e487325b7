"""The rows of ``triage.open_store``, read from the database itself; nothing is changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import select

from models import Evidence, Suspect
from triage.store.database.engine import Database
from triage.store.incidents import incidents, revisions
from triage.store.uploads import evidence

_PAGE: Final = 500


class StoredIncidents:
    """Incidents of a database. A question is a transaction of its own, so that none holds others
    up: what is added meanwhile may be in one table and not in another.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def incidents(self, filters: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """As the service gives them, newest first."""
        before = None
        while True:
            with self.database.reading() as session:
                page = incidents.list_incidents(
                    session, before=before, limit=_PAGE, since=filters.get("since"),
                    cluster=filters.get("cluster"), category=filters.get("category"),
                )  # fmt: skip
            yield from (one.to_dict() for one in page)
            if len(page) < _PAGE:
                return
            before = (page[-1].created_at, page[-1].id)

    def suspects(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Best first, by the order of the incidents."""
        with self.database.reading() as session:
            rows = session.execute(
                select(Suspect.incident_id, Suspect.row)
                .where(Suspect.incident_id.in_(incident_ids))
                .order_by(Suspect.incident_id.desc(), Suspect.position)
            ).all()
        yield from ((incident_id, row) for incident_id, row in rows)

    def evidence(self, incident_ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """In the order read, by the order of the incidents."""
        with self.database.reading() as session:
            rows = session.scalars(
                select(Evidence)
                .where(Evidence.incident_id.in_(incident_ids))
                .order_by(Evidence.incident_id.desc(), Evidence.id)
                .execution_options(yield_per=5000)
            )
            for row in rows:
                yield row.incident_id, evidence.make_wire_row(row)

    def get_report(self, incident_id: str) -> Mapping[str, Any] | None:
        """Of the newest answer."""
        with self.database.reading() as session:
            newest = revisions.find_newest(session, incident_id)
            return None if newest is None else newest.reported().to_dict()

    def close(self) -> None:
        """End the connections."""
        self.database.close()

    def __repr__(self) -> str:
        return self.database.engine.url.render_as_string(hide_password=True)
