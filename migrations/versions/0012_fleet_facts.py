"""Facts of a fleet: causes of outages, repairs, parts by identity, plans of tests.

All new columns can be empty: processes of the release before go on writing.
"""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0012"
down_revision = "0011"

OF_NODES = ("batch", "cage", "slot", "role")


def upgrade() -> None:
    for name in OF_NODES:
        op.add_column("node", sa.Column(name, models.base.CleanText(), nullable=True))
    op.add_column("outage", sa.Column("cause", models.base.CleanText(), nullable=True))
    op.add_column("outage", sa.Column("action", models.base.CleanText(), nullable=True))
    op.add_column("outage", sa.Column("planned", sa.Boolean(), nullable=True))
    op.add_column("telemetry_day", sa.Column("link_recovery_growth", sa.Double(), nullable=True))
    op.create_table(
        "repair",
        sa.Column("id", models.base.BigId, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("action", models.base.CleanText(), nullable=False),
        sa.Column("text", models.base.CleanText(), nullable=False),
        sa.Column("source", models.base.CleanText(), nullable=False),
        sa.Column("key_id", models.base.CleanText(), nullable=True),
        sa.ForeignKeyConstraint(["node_id"], ["node.id"], name=op.f("fk_repair_node_id_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repair")),
        sa.UniqueConstraint("node_id", "at", "action", name=op.f("uq_repair_node_id_at_action")),
    )
    op.create_table(
        "part_sighting",
        sa.Column("id", models.base.BigId, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("kind", models.base.CleanText(), nullable=False),
        sa.Column("identity", models.base.Name(), nullable=False),
        sa.Column("slot", models.base.CleanText(), nullable=False),
        sa.Column("first_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("last_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("source", models.base.CleanText(), nullable=False),
        sa.Column("key_id", models.base.CleanText(), nullable=True),
        sa.ForeignKeyConstraint(
            ["node_id"], ["node.id"], name=op.f("fk_part_sighting_node_id_node")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_part_sighting")),
        sa.UniqueConstraint(
            "kind",
            "identity",
            "node_id",
            "first_at",
            name=op.f("uq_part_sighting_kind_identity_node_id_first_at"),
        ),
    )
    op.create_index(op.f("ix_part_sighting_node_id"), "part_sighting", ["node_id"])
    op.create_table(
        "test_plan",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=True),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("key_id", models.base.CleanText(), nullable=True),
        sa.Column("body", models.base.Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_test_plan_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_test_plan")),
    )
    op.create_index(
        op.f("ix_test_plan_cluster_id_created_at"), "test_plan", ["cluster_id", "created_at"]
    )
    op.create_index(op.f("ix_test_plan_incident_id"), "test_plan", ["incident_id"])


def downgrade() -> None:
    for table in ("test_plan", "part_sighting", "repair"):
        op.drop_table(table)
    op.drop_column("telemetry_day", "link_recovery_growth")
    for name in ("planned", "action", "cause"):
        op.drop_column("outage", name)
    for name in reversed(OF_NODES):
        op.drop_column("node", name)
