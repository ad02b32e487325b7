"""How much each token has brought."""

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import Upload


def sum_bytes_since(session: Session, since: datetime) -> dict[str, int]:
    """Stored bytes of uploads since then, by the id of the token; "" where there was none."""
    rows = session.execute(
        select(Upload.key_id, func.sum(Upload.stored_bytes))
        .where(Upload.created_at >= since)
        .group_by(Upload.key_id)
    )
    return {key_id or "": int(total) for key_id, total in rows}
