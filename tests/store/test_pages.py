"""Lists: every row once, in order, while others are added; filters and their near misses."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from models import Incident
from tests.store.conftest import NOW, new_answer, suspect, uploaded
from triage.store.incidents import incidents, revisions
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.subscriptions import NewSubscription
from triage.store.uploads import artifacts, evidence
from triage.store.uploads.evidence import Reading
from triage.store.views import NewDelivery

SOME = settings(
    max_examples=8, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
EXAMPLE = iter(range(1 << 30))


def pages(read, place, add):
    """Everything read page by page, with something added before each."""
    found, last = [], None
    for _ in range(100):
        page = read(last)
        if not page:
            return found
        found += page
        last = place(page[-1])
        add()
    raise AssertionError("the list does not end")


@SOME
@given(
    late_s=st.lists(st.integers(0, 2), min_size=1, max_size=8),
    limit=st.integers(1, 4),
    added_s=st.lists(st.integers(3, 5), max_size=3),
)
def test_incidents_are_listed_once_each_newest_first(database, opened, late_s, limit, added_s):
    job_id = f"pages-{next(EXAMPLE)}"
    at = NOW + timedelta(days=1)
    made = [
        (at + timedelta(microseconds=s), opened(job_id, now=at + timedelta(microseconds=s),
         failed_at=NOW + timedelta(minutes=2 * k)))
        for k, s in enumerate(late_s)
    ]  # fmt: skip
    more = iter(added_s)

    def add():
        for s in more:
            opened(job_id, now=at + timedelta(seconds=s), failed_at=NOW + timedelta(hours=s))
            return

    def read(last):
        with database.reading() as session:
            return incidents.list_incidents(session, job_id=job_id, before=last, limit=limit)

    found = pages(read, lambda one: (one.created_at, one.id), add)

    assert [one.id for one in found] == [one for _, one in sorted(made, reverse=True)]


@SOME
@given(number=st.integers(1, 7), limit=st.integers(1, 4))
def test_files_are_listed_once_each_as_they_came(database, opened, number, limit):
    incident_id = opened(f"pages-{next(EXAMPLE)}")
    made = list(uploaded(database, incident_id, *map(str, range(number)))[1].values())
    late = iter(range(3))

    def add():
        for k in late:
            after = NOW + timedelta(seconds=1 + k)
            made.extend(uploaded(database, incident_id, f"late {k}", now=after)[1].values())
            return

    def read(last):
        with database.reading() as session:
            return artifacts.list_by_incident(session, incident_id, after=last, limit=limit)

    found = [one.id for one in pages(read, lambda one: (one.created_at, one.id), add)]

    assert found[:number] == sorted(made[:number])
    assert found == [*sorted(made[:number]), *made[number:]]


def test_messages_are_listed_newest_first(database, unique, opened):
    incident_id = opened(unique)
    with database.writing() as session:
        receiver = NewSubscription(unique, "generic", "https://x", None, ["s"], ["incident.ready"])
        subscriptions.add(session, receiver, NOW)
        for k in range(5):
            of = (unique, incident_id, k, "e")
            new = NewDelivery(f"{unique}-{k}", *of, "POST", "u", {"a": "b"}, b"\x00")
            deliveries.add(session, new, NOW + timedelta(seconds=k // 2))

    def read(last):
        with database.reading() as session:
            return deliveries.list_by_subscription(session, unique, before=last, limit=2)

    found = pages(read, lambda one: (one.created_at, one.id), lambda: None)
    assert [one.id for one in found] == [f"{unique}-{k}" for k in (4, 3, 2, 1, 0)]


def test_evidence_is_filtered_and_paged(database, unique, opened):
    incident_id, other = opened(unique), opened(unique + "other")
    _, made = uploaded(database, incident_id, "one", "two")
    _, theirs = uploaded(database, other, "one")
    row = {"artifact": "a", "clock": "wall", "signature": "s", "text": "t", "count": 1}
    rows = [
        {**row, "role": role, "node": node, "kind": kind, "at": "2026-11-21T03:14:15Z", "pid": 1}
        for role in ("root", "noise")
        for node in ("n0", "n1")
        for kind in ("xid", "oom")
    ]
    with database.writing() as session:
        readings = [Reading(key, b"", rows) for key in made.values()]
        evidence.add_readings(session, incident_id, readings)
        evidence.add_readings(session, other, [Reading(theirs["one"], b"", rows)])

    def read(**asked):
        with database.reading() as session:
            return evidence.list_by_incident(session, incident_id, **asked)

    found = pages(lambda last: read(after=last, limit=3), lambda one: one[0], lambda: None)
    assert len(found) == len({cursor for cursor, _ in found}) == 16
    assert found[0][1]["pid"] == 1
    assert found[0][1]["at"] == "2026-11-21T03:14:15.000Z"
    for asked, number in (
        ({"role": "root"}, 8), ({"node": "n1"}, 8), ({"kind": "oom"}, 8), ({"role": "roo"}, 0),
        ({"role": "root", "node": "n0", "kind": "xid"}, 2), ({"node": "N0"}, 0),
        ({"role": "root", "limit": 5}, 5),
    ):  # fmt: skip
        assert len(read(**asked)) == number, asked


@pytest.mark.parametrize(
    ("asked", "hits"),
    [
        ({}, "abc"), ({"node": "bad"}, "a"), ({"node": "ba"}, ""), ({"node": "BAD"}, ""),
        ({"category": "nic"}, "b"), ({"category": "ni"}, ""), ({"state": "failed"}, "c"),
        ({"state": "fail"}, ""), ({"node": "bad", "category": "nic"}, ""),
        ({"since": NOW + timedelta(seconds=1)}, "bc"),
        ({"since": NOW + timedelta(seconds=1, microseconds=1)}, "c"),
        ({"since": NOW + timedelta(days=9)}, ""), ({"limit": 1}, "c"),
    ],
)  # fmt: skip
def test_incidents_are_filtered(database, unique, opened, asked, hits):
    made = {
        name: opened(
            unique, failed_at=NOW + timedelta(minutes=2 * k), now=NOW + timedelta(seconds=k)
        )
        for k, name in enumerate("abc")
    }
    with database.writing() as session:
        for name, values in (("b", {"category": "nic"}), ("c", {"state": "failed"})):
            session.execute(update(Incident).where(Incident.id == made[name]).values(**values))
        answer = new_answer(suspect(1, "other"), suspect(2, "bad"), suspect(3, None))
        revisions.add(session, made["a"], 1, answer, NOW)

    with database.reading() as session:
        found = incidents.list_incidents(session, job_id=unique, **asked)
    assert [one.id for one in found] == [made[name] for name in reversed(hits)]
