"""One cache of compiled statements for all databases that the tests of a process open.

SQLAlchemy keeps one for each engine, and nearly every test opens an engine: to compile the same
statements again took a seventh of the time of tests of the service.
"""

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache


def share_compiled_statements() -> None:
    """From now on what was compiled for one engine is there for all others of its dialect."""
    compiled: LRUCache[Any, Any] = LRUCache(10_000)
    begin = Engine.__init__

    def begin_with_shared(engine: Engine, *given: Any, **more: Any) -> None:
        begin(engine, *given, **more)
        engine._compiled_cache = compiled

    Engine.__init__ = begin_with_shared
    # A dialect is a part of the key, and each engine has an object of its own. Those of one class
    # speak to the same server.
    for dialect in (PGDialect_psycopg, SQLiteDialect_pysqlite):
        dialect.__eq__ = lambda one, other: type(one) is type(other)
        dialect.__hash__ = lambda one: hash(type(one))
