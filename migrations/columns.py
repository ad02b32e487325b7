"""Columns of tables, for migrations; models name the constraints and indexes on them."""

from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.sql.schema import SchemaItem
from sqlalchemy.types import TypeEngine

Items = list[SchemaItem]
TEXT: Final = sa.Text()
INTEGER: Final = sa.Integer()
# SQLite counts rows only in a column of exactly the type INTEGER.
BIG: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _make_columns(kind: TypeEngine[Any]) -> Callable[..., list[sa.Column[Any]]]:
    """A function that makes columns of one type by their names."""

    def make(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
        return [sa.Column(name, kind, nullable=nullable) for name in names]

    return make


text = _make_columns(TEXT)
time = _make_columns(sa.DateTime(timezone=True))
integer = _make_columns(INTEGER)
big = _make_columns(BIG)
long = _make_columns(sa.BigInteger())
double = _make_columns(sa.Double())
boolean = _make_columns(sa.Boolean())
binary = _make_columns(sa.LargeBinary())


def key(name: str, kind: TypeEngine[Any]) -> sa.Column[Any]:
    """The primary key."""
    return sa.Column(name, kind, primary_key=True)


def reference(
    name: str,
    kind: TypeEngine[Any],
    to: str,
    *,
    cascade: bool = False,
    nullable: bool = False,
    primary_key: bool = False,
) -> sa.Column[Any]:
    """A foreign key; with ``cascade`` a row goes with the row that it refers to."""
    foreign = sa.ForeignKey(to, ondelete="CASCADE" if cascade else None)
    return sa.Column(name, kind, foreign, nullable=nullable, primary_key=primary_key)
