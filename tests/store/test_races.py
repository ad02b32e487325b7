"""Hooks, uploads, readers and analyses of one failure at the same moment: one incident, no wait."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import delete, func, select

from models import Artifact, Incident, Job, Node, Work
from tests.store.conftest import NOW, new_answer, new_file, uploaded
from tests.store.racing import in_threads
from triage.domain.facts import FactsSource, Statement
from triage.domain.failure_match import Failure, JobAttempt
from triage.domain.states import ArtifactState, IncidentState, WorkKind
from triage.store import jobs
from triage.store.incidents import incidents, matching, revisions, settling
from triage.store.incidents.facts import add_facts
from triage.store.incidents.matching import find_for_upload
from triage.store.uploads import artifacts, evidence
from triage.store.uploads.evidence import Reading
from triage.store.work import table as work
from triage.store.work.table import enqueue_upload

ROUNDS = 50
GIVEN = {"within_s": 300.0, "quiet_s": 30.0, "now": NOW}


def announce(session, job_id, failed_at=None, cluster="a"):
    failure = Failure(job_id, cluster, failed_at, collect_within_s=300.0)
    return matching.announce(session, failure, 30.0, NOW)


def incidents_of(database, job_id):
    with database.reading() as session:
        of_job = select(Incident).join(Job, Incident.job_fk == Job.id).where(Job.job_id == job_id)
        return session.scalars(of_job).all()


def rounds(database, unique, *acts):
    """Each act in a thread of its own, 50 rounds; the ids that each round gave."""
    found = [[None] * len(acts) for _ in range(ROUNDS)]

    def run(k):
        for number in range(ROUNDS):
            with database.writing() as session:
                found[number][k] = acts[k](session, f"{unique}-{number}")

    in_threads(len(acts), run)
    return found


def test_two_hooks_of_one_failure_open_one_incident(database, unique):
    found = rounds(database, unique, announce, announce)

    assert all(one == other for one, other in found)
    assert len({one for one, _ in found}) == ROUNDS


def test_two_hooks_that_say_when_open_one_incident(database, unique):
    def at(session, job_id):
        return announce(session, job_id, NOW)

    found = rounds(database, unique, at, at, announce)

    for number, ids in enumerate(found):
        rows = incidents_of(database, f"{unique}-{number}")
        assert len({row.id for row in rows}) == len(set(ids)) == 1


def test_a_hook_and_an_upload_open_one_incident(database, unique):
    def upload(session, job_id):
        return find_for_upload(session, JobAttempt(job_id), None, **GIVEN)

    found = rounds(database, unique, announce, upload, upload)

    for number, ids in enumerate(found):
        [row] = incidents_of(database, f"{unique}-{number}")
        assert set(ids) == {row.id}
        assert row.announced


def test_two_uploads_of_one_file_make_one_artifact(database, unique, opened):
    incident_id = opened(unique)
    made = [[{}, {}] for _ in range(ROUNDS)]

    def run(k):
        for number in range(ROUNDS):
            made[number][k] = uploaded(database, incident_id, f"{unique}-{number}")[1]

    in_threads(2, run)

    for number, (one, other) in enumerate(made):
        assert len(one) + len(other) == 1, number
    with database.reading() as session:
        of_incident = select(func.count()).where(Artifact.incident_id == incident_id)
        assert session.scalar(of_incident) == ROUNDS


def test_whatever_meets_over_one_incident_nobody_waits_for_ever(database, unique):
    """What hooks, uploads, readers and analyses write in one transaction each, as they do.

    PostgreSQL would end one of two that wait for each other, and raise here.
    """
    with database.writing() as session:
        session.execute(delete(Work))  # of the tests before
        incident_id = announce(session, unique, NOW)
    names = [f"{unique}-n{k}" for k in range(6)]
    with database.writing() as session:
        work.enqueue(session, WorkKind.ANALYSE, incident_id, NOW)

    def hook(session, number):
        announce(session, unique, NOW)
        jobs.note_nodes_seen(
            session, jobs.find_cluster(session, incident_id), names[number % 6 :], NOW
        )

    def upload(session, number, k):
        known = find_for_upload(session, JobAttempt(unique), None, **GIVEN)
        file = new_file(known, f"{unique}-{k}-{number}")
        upload_id, _ = artifacts.add_upload(session, known, 9, [file])
        job_fk = incidents.note_arrival(session, known, 1, 30.0, NOW).id
        said = Statement({f"{k}-{number}": 1}, FactsSource.JOB_JSON)
        add_facts(session, known, said, 30.0, NOW)
        later = NOW + timedelta(seconds=number)
        seen = [f"{unique}-new-{number}", *names[:: 1 if k % 2 else -1]]
        jobs.note_nodes_seen(session, jobs.find_cluster(session, known), seen, later)
        enqueue_upload(session, upload_id, job_fk, NOW)

    def read(session, k):
        claimed = work.claim(session, WorkKind.PARSE, f"w{k}", NOW, 60.0)
        if claimed is None:
            return
        session.commit()
        assert work.finish(session, claimed, f"w{k}", NOW)
        for file in artifacts.list_unread(session, [claimed.key])[claimed.key]:
            row = {"artifact": "a", "clock": "none", "kind": "x", "role": "root", "text": ""}
            rows = [{**row, "signature": "s", "count": 1}]
            evidence.add_readings(session, incident_id, [Reading(file.id, b"x", rows)])
            artifacts.set_states(session, {file.id: (ArtifactState.ANALYSED, None)})
        settling.note_change(session, incident_id, NOW)
        jobs.note_nodes_seen(session, jobs.find_cluster(session, incident_id), names, NOW)
        work.enqueue(session, WorkKind.ANALYSE, incident_id, NOW)

    def analyse(session, k):
        claimed = work.claim(session, WorkKind.ANALYSE, f"w{k}", NOW + timedelta(hours=1), 60.0)
        if claimed is None:
            return
        session.commit()
        assert work.finish(session, claimed, f"w{k}", NOW)
        st = settling.find_progress(session, incident_id)
        answer = replace(new_answer(), inputs=st.inputs)
        revisions.add(session, incident_id, st.revision + 1, answer, NOW)
        settling.note_answer(session, incident_id, st.revision + 1, answer, NOW)
        settling.settle(session, incident_id, NOW)

    def run(k):
        for number in range(12):
            with database.writing() as session:
                if k < 2:
                    hook(session, number)
                elif k < 5:
                    upload(session, number, k)
                elif k < 7:
                    read(session, k)
                else:
                    analyse(session, k)

    in_threads(9, run)

    while True:
        with database.writing() as session:
            if session.scalar(select(Work.id).where(Work.state == "waiting", Work.kind == "parse")):
                read(session, 9)
                continue
        break
    with database.reading() as session:
        found = settling.find_progress(session, incident_id)
        assert (found.num_artifacts, found.num_unread) == (36, 0)
        # 36 files, each told of by an upload (its facts) and by whoever read it.
        uploads = session.scalar(select(func.count()).select_from(Work).where(Work.kind == "parse"))
        assert found.inputs == 36 + uploads
        new = select(func.count()).where(Node.name.startswith(f"{unique}-new-"))
        assert session.scalar(new) == 12
        assert found.state in (IncidentState.READY, IncidentState.ANALYSING)
