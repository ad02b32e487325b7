"""Connections to PostgreSQL that give up: nothing is waited for without end.

The network may go silent in the middle, by a failover without a word or a hung pooler, whose own
kernel still answers keepalives. So each wait for an answer has an end here as well. Imported only
where PostgreSQL is used.
"""

import time
from collections.abc import Generator
from typing import Any, Final, TypeVar

import psycopg
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import InvalidatePoolError

from triage.store.database.clock import follow_connection

T = TypeVar("T")
_CONNECT_S: Final = 5
# A connection out of the pool that does not say a word within this is gone, and with it all that
# were made before.
PING_S: Final = 5.0
# The server ends a statement first; who waits longer waits for nobody.
MARGIN_S: Final = 5.0
_POOL_S: Final = 20
_RECYCLE_S: Final = 1800
_KEEPALIVE: Final = {
    "keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}  # fmt: skip


class LimitedConnection(psycopg.Connection[Any]):
    """Each wait for the server ends after ``limit_s``, and the connection with it."""

    limit_s: float | None = None

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **more: Any) -> T:  # noqa: ANN401
        """As psycopg's. Raises :class:`psycopg.OperationalError` when the time is up."""
        if self.limit_s is not None:
            gen = self._limited(gen, self.limit_s)
        return super().wait(gen, *args, **more)

    def _limited(self, gen: Generator[Any, Any, T], limit_s: float) -> Generator[Any, Any, T]:
        until = time.monotonic() + limit_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > until:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"the server was silent for {limit_s:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def make_postgres_engine(url: URL, timeout_s: float) -> Engine:
    """An engine whose statements, waits and idle transactions end after ``timeout_s`` or so."""
    limits = f"-c statement_timeout={timeout_s * 1000:.0f}"
    limits += f" -c idle_in_transaction_session_timeout={timeout_s * 1000:.0f}"
    engine = create_engine(
        url,
        pool_size=8,
        max_overflow=24,
        pool_timeout=_POOL_S,
        pool_recycle=_RECYCLE_S,
        connect_args={
            "connect_timeout": _CONNECT_S,
            "application_name": "nccl-triage",
            "options": limits,
            **_KEEPALIVE,
        },
    )

    def connect(_dialect: object, _record: object, args: Any, options: Any) -> LimitedConnection:  # noqa: ANN401
        made = LimitedConnection.connect(*args, **options)
        made.limit_s = timeout_s + MARGIN_S
        return made

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "connect", follow_connection)
    event.listen(engine, "checkout", _ping)
    return engine


def _ping(connection: Any, record: Any, _proxy: object) -> None:  # noqa: ANN401
    """Have the pool make new connections where this one has died or does not answer."""
    if not record.info.get("used"):  # it was made just now
        record.info["used"] = True
        return
    limit_s, connection.limit_s = connection.limit_s, PING_S
    try:
        connection.autocommit = True
        connection.execute("SELECT 1")
        connection.autocommit = False
    except psycopg.Error as error:
        raise InvalidatePoolError("the server does not answer") from error
    finally:
        connection.limit_s = limit_s


def lift_statement_limit(connection: Any) -> None:  # noqa: ANN401 - a connection of SQLAlchemy
    """Let statements of this connection take as long as they need: a migration rewrites tables.

    Its caller invalidates it in the end, so that nobody gets it out of the pool.
    """
    connection.exec_driver_sql("SET statement_timeout = 0")
    connection.exec_driver_sql("SET idle_in_transaction_session_timeout = 0")
    connection.commit()
    connection.connection.driver_connection.limit_s = None
