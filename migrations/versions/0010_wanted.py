"""Which files are digests made on a node, and which files an answer asks for.

Both columns can be empty: processes of the release before go on writing.
"""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("artifact", sa.Column("is_digest", sa.Boolean(), nullable=True))
    op.add_column("incident", sa.Column("wanted", models.base.Json(), nullable=True))


def downgrade() -> None:
    op.drop_column("incident", "wanted")
    op.drop_column("artifact", "is_digest")
