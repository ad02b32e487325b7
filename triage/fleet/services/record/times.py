"""Times of rows as the columns of a record have them."""

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["ns"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def ns(at: datetime) -> int:
    """Nanoseconds since the epoch."""
    return (at - EPOCH) // MICROSECOND * 1000
