"""Acts on nodes, halts of the actuator, files of own signatures, restarts of incidents.

New tables, and one column that can be empty: processes of the release before go on writing.
"""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    time = models.base.UtcTime(timezone=True)
    text = models.base.CleanText()
    op.add_column("incident", sa.Column("restart", models.base.Json(), nullable=True))
    op.create_table(
        "action",
        sa.Column("id", text, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("incident_id", text, nullable=False),
        sa.Column("node", models.base.Name(), nullable=False),
        sa.Column("verb", text, nullable=False),
        sa.Column("system", text, nullable=False),
        sa.Column("state", text, nullable=False),
        sa.Column("category", text, nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("why", text, nullable=False),
        sa.Column("asked_by", text, nullable=False),
        sa.Column("decided_by", text, nullable=True),
        sa.Column("created_at", time, nullable=False),
        sa.Column("expires_at", time, nullable=True),
        sa.Column("decided_at", time, nullable=True),
        sa.Column("acted_at", time, nullable=True),
        sa.Column("ended_at", time, nullable=True),
        sa.Column("undoes", text, nullable=True),
        sa.Column("owner", text, nullable=True),
        sa.Column("command", text, nullable=True),
        sa.Column("error", text, nullable=True),
        sa.Column("before", models.base.Json(), nullable=True),
        sa.Column("after", models.base.Json(), nullable=True),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_action_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action")),
        sa.UniqueConstraint(
            "cluster_id",
            "incident_id",
            "node",
            "verb",
            name=op.f("uq_action_cluster_id_incident_id_node_verb"),
        ),
    )
    for columns in (("state", "created_at"), ("cluster_id", "node"), ("cluster_id", "acted_at")):
        op.create_index(op.f(f"ix_action_{'_'.join(columns)}"), "action", list(columns))
    op.create_table(
        "actuator_halt",
        sa.Column("id", models.base.BigId, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("at", time, nullable=False),
        sa.Column("by", text, nullable=False),
        sa.Column("reason", text, nullable=False),
        sa.Column("action_id", text, nullable=True),
        sa.Column("ended_at", time, nullable=True),
        sa.Column("ended_by", text, nullable=True),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_actuator_halt_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_actuator_halt")),
    )
    op.create_index(
        op.f("ix_actuator_halt_cluster_id_ended_at"), "actuator_halt", ["cluster_id", "ended_at"]
    )
    op.create_table(
        "signature_file",
        sa.Column("name", models.base.Name(), nullable=False),
        sa.Column("sha256", text, nullable=False),
        sa.Column("body", text, nullable=False),
        sa.Column("num_signatures", sa.Integer(), nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("updated_at", time, nullable=False),
        sa.Column("key_id", text, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_signature_file")),
    )


def downgrade() -> None:
    for table in ("signature_file", "actuator_halt", "action"):
        op.drop_table(table)
    op.drop_column("incident", "restart")
