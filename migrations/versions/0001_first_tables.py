"""The first tables."""

import sqlalchemy as sa
from alembic import op

import models.base

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "api_key",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("name", models.base.CleanText(), nullable=False),
        sa.Column("token_hash", models.base.CleanText(), nullable=False),
        sa.Column("scopes", models.base.Json(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("expires_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("revoked_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_key_token_hash")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("actor", models.base.CleanText(), nullable=False),
        sa.Column("action", models.base.CleanText(), nullable=False),
        sa.Column("subject", models.base.CleanText(), nullable=False),
        sa.Column("detail", models.base.Json(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_at"), ["at"], unique=False)

    op.create_table(
        "cluster",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", models.base.Name(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster")),
        sa.UniqueConstraint("name", name=op.f("uq_cluster_name")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("job_id", models.base.Name(), nullable=False),
        sa.Column("last_turn", sa.BigInteger(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_job_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("cluster_id", "job_id", name=op.f("uq_job_cluster_id_job_id")),
    )
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_job_job_id"), ["job_id"], unique=False)

    op.create_table(
        "node",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("name", models.base.Name(), nullable=False),
        sa.Column("first_seen_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_node_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node")),
        sa.UniqueConstraint("cluster_id", "name", name=op.f("uq_node_cluster_id_name")),
    )
    with op.batch_alter_table("node", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_node_name"), ["name"], unique=False)

    op.create_table(
        "incident",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("job_fk", sa.Integer(), nullable=False),
        sa.Column("key", models.base.CleanText(), nullable=False),
        sa.Column("announced", sa.Boolean(), nullable=False),
        sa.Column("facts", models.base.Json(), nullable=False),
        sa.Column("state", models.base.CleanText(), nullable=False),
        sa.Column("reason", models.base.CleanText(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("provisional", sa.Boolean(), nullable=False),
        sa.Column("category", models.base.CleanText(), nullable=True),
        sa.Column("verdict", models.base.Json(), nullable=True),
        sa.Column("coverage", models.base.Json(), nullable=True),
        sa.Column("expected_artifacts", sa.Integer(), nullable=True),
        sa.Column("num_artifacts", sa.Integer(), nullable=False),
        sa.Column("inputs", sa.Integer(), nullable=False),
        sa.Column("answered_inputs", sa.Integer(), nullable=False),
        sa.Column("analysed_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("analyse_s", sa.Double(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("deadline_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("settle_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("settled_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job_fk"], ["job.id"], name=op.f("fk_incident_job_fk_job")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident")),
    )
    with op.batch_alter_table("incident", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_incident_category_created_at_id"),
            ["category", "created_at", "id"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_incident_created_at_id"), ["created_at", "id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_incident_settled_at"), ["settled_at"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_incident_state_created_at_id"),
            ["state", "created_at", "id"],
            unique=False,
        )
        batch_op.create_index(
            "uq_incident_job_fk_key",
            ["job_fk", "key"],
            unique=True,
            postgresql_where=sa.text("key IS NOT NULL"),
        )

    op.create_table(
        "work",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", models.base.CleanText(), nullable=False),
        sa.Column("key", models.base.CleanText(), nullable=False),
        sa.Column("job_fk", sa.Integer(), nullable=True),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("state", models.base.CleanText(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("not_before", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("lease_until", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("owner", models.base.CleanText(), nullable=True),
        sa.Column("last_error", models.base.CleanText(), nullable=True),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_fk"], ["job.id"], name=op.f("fk_work_job_fk_job"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_work")),
        sa.UniqueConstraint("kind", "key", name=op.f("uq_work_kind_key")),
    )
    with op.batch_alter_table("work", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_work_state_kind_turn_not_before"),
            ["state", "kind", "turn", "not_before"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_work_state_lease_until"), ["state", "lease_until"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_work_state_not_before"), ["state", "not_before"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_work_state_updated_at"), ["state", "updated_at"], unique=False
        )

    op.create_table(
        "resolution",
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("category", models.base.CleanText(), nullable=False),
        sa.Column("node", models.base.Name(), nullable=True),
        sa.Column("note", models.base.CleanText(), nullable=True),
        sa.Column("said_by", models.base.CleanText(), nullable=False),
        sa.Column("resolved_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_resolution_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("incident_id", name=op.f("pk_resolution")),
    )
    with op.batch_alter_table("resolution", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_resolution_node"), ["node"], unique=False)

    op.create_table(
        "revision",
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("provisional", sa.Boolean(), nullable=False),
        sa.Column("report", models.base.CleanText(), nullable=False),
        sa.Column("timeline", models.base.Json(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_revision_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("incident_id", "revision", name=op.f("pk_revision")),
    )
    op.create_table(
        "subscription",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("kind", models.base.CleanText(), nullable=False),
        sa.Column("url", models.base.CleanText(), nullable=False),
        sa.Column("routing_key", models.base.CleanText(), nullable=True),
        sa.Column("secrets", models.base.Json(), nullable=False),
        sa.Column("events", models.base.Json(), nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=True),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("disabled_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("disabled_why", models.base.CleanText(), nullable=True),
        sa.Column("failing_since", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("not_before", models.base.UtcTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_subscription_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscription")),
    )
    with op.batch_alter_table("subscription", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_subscription_incident_id"), ["incident_id"], unique=False
        )

    op.create_table(
        "suspect",
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("node", models.base.Name(), nullable=True),
        sa.Column("category", models.base.CleanText(), nullable=False),
        sa.Column("role", models.base.CleanText(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("row", models.base.Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_suspect_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("incident_id", "position", name=op.f("pk_suspect")),
    )
    with op.batch_alter_table("suspect", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_suspect_node_incident_id"), ["node", "incident_id"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_suspect_role_node_incident_id"),
            ["role", "node", "incident_id"],
            unique=False,
        )

    op.create_table(
        "upload",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("blob_key", models.base.CleanText(), nullable=True),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_upload_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
    )
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_upload_created_at"), ["created_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_upload_incident_id"), ["incident_id"], unique=False)

    op.create_table(
        "artifact",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("upload_id", models.base.CleanText(), nullable=False),
        sa.Column("identity", models.base.CleanText(), nullable=False),
        sa.Column("node", models.base.CleanText(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("kind", models.base.CleanText(), nullable=False),
        sa.Column("filename", models.base.CleanText(), nullable=False),
        sa.Column("name_hash", models.base.CleanText(), nullable=False),
        sa.Column("sha256", models.base.CleanText(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("state", models.base.CleanText(), nullable=False),
        sa.Column("reason", models.base.CleanText(), nullable=True),
        sa.Column("redacted", models.base.Json(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_artifact_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"],
            ["upload.id"],
            name=op.f("fk_artifact_upload_id_upload"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifact")),
        sa.UniqueConstraint(
            "incident_id", "identity", name=op.f("uq_artifact_incident_id_identity")
        ),
    )
    with op.batch_alter_table("artifact", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_artifact_incident_id_name_hash"),
            ["incident_id", "name_hash"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_artifact_incident_id_state"), ["incident_id", "state"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_artifact_upload_id"), ["upload_id"], unique=False)

    op.create_table(
        "delivery",
        sa.Column("id", models.base.CleanText(), nullable=False),
        sa.Column("subscription_id", models.base.CleanText(), nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("event", models.base.CleanText(), nullable=False),
        sa.Column("method", models.base.CleanText(), nullable=False),
        sa.Column("url", models.base.CleanText(), nullable=False),
        sa.Column("headers", models.base.Json(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("state", models.base.CleanText(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("last_status", sa.Integer(), nullable=True),
        sa.Column("last_error", models.base.CleanText(), nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("created_at", models.base.UtcTime(timezone=True), nullable=False),
        sa.Column("tried_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("delivered_at", models.base.UtcTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_delivery_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscription.id"],
            name=op.f("fk_delivery_subscription_id_subscription"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
    )
    with op.batch_alter_table("delivery", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_delivery_incident_id"), ["incident_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_delivery_state_next_at"), ["state", "next_at"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_delivery_subscription_id_created_at"),
            ["subscription_id", "created_at"],
            unique=False,
        )

    op.create_table(
        "digest",
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("artifact_id", models.base.CleanText(), nullable=False),
        sa.Column("extract", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact_id"],
            ["artifact.id"],
            name=op.f("fk_digest_artifact_id_artifact"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_digest_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("incident_id", "artifact_id", name=op.f("pk_digest")),
    )
    with op.batch_alter_table("digest", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_digest_artifact_id"), ["artifact_id"], unique=False)

    op.create_table(
        "evidence",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("incident_id", models.base.CleanText(), nullable=False),
        sa.Column("artifact_id", models.base.CleanText(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("artifact", models.base.CleanText(), nullable=False),
        sa.Column("line", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("at", models.base.UtcTime(timezone=True), nullable=True),
        sa.Column("clock", models.base.CleanText(), nullable=False),
        sa.Column("node", models.base.Name(), nullable=True),
        sa.Column("rank", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("kind", models.base.CleanText(), nullable=False),
        sa.Column("code", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("gpu", models.base.CleanText(), nullable=True),
        sa.Column("category", models.base.CleanText(), nullable=True),
        sa.Column("role", models.base.CleanText(), nullable=False),
        sa.Column("signature", models.base.CleanText(), nullable=False),
        sa.Column("text", models.base.CleanText(), nullable=False),
        sa.Column("count", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("extra", models.base.Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact_id"],
            ["artifact.id"],
            name=op.f("fk_evidence_artifact_id_artifact"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_evidence_incident_id_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
        sa.UniqueConstraint("artifact_id", "ordinal", name=op.f("uq_evidence_artifact_id_ordinal")),
    )
    with op.batch_alter_table("evidence", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_evidence_incident_id_id"), ["incident_id", "id"], unique=False
        )
        batch_op.create_index("ix_evidence_node_role", ["node", "role", "at"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("evidence", schema=None) as batch_op:
        batch_op.drop_index("ix_evidence_node_role")
        batch_op.drop_index(batch_op.f("ix_evidence_incident_id_id"))

    op.drop_table("evidence")
    with op.batch_alter_table("digest", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_digest_artifact_id"))

    op.drop_table("digest")
    with op.batch_alter_table("delivery", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_delivery_subscription_id_created_at"))
        batch_op.drop_index(batch_op.f("ix_delivery_state_next_at"))
        batch_op.drop_index(batch_op.f("ix_delivery_incident_id"))

    op.drop_table("delivery")
    with op.batch_alter_table("artifact", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_artifact_upload_id"))
        batch_op.drop_index(batch_op.f("ix_artifact_incident_id_state"))
        batch_op.drop_index(batch_op.f("ix_artifact_incident_id_name_hash"))

    op.drop_table("artifact")
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_upload_incident_id"))
        batch_op.drop_index(batch_op.f("ix_upload_created_at"))

    op.drop_table("upload")
    with op.batch_alter_table("suspect", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_suspect_role_node_incident_id"))
        batch_op.drop_index(batch_op.f("ix_suspect_node_incident_id"))

    op.drop_table("suspect")
    with op.batch_alter_table("subscription", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_subscription_incident_id"))

    op.drop_table("subscription")
    op.drop_table("revision")
    with op.batch_alter_table("resolution", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_resolution_node"))

    op.drop_table("resolution")
    with op.batch_alter_table("work", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_work_state_updated_at"))
        batch_op.drop_index(batch_op.f("ix_work_state_not_before"))
        batch_op.drop_index(batch_op.f("ix_work_state_lease_until"))
        batch_op.drop_index(batch_op.f("ix_work_state_kind_turn_not_before"))

    op.drop_table("work")
    with op.batch_alter_table("incident", schema=None) as batch_op:
        batch_op.drop_index("uq_incident_job_fk_key", postgresql_where=sa.text("key IS NOT NULL"))
        batch_op.drop_index(batch_op.f("ix_incident_state_created_at_id"))
        batch_op.drop_index(batch_op.f("ix_incident_settled_at"))
        batch_op.drop_index(batch_op.f("ix_incident_created_at_id"))
        batch_op.drop_index(batch_op.f("ix_incident_category_created_at_id"))

    op.drop_table("incident")
    with op.batch_alter_table("node", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_node_name"))

    op.drop_table("node")
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_job_job_id"))

    op.drop_table("job")
    op.drop_table("cluster")
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_audit_at"))

    op.drop_table("audit")
    op.drop_table("api_key")
