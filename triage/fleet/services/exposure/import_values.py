"""What a person says with an import: the zone of its times, its day zero, the nodes it may name."""

from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo

from triage.domain.hosts import expand
from triage.errors import UsageError


def zone_of(name: str) -> tzinfo:
    """A zone by its name. Raises :class:`UsageError` for one that is not known."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"{name[:80]!r} is no zone that is known here: try UTC or Europe/Berlin"
        ) from error


def day_of(text: str) -> datetime:
    """The day from which days are counted. Raises :class:`UsageError`."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError as error:
        raise UsageError(f"{text[:80]!r} is no day such as 2024-03-30") from error


def names_of(hosts: str) -> frozenset[str]:
    """The names of a host list. Raises :class:`UsageError`."""
    try:
        return frozenset(expand(",".join(hosts.split())))
    except ValueError as error:
        raise UsageError(f"nodes: {error}") from error
