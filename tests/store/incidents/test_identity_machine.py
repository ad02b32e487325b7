"""Jobs of several clusters fail, are requeued and fail again; hooks and files of each failure come
in any order, late, twice, over restarts: each is in the incident of its failure, and in no other.

With attempts that everybody names nothing else is assumed. Without them a failure has to be heard
of, and to settle, before the next one of its job, and that one before the late word of the first:
then times tell them apart.
"""

import itertools
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

from models import Incident, Job
from tests.store.conftest import NOW
from tests.support.databases import migrated_postgres, put_migrated_sqlite
from triage.domain.failure_match import Failure, JobAttempt
from triage.settings import Settings
from triage.store.database.engine import open_database
from triage.store.incidents import incidents, matching, settling
from triage.store.incidents.matching import find_for_upload

QUIET_S = 30.0
# The last one is none: files and hooks that name no cluster.
CLUSTERS = ("a", "b", "")
TOLD = ("hook", "file")
WAYS = ("attempts", "slurm", "times")
COUNTER = itertools.count()


@dataclass
class JobFailure:
    """One failure, what names it, and the incident that its hooks and files are in."""

    cluster: str
    job_id: str
    attempt: str
    failed_at: object
    incident: str | None = None


class Identity(RuleBasedStateMachine):
    """Failures of two jobs on three clusters, and what is told of them."""

    where: Settings

    def __init__(self) -> None:
        super().__init__()
        self.database = open_database(self.where)
        self.now = NOW
        self.failures: list[JobFailure] = []
        self.prefix = f"m{next(COUNTER)}-"

    def teardown(self) -> None:
        self.database.close()

    @initialize(way=st.sampled_from(WAYS))
    def begin(self, way: str) -> None:
        self.way = way
        # Both clusters are known: what names none is of none.
        for cluster in CLUSTERS[:2]:
            self.told(JobFailure(cluster, f"{self.prefix}before", "", NOW), "hook")

    @rule(
        cluster=st.sampled_from(CLUSTERS),
        number=st.integers(0, 1),
        first=st.sampled_from(("", *TOLD, *TOLD)),
    )
    def fail(self, cluster: str, number: int, first: str) -> None:
        job_id = f"{self.prefix}{number}"
        earlier = [one for one in self.failures if (one.cluster, one.job_id) == (cluster, job_id)]
        if len(self.failures) >= 12:
            return
        if self.way != "attempts":
            if any(one.incident is None for one in earlier):
                return
            self.settle()
            self.now += timedelta(hours=1)
        self.now += timedelta(seconds=1)
        attempt = {"attempts": str(len(earlier)), "times": ""}.get(
            self.way, str(len(earlier) or "")
        )
        self.failures.append(JobFailure(cluster, job_id, attempt, self.now))
        if first:
            self.now += timedelta(seconds=5)
            self.tell_one(self.failures[-1], first)

    @precondition(lambda self: self.failures)
    @rule(which=st.integers(0, 11), whats=st.lists(st.sampled_from(TOLD), min_size=1, max_size=3))
    def tell(self, which: int, whats: list[str]) -> None:
        for what in whats:
            self.tell_one(self.failures[which % len(self.failures)], what)

    @precondition(lambda self: self.failures)
    @rule(what=st.sampled_from(TOLD), after_s=st.integers(1, 20))
    def tell_newest(self, what: str, after_s: int) -> None:
        self.now += timedelta(seconds=after_s)
        self.tell_one(self.failures[-1], what)

    def tell_one(self, one: JobFailure, what: str) -> None:
        if self.way != "attempts" and any(
            other.incident is None
            for other in self.failures[self.failures.index(one) + 1 :]
            if (other.cluster, other.job_id) == (one.cluster, one.job_id)
        ):
            return
        found = self.told(one, what)
        others = {other.incident for other in self.failures if other is not one}
        assert found not in others
        assert one.incident in (None, found)
        one.incident = found

    def told(self, one: JobFailure, what: str) -> str:
        with self.database.writing() as session:
            if what == "hook":
                failure = Failure(
                    one.job_id, one.cluster or None, one.failed_at,
                    attempt=one.attempt, collect_within_s=300.0,
                )  # fmt: skip
                return matching.announce(session, failure, QUIET_S, self.now)
            job = JobAttempt(one.job_id, one.cluster, one.attempt)
            found = find_for_upload(
                session, job, one.failed_at, within_s=300.0, quiet_s=QUIET_S, now=self.now
            )
            incidents.note_arrival(session, found, 1, QUIET_S, self.now)
            return found

    @rule()
    def settle(self) -> None:
        self.now += timedelta(seconds=QUIET_S)
        with self.database.writing() as session:
            for one in session.scalars(self.mine().where(Incident.settled_at.is_(None))).all():
                settling.settle(session, one, self.now)

    @precondition(lambda self: len(self.failures) > 2)
    @rule()
    def restart(self) -> None:
        self.database.close()
        self.database = open_database(self.where)

    def mine(self):
        of_job = select(Incident.id).join(Job, Incident.job_fk == Job.id)
        return of_job.where(Job.job_id.in_([f"{self.prefix}{number}" for number in range(2)]))

    @invariant()
    def each_failure_has_one_incident_of_its_cluster(self) -> None:
        with self.database.reading() as session:
            known = set(session.scalars(self.mine()))
            assert known == {one.incident for one in self.failures if one.incident}
            for one in self.failures:
                if one.incident is not None:
                    job = incidents.find_job(session, one.incident)
                    assert (job.job_id, job.cluster or "") == (one.job_id, one.cluster)


def run(where: Settings, examples: int) -> None:
    run_state_machine_as_test(
        type("IdentityThere", (Identity,), {"where": where}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_each_file_is_in_the_incident_of_its_failure_on_sqlite(tmp_path: Path) -> None:
    put_migrated_sqlite(tmp_path)
    run(Settings(data_dir=tmp_path), 40)


def test_each_file_is_in_the_incident_of_its_failure_on_postgresql() -> None:
    with migrated_postgres() as url:
        run(Settings(database_url=url), 8)
