"""The context of a process of this service, with the fleet."""

from triage.fleet.services.hooks import RecordedFleet
from triage.queue.wakeups import Wakeups
from triage.services.context import Context
from triage.services.context import open_context as open_without_fleet
from triage.settings import Settings

__all__ = ["open_context"]


def open_context(settings: Settings, wakeups: Wakeups | None = None) -> Context:
    """The context of these settings; nothing is connected yet.

    Raises :class:`UsageError` for settings that cannot be.
    """
    return open_without_fleet(settings, wakeups, RecordedFleet())
