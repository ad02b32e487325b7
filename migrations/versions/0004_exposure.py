"""Runs and the nodes they were on, outages, and what an inventory says of a node."""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0004"
down_revision = "0003"

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OF_XIDS = sa.text("kind = 'xid'")


def upgrade() -> None:
    op.create_table(
        "node_set",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("sha256", models.base.CleanText(), nullable=False),
        sa.Column("num_nodes", sa.Integer(), nullable=False),
        sa.Column("spans", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_set")),
        sa.UniqueConstraint("sha256", name=op.f("uq_node_set_sha256")),
    )
    op.create_table(
        "run",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("job_id", models.base.Name(), nullable=False),
        sa.Column("started_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("ended_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("seen_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("ending", models.base.CleanText(), nullable=False),
        sa.Column("cause", models.base.CleanText(), nullable=True),
        sa.Column("num_nodes", sa.BigInteger(), nullable=False),
        sa.Column("num_gpus", sa.BigInteger(), nullable=False),
        sa.Column("node_set_id", BIG_ID, nullable=True),
        sa.Column("source", models.base.CleanText(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_run_cluster_id_cluster")
        ),
        sa.ForeignKeyConstraint(
            ["node_set_id"], ["node_set.id"], name=op.f("fk_run_node_set_id_node_set")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint(
            "cluster_id", "job_id", "started_at", name=op.f("uq_run_cluster_id_job_id_started_at")
        ),
    )
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_run_started_at"), ["started_at"])
        batch_op.create_index(batch_op.f("ix_run_node_set_id"), ["node_set_id"])

    op.create_table(
        "outage",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("from_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("to_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("reason", models.base.CleanText(), nullable=False),
        sa.Column("source", models.base.CleanText(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["node.id"], name=op.f("fk_outage_node_id_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outage")),
        sa.UniqueConstraint("node_id", "from_at", name=op.f("uq_outage_node_id_from_at")),
    )
    with op.batch_alter_table("outage", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_outage_from_at"), ["from_at"])

    # The release before this one does not know them, and writes its rows without.
    op.add_column("node", sa.Column("generation", models.base.CleanText(), nullable=True))
    op.add_column("node", sa.Column("rack", models.base.CleanText(), nullable=True))
    op.add_column("node", sa.Column("leaf_switch", models.base.CleanText(), nullable=True))
    op.add_column("suspect", sa.Column("part", models.base.CleanText(), nullable=True))
    op.create_index(
        "ix_evidence_xid", "evidence", ["role", "at", "node", "code"],
        postgresql_where=OF_XIDS, sqlite_where=OF_XIDS,
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index("ix_evidence_xid", "evidence", postgresql_where=OF_XIDS, sqlite_where=OF_XIDS)
    op.drop_column("suspect", "part")
    op.drop_column("node", "leaf_switch")
    op.drop_column("node", "rack")
    op.drop_column("node", "generation")
    op.drop_table("outage")
    op.drop_table("run")
    op.drop_table("node_set")
