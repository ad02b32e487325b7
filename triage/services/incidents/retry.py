"""What could not be read, or was read with other signatures, is read again, because somebody
says so.
"""

from dataclasses import dataclass

from triage.clock import read_utc_now
from triage.errors import NotFound
from triage.services.context import Context
from triage.store.access import audit
from triage.store.incidents import incidents
from triage.store.uploads import again


@dataclass(frozen=True, slots=True)
class Retried:
    """What is to be read, and answered, again."""

    num_incidents: int
    num_files: int


def retry(
    ctx: Context, incident_id: str | None = None, actor: str = "local", *, all_logs: bool = False
) -> Retried:
    """Read again what could not be read, of one incident or of all; with ``all_logs``, of one
    incident, also the logs that were read.

    Raises :class:`NotFound` for an incident that is not there.
    """
    with ctx.database.reading() as session:
        if incident_id is not None and incidents.find(session, incident_id) is None:
            raise NotFound(f"there is no incident {incident_id}")
        if all_logs and incident_id is not None:
            found = [incident_id]
        else:
            found = again.list_incidents_to_retry(session, incident_id)
    num_files = 0
    for one in found:
        now = read_utc_now()
        with ctx.database.writing() as session:
            num = again.read_again(session, one, now, all_logs=all_logs)
            audit.note(session, actor, "retry", one, now, {"files": num})
        num_files += num
    return Retried(len(found), num_files)
