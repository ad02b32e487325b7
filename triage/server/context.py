"""The context of a process of this service, with the fleet and with acting on nodes."""

from contextlib import suppress

from triage.actions.services.acts import ActingOnNodes
from triage.fleet.services.hooks import RecordedFleet
from triage.queue.wakeups import Wakeups
from triage.sandbox.confinement.kernel import keep_private
from triage.services.context import Context
from triage.services.context import open_context as open_alone
from triage.settings import Settings


def open_context(settings: Settings, wakeups: Wakeups | None = None) -> Context:
    """The context of these settings; nothing is connected yet. From now on no process but root's
    looks into this one, which knows the secrets of the service.

    Raises :class:`UsageError` for settings that cannot be.
    """
    with suppress(OSError):  # where the system has no such thing, all goes on without
        keep_private()
    return open_alone(settings, wakeups, RecordedFleet(), ActingOnNodes())
