"""Health events and alerts of nodes, kept for incidents that open later.

A new table: processes of the release before go on writing.
"""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    time = models.base.UtcTime(timezone=True)
    text = models.base.CleanText()
    op.create_table(
        "node_notice",
        sa.Column("id", models.base.BigId, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("node", models.base.Name(), nullable=False),
        sa.Column("source", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("sha256", text, nullable=False),
        sa.Column("at", time, nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("seen_at", time, nullable=False),
        sa.Column("key_id", text, nullable=True),
        sa.Column("summary", text, nullable=False),
        sa.Column("redacted", models.base.Json(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_node_notice_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_notice")),
        sa.UniqueConstraint(
            "cluster_id", "node", "sha256", name=op.f("uq_node_notice_cluster_id_node_sha256")
        ),
    )
    for columns in (("cluster_id", "node", "at"), ("seen_at",), ("key_id", "id")):
        op.create_index(op.f(f"ix_node_notice_{'_'.join(columns)}"), "node_notice", list(columns))


def downgrade() -> None:
    op.drop_table("node_notice")
