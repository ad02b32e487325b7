"""Writes of many threads in one commit: each stands or falls alone, none is answered early."""

import os
import threading
import time

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from models import Cluster
from tests.store.racing import in_threads
from triage.errors import Conflict, TriageError, Unavailable
from triage.store.database.group_commit import GroupCommit


@pytest.fixture
def commit(database):
    found = GroupCommit(database)
    yield found
    found.close()


def add(name):
    def write(session):
        session.add(Cluster(name=name))
        session.flush()
        return name

    return write


def names(database, unique):
    with database.reading() as session:
        found = select(Cluster.name).where(Cluster.name.startswith(f"{unique}-"))
        return sorted(session.scalars(found))


def together(commit, writes):
    """All of them in one group; what each returned or raised."""
    found = [None] * len(writes)
    gate, reached = threading.Event(), threading.Event()

    def first(session):
        reached.set()
        assert gate.wait(120)

    blocker = threading.Thread(target=commit, args=(first,))
    blocker.start()
    assert reached.wait(120)

    def run(k):
        try:
            found[k] = commit(writes[k])
        except (TriageError, IntegrityError) as error:
            found[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(writes))]
    for one in threads:
        one.start()
    while commit.waiting.qsize() < len(writes):
        time.sleep(0.005)
    gate.set()
    for one in [blocker, *threads]:
        one.join()
    return found


def test_many_threads_are_all_answered_with_what_is_kept(database, commit, unique):
    in_threads(20, lambda k: commit(add(f"{unique}-{k:02}")))

    assert names(database, unique) == [f"{unique}-{k:02}" for k in range(20)]


def test_a_write_that_raises_fails_alone(database, commit, unique):
    def refuse(session):
        add(f"{unique}-refused")(session)
        raise Conflict("no")

    def collide(session):
        add(f"{unique}-late")(session)
        add(f"{unique}-a")(session)

    found = together(commit, [add(f"{unique}-a"), refuse, collide, add(f"{unique}-b")])

    assert isinstance(found[1], Conflict)
    assert found[3] == f"{unique}-b"
    kept = names(database, unique)
    # Of the two that wanted one name the first got it.
    assert kept in ([f"{unique}-a", f"{unique}-b"], [f"{unique}-{x}" for x in ("a", "b", "late")])
    assert isinstance(found[0], Exception) != isinstance(found[2], Exception)


def test_a_commit_that_fails_keeps_nothing_and_answers_nobody(
    database, commit, unique, monkeypatch
):
    def broken(session):
        raise OperationalError("COMMIT", {}, Exception("the disk went away"))

    def spoil(session):
        monkeypatch.setattr(Session, "commit", broken)

    found = together(commit, [add(f"{unique}-a"), spoil, add(f"{unique}-b")])
    monkeypatch.undo()

    assert [type(one) for one in found] == [Unavailable] * 3
    assert names(database, unique) == []
    assert commit(add(f"{unique}-c")) == f"{unique}-c"


def test_nobody_is_answered_before_the_commit(database, commit, unique, monkeypatch):
    commit(lambda session: None)
    order, whole = [], Session.commit

    def watched(session):
        order.append("commit")
        whole(session)
        order.append("committed")

    monkeypatch.setattr(Session, "commit", watched)
    in_threads(4, lambda k: order.append(commit(add(f"{unique}-{k}"))))

    answers = [k for k, what in enumerate(order) if what.startswith(unique)]
    for k in answers:
        before = order[:k]
        assert before.count("committed") >= 1
        assert before[-1] != "commit" or before.count("commit") > 1
    assert len(answers) == 4


def test_after_a_fork_the_child_writes_by_a_thread_of_its_own(database, unique):
    commit = GroupCommit(database)
    commit(add(f"{unique}-parent"))
    database.engine.dispose()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        code = 1
        try:
            database.engine.dispose(close=False)
            commit(add(f"{unique}-child"))
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert names(database, unique) == [f"{unique}-child", f"{unique}-parent"]
    commit.close()


def test_what_waits_is_written_before_the_end(database, unique):
    commit = GroupCommit(database)
    threads = [threading.Thread(target=commit, args=(add(f"{unique}-{k}"),)) for k in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    commit.close()
    commit.close()
    assert len(names(database, unique)) == 5


def test_no_write_is_lost_between_close_and_its_thread(database, unique):
    """Each write is kept or refused; none waits for a thread that has ended."""
    for turn in range(20):
        commit = GroupCommit(database)
        answered = []

        def write(turn=turn, commit=commit, answered=answered):
            for k in range(10_000):
                try:
                    answered.append(commit(add(f"{unique}-{turn}-{k:05}")))
                except Unavailable:
                    return

        threads = [threading.Thread(target=write, daemon=True)]
        for one in threads:
            one.start()
        while not answered:
            time.sleep(0.001)
        assert commit.close(60.0)
        for one in threads:
            one.join(60)
            assert not one.is_alive(), "a write waits without end"
        kept = [name for name in names(database, unique) if name.startswith(f"{unique}-{turn}-")]
        assert kept == answered


def test_after_close_every_write_is_refused(database, unique):
    commit = GroupCommit(database)
    assert commit.close()
    with pytest.raises(Unavailable, match="stopping"):
        commit(add(f"{unique}-late"))
    assert commit.close(), "twice does no harm"
    assert names(database, unique) == []


def test_who_waits_too_long_is_answered_and_its_write_is_not_begun(commit, database, unique):
    gate, reached = threading.Event(), threading.Event()

    def hangs(session):
        reached.set()
        assert gate.wait(120)

    blocker = threading.Thread(target=commit, args=(hangs,))
    blocker.start()
    assert reached.wait(120)
    with pytest.raises(Unavailable, match="longer than"):
        commit(add(f"{unique}-late"), 0.05)
    gate.set()
    blocker.join()
    assert commit(add(f"{unique}-next")) == f"{unique}-next"
    assert names(database, unique) == [f"{unique}-next"]


def test_close_does_not_wait_for_a_database_that_hangs(database):
    commit = GroupCommit(database)
    gate, reached = threading.Event(), threading.Event()

    def hangs(session):
        reached.set()
        assert gate.wait(120)

    blocker = threading.Thread(target=commit, args=(hangs,))
    blocker.start()
    assert reached.wait(120)
    assert not commit.close(0.05)
    gate.set()
    blocker.join()
    assert commit.close()
