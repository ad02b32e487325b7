"""Requests that may be sent again."""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "idempotency",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("fingerprint", models.base.CleanText(), nullable=False),
        sa.Column("owner", models.base.CleanText(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("taken_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("location", models.base.CleanText(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("subject", models.base.CleanText(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency")),
    )
    with op.batch_alter_table("idempotency", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_created_at"), ["created_at"])


def downgrade() -> None:
    with op.batch_alter_table("idempotency", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_created_at"))

    op.drop_table("idempotency")
