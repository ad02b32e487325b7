"""Recurring problems: which incidents are the same kind of failure.

One new table, which processes of the release before do not know.
"""

import sqlalchemy as sa
from alembic import op

from migrations import columns as make
from migrations.columns import INTEGER, TEXT, Items

revision = "0015"
down_revision = "0014"


def tables() -> dict[str, Items]:
    """The new tables."""
    return {
        "occurrence": [
            make.reference("incident_id", TEXT, "incident.id", cascade=True, primary_key=True),
            make.reference("cluster_id", INTEGER, "cluster.id"),
            *make.time("at"),
            *make.text("problem_id", nullable=True),
            *make.boolean("by_hand"),
            *make.text("stratum", "features", nullable=True),
            *make.integer("version"),
            sa.Index(None, "problem_id", "at"),
            sa.Index(None, "cluster_id", "at"),
        ],
    }


def upgrade() -> None:
    for table, items in tables().items():
        op.create_table(table, *items)


def downgrade() -> None:
    for table in tables():
        op.drop_table(table)
