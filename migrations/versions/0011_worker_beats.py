"""When each worker and scheduler was last seen going round: a new table alone."""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "worker_beat",
        sa.Column("name", models.base.CleanText(), nullable=False),
        sa.Column("seen_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker_beat")),
    )


def downgrade() -> None:
    op.drop_table("worker_beat")
