"""A message may be of no incident: the digest of a week is of the whole fleet."""

from alembic import op

import models.base

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    with op.batch_alter_table("delivery", schema=None) as batch_op:
        batch_op.alter_column("incident_id", existing_type=models.base.CleanText(), nullable=True)


def downgrade() -> None:
    op.execute("DELETE FROM delivery WHERE incident_id IS NULL")
    with op.batch_alter_table("delivery", schema=None) as batch_op:
        batch_op.alter_column("incident_id", existing_type=models.base.CleanText(), nullable=False)
