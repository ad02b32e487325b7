"""What comes at the moment in which its incident is deleted, and two people who resolve at once.

Where the service looked for the incident before the deletion was committed, PostgreSQL refuses
rows that refer to it: the sender was told of an internal error.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Incident, Resolution
from tests.store.conftest import NOW, new_file
from tests.store.racing import in_threads
from triage.domain.failure_match import Failure, JobAttempt
from triage.store.database.engine import Database
from triage.store.incidents import incidents, matching, past, settling
from triage.store.incidents.matching import find_for_upload
from triage.store.retention import unreferenced
from triage.store.uploads import artifacts
from triage.store.views import ResolutionView

SAID = ResolutionView("gpu", None, None, "key_1", NOW)


@contextmanager
def deleted(database: Database, incident_id: str) -> Iterator[None]:
    """The incident is deleted, and committed at the end of the block."""
    with database.writing() as session:
        unreferenced.lock(session, incident_id)
        past.remove(session, [incident_id], remembered=False)
        yield


def beside_deletion(database: Database, incident_id: str, act: Callable[[Session], Any]) -> Any:
    """What ``act`` gives that began before the deletion was committed, and ends after it."""
    found: list[Any] = []

    def run() -> None:
        try:
            with database.writing() as session:
                found.append(act(session))
        except Exception as error:  # noqa: BLE001 - raised below
            found.append(error)

    thread = threading.Thread(target=run)
    with deleted(database, incident_id):
        thread.start()
        time.sleep(0.3)
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def upload(session: Session, job_id: str) -> str:
    job = JobAttempt(job_id)
    incident_id = find_for_upload(session, job, None, within_s=300.0, quiet_s=30.0, now=NOW)
    artifacts.add_upload(session, incident_id, 9, [new_file(incident_id, f"{job_id}-file")])
    incidents.note_arrival(session, incident_id, 1, 30.0, NOW)
    return incident_id


def announce(session: Session, job_id: str) -> str:
    return matching.announce(session, Failure(job_id, collect_within_s=300.0), 30.0, NOW)


@pytest.mark.parametrize("act", [upload, announce])
def test_what_comes_while_its_incident_is_deleted_opens_another(
    database: Database, unique: str, opened: Callable[..., str], act: Callable[[Session, str], str]
) -> None:
    first = opened(unique)

    second = beside_deletion(database, first, lambda session: act(session, unique))

    with database.reading() as session:
        there = session.scalars(select(Incident.id).where(Incident.id.in_([first, second]))).all()
    assert there == [second]
    assert first != second


def test_an_incident_that_is_kept_is_not_deleted_before_the_end(
    database: Database, unique: str, opened: Callable[..., str]
) -> None:
    incident_id = opened(unique)
    order = []

    def delete() -> None:
        with deleted(database, incident_id):
            pass
        order.append("deleted")

    thread = threading.Thread(target=delete)
    with database.writing() as session:
        assert incidents.keep(session, incident_id)
        thread.start()
        time.sleep(0.3)
        artifacts.add_upload(session, incident_id, 9, [new_file(incident_id, f"{unique}-file")])
        order.append("written")
    thread.join()

    assert order == ["written", "deleted"]
    with database.writing() as session:
        assert not incidents.keep(session, incident_id)


def test_a_resolution_beside_a_deletion_finds_no_incident(
    database: Database, unique: str, opened: Callable[..., str]
) -> None:
    incident_id = opened(unique)

    said = beside_deletion(
        database, incident_id, lambda session: settling.put(session, incident_id, SAID)
    )

    assert said is False


def test_people_who_resolve_at_the_same_moment_are_all_taken(
    database: Database, unique: str, opened: Callable[..., str]
) -> None:
    ids = [opened(f"{unique}-{number}") for number in range(20)]

    def resolve(k: int) -> None:
        for one in ids:
            with database.writing() as session:
                said = ResolutionView("gpu", None, f"note {k}", f"key_{k}", NOW)
                assert settling.put(session, one, said)

    in_threads(4, resolve)

    with database.reading() as session:
        rows = session.scalars(select(Resolution).where(Resolution.incident_id.in_(ids))).all()
    assert len(rows) == len(ids)
    assert all(row.note == f"note {row.said_by.removeprefix('key_')}" for row in rows)
