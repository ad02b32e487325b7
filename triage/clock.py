"""The time of the service's processes, in one place, so that a test can set it."""

from datetime import UTC, datetime

__all__ = ["utc_now"]


def read() -> datetime:
    """The machine's clock."""
    return datetime.now(UTC)


def utc_now() -> datetime:
    """Now, as an aware time in UTC."""
    return read()
