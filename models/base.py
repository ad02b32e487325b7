"""What all tables share: names of constraints, times in UTC, text that every database takes."""

import re
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import BigInteger, DateTime, Dialect, Integer, MetaData, Text
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

__all__ = ["Base", "BigId", "CleanText", "Json", "UtcTime"]

# PostgreSQL keeps no NUL in a text, and UTF-8 has no half of a surrogate pair.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Base(DeclarativeBase):
    """Every constraint has a name, so that a migration can drop it."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class UtcTime(TypeDecorator[datetime]):
    """An aware time in UTC; SQLite keeps no zone, so it is added again."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuses a time without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        at = value.astimezone(UTC)
        return at if dialect.name == "postgresql" else at.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """The time with its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CleanText(TypeDecorator[str]):
    """Text from outside; what a database cannot hold becomes U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The storable form."""
        return None if value is None else UNSTORABLE.sub("\ufffd", value)


class Json(TypeDecorator[Any]):
    """A value as JSON text: written and read whole, never asked about in SQL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ANN401, ARG002
        """The JSON text; NUL stays escaped in it."""
        if value is None:
            return None
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ANN401, ARG002
        """The value."""
        return None if value is None else orjson.loads(value)


# SQLite counts rows only in a column of exactly this type.
BigId = BigInteger().with_variant(Integer, "sqlite")
