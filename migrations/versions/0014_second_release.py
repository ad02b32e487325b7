"""Who brought what, what waits, what may be erased, facts of a fleet, acts, and signatures.

Every new column can be empty or has a default of the database: processes of the release before
go on writing while this one takes over.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations import columns as make
from migrations.columns import BIG, INTEGER, TEXT, Items

revision = "0014"
down_revision = "0008"

_INDEXES = (("upload", "key_id"), ("upload", "blob_key"), ("run", "key_id"), ("audit", "subject"))


def columns() -> dict[str, list[sa.Column[Any]]]:
    """The new columns of tables that are there already."""
    return {
        "api_key": [
            *make.text("cluster", "node_pattern", "job_id", nullable=True),
            *make.time("last_used_at", "tainted_at", nullable=True),
        ],
        "incident": [
            sa.Column("attempt", sa.Text(), nullable=False, server_default=""),
            *make.text("wanted", "restart", nullable=True),
        ],
        "artifact": make.boolean("is_digest", nullable=True),
        "upload": make.text("key_id", nullable=True),
        "run": make.text("key_id", nullable=True),
        "outage": [
            *make.text("key_id", "cause", "action", nullable=True),
            *make.boolean("planned", nullable=True),
        ],
        "health_check": make.text("key_id", nullable=True),
        "telemetry_day": [
            *make.text("key_id", nullable=True),
            *make.double("link_recovery_growth", nullable=True),
        ],
        "subscription": make.text("key_id", nullable=True),
        "node": make.text("batch", "cage", "slot", "role", nullable=True),
        "work": [
            sa.Column("waits", sa.Integer(), nullable=False, server_default="0"),
            *make.time("waiting_since", nullable=True),
            *make.text("waiting_for", nullable=True),
        ],
    }


def tables() -> dict[str, Items]:
    """The new tables."""
    return {
        "action": [
            make.key("id", TEXT),
            make.reference("cluster_id", INTEGER, "cluster.id"),
            *make.text("incident_id", "node", "verb", "system", "state", "category"),
            *make.double("confidence"),
            *make.integer("revision"),
            *make.text("why", "asked_by"),
            *make.text("decided_by", nullable=True),
            *make.time("created_at"),
            *make.time("expires_at", "decided_at", "acted_at", "ended_at", nullable=True),
            *make.text("undoes", "owner", "error", "before", "after", nullable=True),
            sa.UniqueConstraint("cluster_id", "incident_id", "node", "verb"),
            sa.Index(None, "cluster_id", "acted_at"),
            sa.Index(None, "cluster_id", "node"),
            sa.Index(None, "state", "created_at"),
        ],
        "clock_mark": [
            sa.Column("id", INTEGER, primary_key=True, autoincrement=False),
            *make.time("seen_at"),
            *make.time("doubted_at", nullable=True),
            *make.text("doubt", nullable=True),
        ],
        "erasure": [
            make.key("subject", TEXT),
            *make.text("incident_id", "job_id"),
            *make.text("identity", nullable=True),
            *make.time("at"),
            *make.text("actor", "reason"),
            sa.Index(None, "incident_id"),
            sa.Index(None, "job_id"),
        ],
        "incident_facts": [
            make.key("id", BIG),
            make.reference("incident_id", TEXT, "incident.id", cascade=True),
            *make.text("source"),
            *make.text("key_id", nullable=True),
            *make.time("at"),
            *make.text("state", "facts"),
            sa.Index(None, "incident_id", "id"),
            sa.Index(None, "key_id"),
        ],
        "node_notice": [
            make.key("id", BIG),
            make.reference("cluster_id", INTEGER, "cluster.id"),
            *make.text("node", "source", "kind", "sha256"),
            *make.time("at", "created_at", "seen_at"),
            *make.text("key_id", nullable=True),
            *make.text("summary", "redacted"),
            *make.binary("body"),
            sa.UniqueConstraint("cluster_id", "node", "sha256"),
            sa.Index(None, "cluster_id", "node", "at"),
            sa.Index(None, "key_id", "id"),
            sa.Index(None, "seen_at"),
        ],
        "part_sighting": [
            make.key("id", BIG),
            make.reference("node_id", INTEGER, "node.id"),
            *make.text("kind", "identity", "slot"),
            *make.time("first_at", "last_at"),
            *make.text("source"),
            *make.text("key_id", nullable=True),
            sa.UniqueConstraint("kind", "identity", "node_id", "first_at"),
            sa.Index(None, "node_id"),
        ],
        "repair": [
            make.key("id", BIG),
            make.reference("node_id", INTEGER, "node.id"),
            *make.time("at"),
            *make.text("action", "text", "source"),
            *make.text("key_id", nullable=True),
            sa.UniqueConstraint("node_id", "at", "action"),
        ],
        "unreferenced_blob": [
            make.key("blob_key", TEXT),
            *make.time("marked_at"),
        ],
    }


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # Each by itself: no two tables are locked at once, and none while an index is made. Of
        # what was broken off half way the rest is made when it is run again.
        with op.get_context().autocommit_block():
            add_columns(if_not_exists=True)
            add_indexes_beside_writers()
    else:
        add_columns()
        for table, indexed in _INDEXES:
            op.create_index(f"ix_{table}_{indexed}", table, [indexed])
    for table, items in tables().items():
        op.create_table(table, *items)


def add_columns(*, if_not_exists: bool = False) -> None:
    # One by one: SQLite adds a column in place, and would copy a table for more than that.
    for table, added in columns().items():
        for column in added:
            op.add_column(table, column, if_not_exists=if_not_exists)


def add_indexes_beside_writers() -> None:
    """PostgreSQL waits until all have ended who began before, and nobody waits for it."""
    op.execute("SET lock_timeout = 0")
    for table, indexed in _INDEXES:
        name = f"ix_{table}_{indexed}"
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # half made, it would stay so
        op.create_index(name, table, [indexed], postgresql_concurrently=True)


def downgrade() -> None:
    for table in reversed(tables()):
        op.drop_table(table)
    for table, indexed in _INDEXES:
        op.drop_index(f"ix_{table}_{indexed}", table_name=table)
    for table, added in columns().items():
        for column in added:
            op.drop_column(table, column.name)
