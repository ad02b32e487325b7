"""Who is logged in to the pages."""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "page_session",
        sa.Column("secret_hash", models.base.CleanText(), nullable=False),
        sa.Column("key_id", models.base.CleanText(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("expires_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["key_id"],
            ["api_key.id"],
            name=op.f("fk_page_session_key_id_api_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_page_session")),
    )
    with op.batch_alter_table("page_session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_page_session_expires_at"), ["expires_at"])
        batch_op.create_index(batch_op.f("ix_page_session_key_id"), ["key_id"])


def downgrade() -> None:
    with op.batch_alter_table("page_session", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_page_session_key_id"))
        batch_op.drop_index(batch_op.f("ix_page_session_expires_at"))

    op.drop_table("page_session")
