"""Whose time it is, and whether it may be believed.

PostgreSQL's time is followed by all processes (:mod:`triage.clock`); SQLite has this machine's.
Either may be set wrong. A mark in the database goes along with the time: where time has jumped,
by a clock that was set or by a service that was off, nothing may be deleted by age for some days.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import ClockMark, Incident, Work
from triage.clock import follow, read_steady_s, read_utc_now
from triage.store.database.upsert import insert_or_none, lock_rows

# An answer that took longer says too little about the moment at which it was made.
_LONGEST_ROUND_S: Final = 2.0
# Clocks of machines that take turns at one database differ by so much.
_BACK: Final = timedelta(minutes=5)
# Nobody runs a service that is off for longer without knowing it.
_GAP: Final = timedelta(days=2)
# As long as people take to see the warning and set a clock right.
_DOUBT: Final = timedelta(days=3)
_ONLY: Final = 1
_UNSET: Final = timedelta()


def read_database_time(session: Session) -> datetime:
    """The time of the database's machine; with SQLite it is this one."""
    if session.get_bind().dialect.name == "sqlite":
        return read_utc_now()
    at = session.scalar(select(func.clock_timestamp()))
    return at.astimezone(UTC) if isinstance(at, datetime) else read_utc_now()


def follow_database(session: Session) -> None:
    """Have this process go by the database's time, as it is now; SQLite changes nothing."""
    if session.get_bind().dialect.name != "sqlite":
        before = read_steady_s()
        _keep(read_database_time(session), before, read_steady_s())


def follow_connection(connection: Any, record: object) -> None:  # noqa: ANN401, ARG001
    """As :func:`follow_database`, for a connection of PostgreSQL that was just made."""
    with suppress(_get_connection_error()):  # it has just been made, and is lost again
        before = read_steady_s()
        at = connection.execute("SELECT clock_timestamp()").fetchone()[0]
        _keep(at.astimezone(UTC), before, read_steady_s())
        connection.rollback()


def _get_connection_error() -> type[Exception]:
    from psycopg import Error

    return Error


def _keep(there: datetime, before_s: float, after_s: float) -> None:
    if after_s - before_s <= _LONGEST_ROUND_S:
        follow(there, (before_s + after_s) / 2)


def watch_clock(session: Session, now: datetime, by: timedelta = _UNSET) -> str | None:
    """Move the mark along with the time; why nothing may be deleted by age now, or None.

    To be called now and then, and before anything is deleted by age. ``by`` is how far this
    process saw the time being set (:class:`triage.clock.Jumps`): the mark alone does not tell an
    hour that was skipped from one in which the service was off.
    """
    mark = lock_rows(session, select(ClockMark)).one_or_none()
    if mark is None:
        first = {"id": _ONLY, "seen_at": _find_newest(session) or now}
        insert_or_none(session, ClockMark, first, ClockMark.id)
        mark = lock_rows(session, select(ClockMark)).one()
    jump = _describe_jump(mark.seen_at, now) or _was_set(by, now)
    if jump:
        mark.doubted_at, mark.doubt = now, jump
    mark.seen_at = now
    return _describe_doubt(mark, now)


def describe_clock_doubt(session: Session, now: datetime) -> str | None:
    """As :func:`watch_clock`, and nothing is written."""
    mark = session.scalar(select(ClockMark))
    if mark is None:
        return None
    return _compose_sentence(_describe_jump(mark.seen_at, now), now) or _describe_doubt(mark, now)


def _find_newest(session: Session) -> datetime | None:
    """When anybody last wrote something, of a database whose time nobody has watched yet."""
    found = [session.scalar(select(func.max(one.updated_at))) for one in (Work, Incident)]
    return max((at for at in found if at is not None), default=None)


def _describe_jump(seen_at: datetime, now: datetime) -> str | None:
    if now < seen_at - _BACK:
        return f"the clock went back, from {seen_at:%Y-%m-%d %H:%M}Z to {now:%Y-%m-%d %H:%M}Z"
    if now > seen_at + _GAP:
        return (
            f"the clock shows {now:%Y-%m-%d %H:%M}Z, and the service last ran at"
            f" {seen_at:%Y-%m-%d %H:%M}Z"
        )
    return None


def _was_set(by: timedelta, now: datetime) -> str | None:
    if not by:
        return None
    hours = abs(by.total_seconds()) / 3600
    way = "on" if by > _UNSET else "back"
    return f"the clock was set {way} by {hours:.1f} h, to {now:%Y-%m-%d %H:%M}Z"


def _describe_doubt(mark: ClockMark, now: datetime) -> str | None:
    if mark.doubted_at is None or now >= mark.doubted_at + _DOUBT:
        return None
    return _compose_sentence(mark.doubt, mark.doubted_at)


def _compose_sentence(jump: str | None, at: datetime) -> str | None:
    if jump is None:
        return None
    return f"{jump}; nothing is deleted by age before {at + _DOUBT:%Y-%m-%d %H:%M}Z"
