"""Results of checks of nodes, and telemetry by the day."""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0005"
down_revision = "0004"

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "health_check",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("node", models.base.Name(), nullable=False),
        sa.Column("check", models.base.Name(), nullable=False),
        sa.Column("part", models.base.Name(), nullable=False),
        sa.Column("outcome", models.base.CleanText(), nullable=False),
        sa.Column("at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("detail", models.base.CleanText(), nullable=False),
        sa.Column("category", models.base.CleanText(), nullable=True),
        sa.Column("history", models.base.Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_health_check_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_health_check")),
        sa.UniqueConstraint(
            "cluster_id", "node", "check", "part",
            name=op.f("uq_health_check_cluster_id_node_check_part"),
        ),
    )  # fmt: skip
    with op.batch_alter_table("health_check", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_health_check_node"), ["node"])
        batch_op.create_index(batch_op.f("ix_health_check_outcome"), ["outcome"])

    op.create_table(
        "telemetry_day",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("node", models.base.Name(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("num_samples", BIG_ID, nullable=False),
        sa.Column("throttled_minutes", sa.Double(), nullable=False),
        sa.Column("brake_minutes", sa.Double(), nullable=False),
        sa.Column("gpu_temp_max_c", sa.Double(), nullable=True),
        sa.Column("inlet_mean_c", sa.Double(), nullable=True),
        sa.Column("ecc_growth", sa.Double(), nullable=False),
        sa.Column("ecc_corrected_growth", sa.Double(), nullable=False),
        sa.Column("remap_growth", sa.Double(), nullable=False),
        sa.Column("nvlink_growth", sa.Double(), nullable=False),
        sa.Column("ib_growth", sa.Double(), nullable=False),
        sa.Column("hours", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_telemetry_day_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_telemetry_day")),
        sa.UniqueConstraint(
            "cluster_id", "node", "day", name=op.f("uq_telemetry_day_cluster_id_node_day")
        ),
    )
    with op.batch_alter_table("telemetry_day", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_telemetry_day_day"), ["day"])

    op.create_table(
        "telemetry_pack",
        sa.Column("day_id", BIG_ID, nullable=False),
        sa.Column("cells", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["day_id"], ["telemetry_day.id"], ondelete="CASCADE",
            name=op.f("fk_telemetry_pack_day_id_telemetry_day"),
        ),
        sa.PrimaryKeyConstraint("day_id", name=op.f("pk_telemetry_pack")),
    )  # fmt: skip


def downgrade() -> None:
    op.drop_table("telemetry_pack")
    op.drop_table("telemetry_day")
    op.drop_table("health_check")
