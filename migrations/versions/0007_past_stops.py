"""What stays of incidents that were removed for their age."""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "past_stop",
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("job_id", models.base.Name(), nullable=False),
        sa.Column("key", models.base.CleanText(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("kind", models.base.CleanText(), nullable=False),
        sa.Column("category", models.base.CleanText(), nullable=True),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_past_stop_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("incident_id", name=op.f("pk_past_stop")),
    )
    with op.batch_alter_table("past_stop", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_past_stop_cluster_id_created_at"), ["cluster_id", "created_at"]
        )
    op.create_table(
        "past_suspect",
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("node", models.base.Name(), nullable=False),
        sa.Column("category", models.base.CleanText(), nullable=False),
        sa.Column("role", models.base.CleanText(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("part", models.base.CleanText(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["past_stop.incident_id"], ondelete="CASCADE",
            name=op.f("fk_past_suspect_incident_id_past_stop"),
        ),
        sa.PrimaryKeyConstraint("incident_id", "position", name=op.f("pk_past_suspect")),
    )  # fmt: skip


def downgrade() -> None:
    op.drop_table("past_suspect")
    op.drop_table("past_stop")
