"""A revision keeps its answer packed, and neither its report nor its time line beside it.

Both are derived from the packed answer. An answer that cannot be unpacked is rebuilt from them
before they go, as far as they say it. Back again, both are written from the packed answer; of
one that cannot be unpacked the report says that there is none.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

import models.base
from triage.domain.answer_wire import (
    NO_ANSWER,
    answer_from_bytes,
    answer_of_report,
    answer_to_bytes,
)
from triage.domain.report import Answer
from triage.errors import Corrupt
from triage.render.data import wire

revision = "0008"
down_revision = "0007"

REVISIONS = sa.table(
    "revision",
    sa.column("incident_id", sa.Text()),
    sa.column("revision", sa.Integer()),
    sa.column("report", sa.Text()),
    sa.column("timeline", sa.Text()),
    sa.column("answer", sa.LargeBinary()),
)
THIS = sa.and_(
    REVISIONS.c.incident_id == sa.bindparam("of_incident"),
    REVISIONS.c.revision == sa.bindparam("of_revision"),
)


def upgrade() -> None:
    connection = op.get_bind()
    unread = sa.select(REVISIONS.c.report, REVISIONS.c.timeline).where(THIS)
    replace = sa.update(REVISIONS).where(THIS).values(answer=sa.bindparam("packed"))
    for key, packed in answers(connection):
        if unpacked(packed) is None:
            answer = rebuilt(*connection.execute(unread, key).one())
            if answer is not None:
                connection.execute(replace, {**key, "packed": answer_to_bytes(answer)})
    with op.batch_alter_table("revision", schema=None) as batch_op:
        batch_op.drop_column("report")
        batch_op.drop_column("timeline")


def downgrade() -> None:
    connection = op.get_bind()
    with op.batch_alter_table("revision", schema=None) as batch_op:
        batch_op.add_column(sa.Column("report", models.base.CleanText(), nullable=True))
        batch_op.add_column(sa.Column("timeline", models.base.Json(), nullable=True))
    fill = sa.update(REVISIONS).where(THIS)
    fill = fill.values(report=sa.bindparam("text"), timeline=sa.bindparam("rows"))
    for key, packed in answers(connection):
        answer = unpacked(packed) or NO_ANSWER
        rows = orjson.dumps(wire.list_moments(answer)).decode()
        connection.execute(fill, {**key, "text": wire.render(answer).decode(), "rows": rows})
    with op.batch_alter_table("revision", schema=None) as batch_op:
        batch_op.alter_column("report", existing_type=models.base.CleanText(), nullable=False)
        batch_op.alter_column("timeline", existing_type=models.base.Json(), nullable=False)


def answers(connection: sa.Connection) -> Iterator[tuple[dict[str, Any], bytes]]:
    """(key, packed answer) of every revision; one at a time, for they are large."""
    keys = sa.select(REVISIONS.c.incident_id, REVISIONS.c.revision)
    packed = sa.select(REVISIONS.c.answer).where(THIS)
    for incident_id, number in connection.execute(keys).all():
        key = {"of_incident": incident_id, "of_revision": number}
        yield key, connection.execute(packed, key).scalar_one()


def unpacked(packed: bytes) -> Answer | None:
    try:
        return answer_from_bytes(packed, pictures=False)
    except Corrupt:
        return None


def rebuilt(report: str, timeline: str) -> Answer | None:
    """The answer as far as its report and time line say it; None where they say none either."""
    try:
        return answer_of_report(orjson.loads(report), orjson.loads(timeline))
    except (AttributeError, TypeError, ValueError, Corrupt):
        return None
