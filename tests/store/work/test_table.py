"""Work: one holder at a time, nothing lost, tries counted; checked against a small model."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import delete, select

from models import Incident, Work
from tests.store.conftest import NOW, uploaded
from tests.store.racing import in_threads
from tests.support.servers import postgres_database
from triage.domain.states import WorkKind, WorkState
from triage.settings import Settings
from triage.store.database.engine import open_database
from triage.store.database.migrate import migrate
from triage.store.work import table as work

MAX_TRIES = 3
LEASE_S = 60.0
KIND = WorkKind.PARSE
OWNERS = st.sampled_from(["a", "b"])
KEYS = st.sampled_from(["k1", "k2"])


@dataclass
class Row:
    """What a row should be."""

    state: WorkState = WorkState.WAITING
    due_s: float = 0.0
    tries: int = 0
    again_s: float | None = None  # asked for again while held: from when on
    owner: str | None = None
    lease_s: float = 0.0
    claim: Work | None = None

    def wait(self, due_s: float) -> None:
        self.state, self.owner, self.claim = WorkState.WAITING, None, None
        self.due_s = due_s if self.again_s is None else min(self.again_s, due_s)
        self.again_s = None

    def put_back(self, due_s: float) -> bool:
        spent = self.tries >= MAX_TRIES
        gone = spent and self.again_s is None
        self.wait(due_s)
        if gone:
            self.state = WorkState.QUARANTINED
        elif spent:
            self.tries = 0
        return gone


@dataclass
class Lost:
    """A claim whose lease somebody has ended: it can do nothing any more."""

    claim: Work
    owner: str


@dataclass
class Model:
    rows: dict[str, Row] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)


class WorkMachine(RuleBasedStateMachine):
    database = None

    @initialize()
    def empty(self):
        self.model, self.now_s = Model(), 0.0
        with self.database.writing() as session:
            session.execute(delete(Work))

    @property
    def now(self):
        return NOW + timedelta(seconds=self.now_s)

    def held_by(self, owner):
        return [row for row in self.model.rows.values() if row.owner == owner]

    @rule(seconds=st.sampled_from([0.5, 20.0, 61.0, 300.0]))
    def time_passes(self, seconds):
        self.now_s += seconds

    @rule(key=KEYS, wait_s=st.sampled_from([0.0, 0.0, 30.0]))
    def arm(self, key, wait_s):
        at_s = self.now_s + wait_s
        with self.database.writing() as session:
            work.enqueue(session, KIND, key, self.now, not_before=NOW + timedelta(seconds=at_s))
        row = self.model.rows.get(key)
        if row is None:
            self.model.rows[key] = Row(due_s=at_s)
        elif row.state == WorkState.RUNNING:
            row.again_s = at_s if row.again_s is None else min(row.again_s, at_s)
        elif row.state == WorkState.WAITING:
            row.due_s = min(row.due_s, at_s)
        else:
            self.model.rows[key] = Row(due_s=at_s)

    @rule(owner=OWNERS)
    def claim(self, owner):
        with self.database.writing() as session:
            found = work.claim(session, KIND, owner, self.now, LEASE_S)
        due = [
            key
            for key, row in self.model.rows.items()
            if row.state == WorkState.WAITING and row.due_s <= self.now_s
        ]
        if found is None:
            assert due == []
            return
        row = self.model.rows[found.key]
        assert found.key in due
        assert row.due_s == min(self.model.rows[key].due_s for key in due)
        row.state, row.owner, row.claim = WorkState.RUNNING, owner, found
        row.lease_s, row.again_s = self.now_s + LEASE_S, None
        row.tries += 1
        assert found.tries == row.tries

    @rule(owner=OWNERS, again_s=st.sampled_from([None, None, 5.0]))
    def finish(self, owner, again_s):
        for row in self.held_by(owner)[:1]:
            again_at = None if again_s is None else self.now + timedelta(seconds=again_s)
            with self.database.writing() as session:
                assert work.finish(session, row.claim, owner, self.now, again_at=again_at)
            waits = row.again_s is not None or again_s is not None
            row.wait(self.now_s + again_s if again_s is not None else float("inf"))
            row.tries = 0
            row.state = WorkState.WAITING if waits else WorkState.DONE

    @rule(owner=OWNERS)
    def fail(self, owner):
        for row in self.held_by(owner)[:1]:
            later_s = self.now_s + work.BACKOFF_S**row.tries
            with self.database.writing() as session:
                gone = work.fail(session, row.claim, owner, self.now, "why", MAX_TRIES)
            assert gone == row.put_back(later_s)

    @rule(owner=OWNERS, key=KEYS, wait_s=st.sampled_from([0.0, 30.0]), done=st.booleans())
    def taken_and_asked_for_again(self, owner, key, wait_s, done):
        self.arm(key, 0.0)
        self.claim(owner)
        for row in self.held_by(owner)[:1]:
            self.arm(row.claim.key, wait_s)
        if done:
            self.finish(owner, None)
        else:
            self.fail(owner)

    @rule(owner=OWNERS)
    def renew(self, owner):
        for row in self.held_by(owner)[:1]:
            until = self.now + timedelta(seconds=LEASE_S)
            with self.database.writing() as session:
                assert work.renew_lease(session, row.claim.id, owner, until)
            row.lease_s = self.now_s + LEASE_S

    @rule(owner=OWNERS)
    def release(self, owner):
        with self.database.writing() as session:
            assert work.release(session, owner, self.now) == len(self.held_by(owner))
        for row in self.held_by(owner):
            self.model.lost.append(Lost(row.claim, owner))
            row.again_s = None
            row.wait(self.now_s)
            row.tries -= 1

    @rule(owner=OWNERS)
    def expire(self, owner):
        with self.database.writing() as session:
            assert work.expire_owner(session, owner, self.now) == len(self.held_by(owner))
        for row in self.held_by(owner):
            row.lease_s = self.now_s

    @rule()
    def sweep(self):
        late = {
            key: row
            for key, row in self.model.rows.items()
            if row.state == WorkState.RUNNING and row.lease_s <= self.now_s
        }
        with self.database.writing() as session:
            assert work.has_lost(session, self.now) == bool(late)
            gone = work.reclaim_lost(session, self.now, MAX_TRIES)
        for row in late.values():
            self.model.lost.append(Lost(row.claim, row.owner))
        wanted = {key for key, row in late.items() if row.put_back(self.now_s)}
        assert {one.key for one in gone} == wanted
        assert all("workers were lost" in one.last_error for one in gone)

    @rule()
    def the_dead_speak(self):
        for one in self.model.lost:
            row = self.model.rows[one.claim.key]
            if row.owner == one.owner:  # the same process was given it once more
                continue
            with self.database.writing() as session:
                assert not work.finish(session, one.claim, one.owner, self.now)
                assert not work.fail(session, one.claim, one.owner, self.now, "late", MAX_TRIES)
                assert not work.renew_lease(session, one.claim.id, one.owner, self.now)

    @invariant()
    def the_table_is_the_model(self):
        with self.database.reading() as session:
            rows = {row.key: row for row in session.scalars(select(Work))}
            due = work.list_due(session, self.now, [KIND], 1000)
        assert set(rows) == set(self.model.rows)
        may_begin = 0
        for key, row in self.model.rows.items():
            kept = rows[key]
            assert (kept.state, kept.tries, kept.owner) == (row.state, row.tries, row.owner), key
            if row.state == WorkState.WAITING:
                assert kept.not_before == NOW + timedelta(seconds=row.due_s)
            may_begin += row.state == WorkState.WAITING and row.due_s <= self.now_s
        assert due == [KIND] * may_begin


def test_any_order_of_acts_keeps_to_the_model(database):
    class Machine(WorkMachine):
        pass

    Machine.database = database
    case = Machine.TestCase
    case.settings = settings(
        max_examples=20 if database.sqlite else 6,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    case("runTest").runTest()


def test_what_was_asked_for_during_the_last_try_is_not_buried_with_it(database, unique):
    with database.writing() as session:
        session.execute(delete(Work))
        work.enqueue(session, KIND, unique, NOW)
    for number in range(MAX_TRIES):
        now = NOW + timedelta(hours=number)
        with database.writing() as session:
            claimed = work.claim(session, KIND, "me", now, LEASE_S)
            if number == MAX_TRIES - 1:
                work.enqueue(session, KIND, unique, now)
            assert not work.fail(session, claimed, "me", now, "no", MAX_TRIES)
    with database.writing() as session:
        again = work.claim(session, KIND, "me", now, LEASE_S)
    assert again.tries == 1


@pytest.mark.parametrize("kind", [WorkKind.NOTIFY, WorkKind.RETENTION])
def test_what_reads_nothing_foreign_is_owed_however_often_it_failed(database, unique, kind):
    with database.writing() as session:
        session.execute(delete(Work))
        work.enqueue(session, kind, unique, NOW)
    now = NOW
    for number in range(4 * MAX_TRIES):
        now += timedelta(hours=1)
        with database.writing() as session:
            claimed = work.claim(session, kind, "me", now, LEASE_S)
            assert claimed.tries == number + 1
        later = now + timedelta(seconds=2 * LEASE_S)
        with database.writing() as session:
            if number % 2:
                assert work.reclaim_lost(session, later, MAX_TRIES) == []
            else:
                assert not work.fail(session, claimed, "me", now, "no", MAX_TRIES)
    soon = later + timedelta(seconds=work.MOST_BACKOFF_S)
    with database.writing() as session:
        assert work.claim(session, kind, "me", soon, LEASE_S) is not None


def enqueue_uploads(database, opened, job_id, sizes):
    """One upload of each size, in this order; their keys and the key of the first."""
    incident_id = opened(job_id)
    keys = []
    for size in sizes:
        upload_id, _ = uploaded(database, incident_id, f"{job_id}-{len(keys)}", stored_bytes=size)
        with database.writing() as session:
            job_fk = session.scalar(select(Incident.job_fk).where(Incident.id == incident_id))
            work.enqueue_upload(session, upload_id, job_fk, NOW)
        keys.append(upload_id)
    return keys


def claimed_together(database, most=7, most_bytes=100):
    with database.writing() as session:
        first = work.claim(session, KIND, "me", NOW, LEASE_S)
        beside = work.claim_beside(session, first, "me", NOW, most=most, most_bytes=most_bytes)
        return [first, *beside]


def test_uploads_of_one_job_are_claimed_together_up_to_a_number_and_a_size(
    database, unique, opened
):
    with database.writing() as session:
        session.execute(delete(Work))
    mine = enqueue_uploads(database, opened, f"{unique}a", [10, 10, 10, 50, 60, 10])
    other = enqueue_uploads(database, opened, f"{unique}b", [1])

    first = claimed_together(database, most=2)
    assert [one.key for one in first] == mine[:3]
    assert [one.key for one in claimed_together(database)] == other
    assert [one.key for one in claimed_together(database)] == mine[3:4]
    assert [one.key for one in claimed_together(database)] == mine[4:]

    with database.writing() as session:
        assert not work.finish_all(session, first, "another", NOW)
        assert work.finish_all(session, first, "me", NOW)
        assert not work.finish_all(session, first, "me", NOW)


def test_an_upload_that_cost_a_worker_is_claimed_alone(database, unique, opened):
    with database.writing() as session:
        session.execute(delete(Work))
    keys = enqueue_uploads(database, opened, unique, [1, 1, 1])
    assert [one.key for one in claimed_together(database, most=1)] == keys[:2]
    later = NOW + timedelta(seconds=2 * LEASE_S)
    with database.writing() as session:
        assert work.reclaim_lost(session, later, MAX_TRIES) == []

    def next_ones():
        with database.writing() as session:
            first = work.claim(session, KIND, "me", later, LEASE_S)
            beside = work.claim_beside(session, first, "me", later, most=7, most_bytes=100)
            return [first.key, *[one.key for one in beside]]

    assert [next_ones() for _ in keys] == [[keys[0]], [keys[1]], [keys[2]]]


def test_a_name_with_wildcards_ends_only_its_own_leases(database, unique):
    with database.writing() as session:
        session.execute(delete(Work))
        for owner in (f"{unique}_%:1", f"{unique}xx:1"):
            work.enqueue(session, KIND, owner, NOW)
            work.claim(session, KIND, owner, NOW, LEASE_S)
        assert work.expire_owner(session, f"{unique}_%", NOW) == 1


def test_eight_threads_claim_each_row_once(database):
    with database.writing() as session:
        session.execute(delete(Work))
        wanted = {work.enqueue(session, KIND, f"k{k}", NOW) for k in range(60)}
    taken: list[list[int]] = [[] for _ in range(8)]

    def run(k):
        while True:
            with database.writing() as session:
                claimed = work.claim(session, KIND, f"w{k}", NOW, LEASE_S)
            if claimed is None:
                return
            taken[k].append(claimed.id)

    in_threads(8, run)

    everything = [row_id for part in taken for row_id in part]
    assert sorted(everything) == sorted(wanted)


def test_eight_threads_ask_for_one_thing_and_it_is_one_row(database, unique):
    with database.writing() as session:
        session.execute(delete(Work))
    found = set()

    def run(k):
        for number in range(10):
            with database.writing() as session:
                found.add((number, work.enqueue(session, KIND, f"{unique}-{number}", NOW)))

    in_threads(8, run)

    assert len(found) == 10
    with database.reading() as session:
        rows = session.scalars(select(Work)).all()
    assert len(rows) == 10
    assert {row.generation for row in rows} == {7}


@pytest.fixture(scope="module")
def postgres():
    with postgres_database() as url:
        found = open_database(Settings(database_url=url))
        migrate(found)
        yield found
        found.close()


def test_a_row_that_somebody_locks_is_passed_over(postgres):
    with postgres.writing() as session:
        first = work.enqueue(session, KIND, "first", NOW)
        second = work.enqueue(session, KIND, "second", NOW + timedelta(seconds=1))
    later = NOW + timedelta(seconds=5)
    with postgres.writing() as one, postgres.writing() as other:
        assert work.claim(one, KIND, "one", later, LEASE_S).id == first
        assert work.claim(other, KIND, "other", later, LEASE_S).id == second
        assert work.claim(other, KIND, "other", later, LEASE_S) is None
