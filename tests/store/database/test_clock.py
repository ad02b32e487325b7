"""Whose time it is: the database's, and only where it goes on as time does."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, select

from models import ClockMark, Incident, Work
from tests.store.conftest import NOW
from triage import clock
from triage.domain.states import WorkKind
from triage.store.database.clock import (
    describe_clock_doubt,
    follow_database,
    read_database_time,
    watch_clock,
)
from triage.store.work import table

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def unmarked(database) -> None:
    """Nobody has watched this database's time yet, and nothing is in it."""
    with database.writing() as session:
        for one in (ClockMark, Work, Incident):
            session.execute(delete(one))


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test has this process follow ends with it."""
    monkeypatch.setattr(clock.Followed, "base", clock.Followed.base)


def look(database, now: datetime) -> str | None:
    with database.writing() as session:
        found = watch_clock(session, now)
    with database.reading() as session:
        assert describe_clock_doubt(session, now) == found
        assert len(session.scalars(select(ClockMark)).all()) == 1
    return found


def test_time_that_goes_on_is_believed(database) -> None:
    for hours in range(100):
        assert look(database, NOW + hours * HOUR) is None


def test_a_clock_a_hundred_days_ahead_deletes_nothing(database) -> None:
    assert look(database, NOW) is None
    ahead = NOW + 100 * DAY
    assert "the service last ran at 2026-11-21" in (look(database, ahead) or "")
    assert look(database, ahead + DAY) is not None, "however often it is looked at"
    assert look(database, ahead + 2 * DAY) is not None
    assert look(database, ahead + 3 * DAY) is None, "a service that was off goes on"


def test_the_first_look_goes_by_the_newest_row(database, unique) -> None:
    with database.writing() as session:
        table.enqueue(session, WorkKind.NOTIFY, unique, NOW)
    with database.reading() as session:
        assert describe_clock_doubt(session, NOW + 100 * DAY) is None, "nobody has looked yet"
    assert look(database, NOW + 100 * DAY) is not None


def test_a_clock_that_went_back_is_not_believed(database) -> None:
    assert look(database, NOW) is None
    assert "went back" in (look(database, NOW - HOUR) or "")
    assert look(database, NOW + DAY) is not None
    assert look(database, NOW + 2.9 * DAY) is not None


@pytest.mark.parametrize(("by", "words"), [(HOUR, "set on by 1.0 h"), (-HOUR, "set back by 1.0 h")])
def test_what_a_process_saw_being_set_is_not_believed(database, by: timedelta, words: str) -> None:
    assert look(database, NOW) is None
    with database.writing() as session:
        assert words in (watch_clock(session, NOW, by) or "")
    assert words in (look(database, NOW + DAY) or "")
    assert look(database, NOW + 3 * DAY) is None


def test_clocks_of_two_machines_may_differ_a_little(database) -> None:
    assert look(database, NOW) is None
    assert look(database, NOW - timedelta(minutes=4)) is None
    assert look(database, NOW + timedelta(minutes=4)) is None


@pytest.mark.usefixtures("followed")
def test_this_process_goes_by_the_time_of_postgresql(database) -> None:
    clock.follow(datetime.now(UTC) + 100 * DAY, clock.read_steady_s())
    assert clock.read_utc_now() - datetime.now(UTC) > 99 * DAY
    with database.reading() as session:
        follow_database(session)
        there = read_database_time(session)
    assert abs(clock.read_utc_now() - there) < timedelta(seconds=30)
    assert (clock.read_utc_now() - datetime.now(UTC) < HOUR) == (not database.sqlite)


@pytest.mark.usefixtures("followed")
def test_a_wall_clock_that_is_set_changes_nothing_once_another_is_followed(monkeypatch) -> None:
    clock.follow(NOW, clock.read_steady_s())
    monkeypatch.setattr(clock, "datetime", None)
    assert timedelta(0) <= clock.read_utc_now() - NOW < timedelta(seconds=30)
