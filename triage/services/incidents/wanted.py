"""The files that would decide: what the answer lacks, and dumps of which only digests are here."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy.orm import Session

from triage.domain.caller import Caller
from triage.domain.category import Role
from triage.domain.file_kind import FileKind
from triage.domain.report import Answer, WantedFile
from triage.errors import NotAllowed, NotFound
from triage.store.incidents import incidents, wanted
from triage.store.incidents.wanted import Asked

MAX_WANTED: Final = 32
# Dumps of suspects, and of ranks that wait for them, one of a group.
_MAX_SUSPECTS: Final = 8
_MAX_WAITING: Final = 4
_OF_SUSPECT: Final = "only its digest is here; the dump has the stacks of all its operations"
_OF_WAITING: Final = "only its digest is here; the dump has the stacks of a rank that waits"
# Seconds between two questions of one node: more of a large job, whose nodes ask together.
_SOONEST_S: Final = 3.0
_LATEST_S: Final = 60.0
_FILES_A_SECOND: Final = 500.0


def list_wanted(session: Session, incident_id: str, answer: Answer) -> list[WantedFile]:
    """What an answer asks for, the most telling first."""
    reasons = dict(_list_ranks_in_question(answer))
    here = wanted.list_digests(session, incident_id, reasons, MAX_WANTED)
    order = {rank: place for place, rank in enumerate(reasons)}
    here.sort(key=lambda one: order.get(one.rank, len(order)))
    dumps = (
        WantedFile(
            FileKind.FLIGHT_RECORDER,
            one.node,
            one.rank,
            reasons.get(one.rank, f"its digest cannot be read: {one.reason}"),
            one.filename,
        )
        for one in here
    )
    return [*answer.wanted, *dumps][:MAX_WANTED]


def _list_ranks_in_question(answer: Answer) -> Iterator[tuple[int | None, str]]:
    """Ranks whose dumps a person would look at, and why: of suspects, then some that wait."""
    named = [rank for one in answer.suspects if one.role is not Role.AFFECTED for rank in one.ranks]
    suspects = dict.fromkeys(named[:_MAX_SUSPECTS])
    if not suspects:
        return
    yield from ((rank, _OF_SUSPECT) for rank in suspects)
    waiting = [one.waiting[0] for one in answer.collectives[:_MAX_WAITING] if one.waiting]
    yield from ((rank, _OF_WAITING) for rank in waiting if rank not in suspects)


def find_wanted_of_node(
    session: Session, caller: Caller, job_id: str, incident_id: str, node: str | None
) -> Asked:
    """What is wanted of one node. Raises :class:`NotFound` for what is none of the token's."""
    job = incidents.find_job(session, incident_id)
    node = node or caller.only_node
    if job is None or job.job_id != job_id or not _may_speak_for(caller, job_id, job.cluster, node):
        raise NotFound(
            "there is no such incident of this job and node",
            hint="give job, node and incident as the upload has them that answered with it",
        )
    return wanted.find_asked(session, incident_id, node)


def _may_speak_for(caller: Caller, job_id: str, cluster: str | None, node: str | None) -> bool:
    try:
        caller.check(cluster, job_id=job_id, nodes=[node])
    except NotAllowed:
        return False
    return caller.sees(cluster)


def compute_retry_s(asked: Asked) -> float | None:
    """Seconds after which to ask again; None where no more will be wanted."""
    if asked.settled:
        return None
    return min(_LATEST_S, max(_SOONEST_S, asked.num_artifacts / _FILES_A_SECOND))
