"""Times of rows as the columns of a record have them."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def convert_to_epoch_ns(at: datetime) -> int:
    """Nanoseconds since the epoch."""
    return (at - _EPOCH) // _MICROSECOND * 1000
