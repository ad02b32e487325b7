"""Who brought what, what waits for our surroundings, and what may be erased.

Every new column can be empty or has a default of the database: processes of the release before
go on writing while this one takes over.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0009"
down_revision = "0008"

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def text(name: str) -> sa.Column[Any]:
    return sa.Column(name, models.base.CleanText(), nullable=True)


def name(name: str) -> sa.Column[Any]:
    return sa.Column(name, models.base.Name(), nullable=True)


def time(name: str) -> sa.Column[Any]:
    return sa.Column(name, models.base.UtcTime(timezone=True), nullable=True)


def columns() -> dict[str, list[sa.Column[Any]]]:
    """The new columns of tables that are there already."""
    return {
        "api_key": [
            name("cluster"), text("node_pattern"), name("job_id"),
            time("last_used_at"), time("tainted_at"),
        ],
        "incident": [
            sa.Column("attempt", models.base.Name(), nullable=False, server_default=""),
        ],
        "upload": [text("key_id")],
        "run": [text("key_id")],
        "outage": [text("key_id")],
        "health_check": [text("key_id")],
        "telemetry_day": [text("key_id")],
        "subscription": [text("key_id")],
        "cluster": [
            sa.Column("keep_days", sa.Double(), nullable=True),
            sa.Column("keep_blobs_days", sa.Double(), nullable=True),
        ],
        "work": [
            sa.Column("waits", sa.Integer(), nullable=False, server_default="0"),
            time("waiting_since"),
            text("waiting_for"),
        ],
    }  # fmt: skip


INDEXES = (
    ("upload", "key_id"),
    ("upload", "blob_key"),
    ("run", "key_id"),
    ("audit", "subject"),
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # Each by itself: no two tables are locked at once, and none while an index is made. Of
        # what was broken off half way the rest is made when it is run again.
        with op.get_context().autocommit_block():
            add_columns(if_not_exists=True)
            add_indexes_beside_writers()
    else:
        add_columns()
        for table, indexed in INDEXES:
            op.create_index(f"ix_{table}_{indexed}", table, [indexed])

    op.create_table(
        "installation",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
    )
    op.create_table(
        "incident_facts",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("source", models.base.CleanText(), nullable=False),
        sa.Column("key_id", models.base.CleanText(), nullable=True),
        sa.Column("at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("state", models.base.CleanText(), nullable=False),
        sa.Column("facts", models.base.Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], ondelete="CASCADE",
            name=op.f("fk_incident_facts_incident_id_incident"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident_facts")),
    )  # fmt: skip
    op.create_index("ix_incident_facts_incident_id_id", "incident_facts", ["incident_id", "id"])
    op.create_index("ix_incident_facts_key_id", "incident_facts", ["key_id"])
    op.create_table(
        "unreferenced_blob",
        sa.Column("blob_key", models.base.CleanText(), nullable=False),
        sa.Column("marked_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("seen_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("num_rounds", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("blob_key", name=op.f("pk_unreferenced_blob")),
    )
    op.create_table(
        "erasure",
        sa.Column("subject", models.base.CleanText(), nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("job_id", models.base.Name(), nullable=False),
        sa.Column("identity", models.base.CleanText(), nullable=True),
        sa.Column("at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("actor", models.base.CleanText(), nullable=False),
        sa.Column("reason", models.base.CleanText(), nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_erasure")),
    )
    op.create_index("ix_erasure_job_id", "erasure", ["job_id"])
    op.create_index("ix_erasure_incident_id", "erasure", ["incident_id"])
    op.create_table(
        "clock_mark",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seen_at", models.base.UtcTime(timezone=True), nullable=False),
        time("doubted_at"),
        text("doubt"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clock_mark")),
    )


def add_columns(*, if_not_exists: bool = False) -> None:
    # One by one: SQLite adds a column in place, and would copy a table for more than that.
    for table, added in columns().items():
        for column in added:
            op.add_column(table, column, if_not_exists=if_not_exists)


def add_indexes_beside_writers() -> None:
    """PostgreSQL waits until all have ended who began before, and nobody waits for it."""
    op.execute("SET lock_timeout = 0")
    for table, indexed in INDEXES:
        name = f"ix_{table}_{indexed}"
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # half made, it would stay so
        op.create_index(name, table, [indexed], postgresql_concurrently=True)


def downgrade() -> None:
    op.drop_table("clock_mark")
    for table in ("erasure", "unreferenced_blob", "incident_facts", "installation"):
        op.drop_table(table)
    for table, indexed in INDEXES:
        op.drop_index(f"ix_{table}_{indexed}", table_name=table)
    for table, added in columns().items():
        for column in added:
            op.drop_column(table, column.name)
