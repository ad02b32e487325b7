"""What all tables share: names of constraints, times in UTC, text that every database takes."""

import hashlib
import re
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import orjson
from sqlalchemy import BigInteger, DateTime, Dialect, Integer, MetaData, Text
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

# PostgreSQL keeps no NUL in a text, and UTF-8 has no half of a surrogate pair.
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
# What orjson writes: integers of 64 bits, and 254 levels.
_MOST_INT: Final = (1 << 63) - 1
_LONGEST_INT: Final = 4000
_DEEPEST: Final = 200
_LONGEST_NAME: Final = 512


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
        # A choice is kept as its text, not as the member of an enumeration.
        return None if value is None else _clean(str(value))


class Name(TypeDecorator[str]):
    """A name that is looked up. One of more than 512 characters does not fit into an index of
    PostgreSQL: it is cut, and a hash tells it from others that begin alike.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The storable form, of names to be kept and of names asked for."""
        return None if value is None else normalize_stored_name(value)


class Json(TypeDecorator[Any]):
    """A value as JSON text: written and read whole, never asked about in SQL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ANN401, ARG002
        """The JSON text; NUL stays escaped in it."""
        if value is None:
            return None
        try:
            return _dump_json(value)
        except TypeError:  # halves of surrogate pairs, numbers and depths that JSON has not
            return _dump_json(_make_storable(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ANN401, ARG002
        """The value."""
        return None if value is None else orjson.loads(value)


class Base(DeclarativeBase):
    """Every constraint has a name, so that a migration can drop it; every text is clean."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {str: CleanText}
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


def normalize_stored_name(text: str) -> str:
    """A name as :class:`Name` keeps it."""
    kept = _clean(text)
    if len(kept) <= _LONGEST_NAME:
        return kept
    mark = hashlib.sha256(kept.encode()).hexdigest()[:32]
    return f"{kept[: _LONGEST_NAME - 33]}~{mark}"


def _clean(text: str) -> str:
    """The text with U+FFFD for what a database cannot hold."""
    # What can be printed holds none of it, and nearly every text can.
    return text if text.isprintable() else _UNSTORABLE.sub("\ufffd", text)


def decode_stored_json(value: Any) -> Any:  # noqa: ANN401
    """A value as :class:`Json` gives it back."""
    try:
        return orjson.loads(_dump_json(value))
    except TypeError:
        return orjson.loads(_dump_json(_make_storable(value)))


def _dump_json(value: object) -> str:
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _make_storable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401
    """The value as far as JSON text can hold it."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, int) and not -_MOST_INT <= value <= _MOST_INT:
        return str(value) if abs(value) < 10**_LONGEST_INT else "a number too long to be kept"
    if depth == _DEEPEST and isinstance(value, (dict, list, tuple)):
        return "nested too deep to be kept"
    if isinstance(value, dict):
        return {
            _make_storable(str(key)): _make_storable(one, depth + 1) for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_make_storable(one, depth + 1) for one in value]
    return value


# SQLite counts rows only in a column of exactly this type.
BigId = BigInteger().with_variant(Integer, "sqlite")
