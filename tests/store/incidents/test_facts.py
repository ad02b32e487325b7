"""Facts of an incident with who said them: kept, merged, in conflict, set apart again."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from models import Incident, IncidentFacts
from tests.store.conftest import NOW, new_answer
from triage.domain.caller import Caller
from triage.domain.facts import FactsSource, FactsState, Statement
from triage.domain.failure_match import Failure
from triage.domain.states import IncidentState
from triage.store.database.upsert import lock_rows
from triage.store.incidents import facts as store
from triage.store.incidents import matching, revisions, settling

SENDER, OTHER = Caller("key_sender"), Caller("key_other")
ADMIN = Caller("key_admin", frozenset({"read"}))


@pytest.fixture
def incident(database, unique):
    return Case(database, unique)


class Case:
    """One incident of one job, with the hooks that come for it."""

    def __init__(self, database, job_id):
        self.database, self.job_id = database, job_id
        self.id = None

    def hook(self, facts, caller=SENDER):
        failure = Failure(self.job_id, "a", NOW, facts, collect_within_s=300.0, caller=caller)
        with self.database.writing() as session:
            found = matching.announce(session, failure, 30.0, NOW)
        assert self.id in (None, found)
        self.id = found

    def job_json(self, facts, caller=SENDER):
        with self.database.writing() as session:
            store.add_facts(
                session, self.id, Statement(facts, FactsSource.JOB_JSON, caller), 30.0, NOW
            )

    def settle(self):
        with self.database.writing() as session:
            st = settling.find_progress(session, self.id)
            answer = replace(new_answer(), inputs=st.inputs)
            revisions.add(session, self.id, st.revision + 1, answer, NOW)
            settling.note_answer(session, self.id, st.revision + 1, answer, NOW)
            settling.settle(session, self.id, NOW)

    def taint(self, caller=SENDER):
        with self.database.writing() as session:
            return store.taint_statements(session, self.id, caller.key_id, 30.0, NOW)

    @property
    def facts(self):
        with self.database.reading() as session:
            return session.scalar(select(Incident.facts).where(Incident.id == self.id))

    @property
    def inputs(self):
        with self.database.reading() as session:
            return session.scalar(select(Incident.inputs).where(Incident.id == self.id))

    @property
    def rows(self):
        with self.database.reading() as session:
            of_incident = select(IncidentFacts).where(IncidentFacts.incident_id == self.id)
            found = session.scalars(of_incident.order_by(IncidentFacts.id)).all()
        return [(row.source, row.key_id, row.state) for row in found]

    @property
    def notes(self):
        with self.database.reading() as session:
            return store.list_conflict_notes(session, self.id)


def test_every_statement_is_kept_with_its_source_token_and_time(incident, database):
    incident.hook({"nodes": ["n0"], "world_size": 8})
    incident.job_json({"nodes": ["n1"], "name": "llm"}, OTHER)
    incident.hook({"world_size": 16}, OTHER)

    assert incident.facts == {"nodes": ["n0"], "world_size": 16, "name": "llm"}
    assert incident.rows == [
        ("hook", "key_sender", "used"), ("job_json", "key_other", "used"),
        ("hook", "key_other", "used"),
    ]  # fmt: skip
    with database.reading() as session:
        row = session.scalar(select(IncidentFacts).where(IncidentFacts.incident_id == incident.id))
    assert (row.at, row.facts) == (NOW, {"nodes": ["n0"], "world_size": 8})


def test_the_same_again_is_kept_once_and_changes_nothing(incident):
    for _ in range(3):
        incident.hook({"nodes": ["n0"], "big": 2**70, "half": "\udc00"})
    for number in range(5):
        incident.job_json({"node": f"n{number}"})
    assert [source for source, _, _ in incident.rows] == ["hook", "job_json"]
    assert incident.inputs == 2
    # Near miss: another token says the same.
    incident.hook({"nodes": ["n0"]}, OTHER)
    assert len(incident.rows) == 3
    assert incident.inputs == 2


def test_a_leaked_token_does_not_rewrite_facts_of_a_settled_incident(incident):
    incident.hook({"nodes": ["n0", "n1"], "gpus_per_node": 8})
    incident.settle()
    inputs = incident.inputs

    incident.hook({"nodes": ["innocent-1", "innocent-2"]}, OTHER)

    assert incident.facts["nodes"] == ["n0", "n1"]
    assert incident.rows[-1] == ("hook", "key_other", FactsState.CONFLICT)
    assert incident.inputs == inputs + 1
    [note] = incident.notes
    assert "key_other" in note
    assert "nodes" in note


def test_a_leaked_token_adds_no_placement_to_a_settled_incident(incident):
    incident.hook({"job_id": incident.job_id})
    incident.settle()
    incident.hook({"rank_to_node": {"0": "innocent-1"}}, OTHER)
    incident.job_json({"nodes": ["innocent-1"]}, OTHER)
    assert incident.facts == {"job_id": incident.job_id}
    assert [state for _, _, state in incident.rows] == ["used", "conflict", "conflict"]


def test_a_token_that_may_correct_changes_facts_of_a_settled_incident(incident):
    incident.hook({"nodes": ["n0"]})
    incident.settle()
    incident.hook({"nodes": ["n9"]}, ADMIN)
    assert incident.facts["nodes"] == ["n9"]
    assert incident.notes == []


def test_conflicts_of_one_token_are_bounded(incident):
    incident.hook({"nodes": ["n0"]})
    incident.settle()
    for number in range(40):
        incident.hook({"nodes": [f"x{number}"]}, OTHER)
    assert len(incident.rows) == 1 + store.MOST_CONFLICTS
    assert len(incident.notes) == 1


def test_what_a_tainted_token_said_is_set_apart_and_the_incident_answered_again(incident, database):
    incident.hook({"nodes": ["n0"], "world_size": 8})
    incident.hook({"nodes": ["x"], "name": "lie"}, OTHER)
    incident.settle()
    inputs = incident.inputs

    assert incident.taint(OTHER)

    assert incident.facts == {"nodes": ["n0"], "world_size": 8}
    assert [state for _, _, state in incident.rows] == ["used", "tainted"]
    assert incident.inputs == inputs + 1
    with database.reading() as session:
        assert settling.find_progress(session, incident.id).state is IncidentState.ANALYSING
        assert incident.id not in store.list_incidents_told_by(session, "key_other")
        assert incident.id in store.list_incidents_told_by(session, "key_sender")
    assert not incident.taint(OTHER)
    assert incident.inputs == inputs + 1


def test_what_contradicted_a_tainted_token_counts_from_then_on(incident):
    incident.hook({"nodes": ["x"], "world_size": 8}, OTHER)
    incident.settle()
    incident.hook({"nodes": ["n0"], "world_size": 8})
    assert incident.facts["nodes"] == ["x"]

    assert incident.taint(OTHER)

    assert incident.facts == {"nodes": ["n0"], "world_size": 8}
    assert incident.notes == []


def test_facts_that_no_statement_explains_stay(incident, database):
    incident.hook({"nodes": ["n0"]})
    incident.hook({"nodes": ["x"], "name": "lie"}, OTHER)
    with database.writing() as session:  # as a process of the release before does
        row = lock_rows(session, select(Incident).where(Incident.id == incident.id)).one()
        row.facts = {**row.facts, "world_size": 8, store.STANDINGS: {}}

    incident.taint(OTHER)

    assert incident.facts == {"nodes": ["n0"], "world_size": 8, store.STANDINGS: {}}
    assert incident.rows[-1] == ("before", None, "used")
