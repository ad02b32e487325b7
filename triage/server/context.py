"""The context of a process of this service, with the fleet and with acting on nodes."""

from contextlib import suppress

from triage.actions.services.acts import ActingOnNodes
from triage.fleet.services.hooks import RecordedFleet
from triage.parsers.redact.own import own_patterns
from triage.queue.wakeups import NoWakeups, Wakeups
from triage.sandbox.confinement.seccomp import keep_private
from triage.services.context import Context
from triage.services.quotas import Quotas
from triage.services.signatures.in_force import find_signatures_in_force
from triage.settings import Settings
from triage.store.blobs.interface import open_blobs
from triage.store.database.engine import open_database
from triage.store.database.group_commit import GroupCommit


def open_context(settings: Settings, wakeups: Wakeups | None = None) -> Context:
    """The context of these settings; nothing is connected yet. From now on no process but root's
    looks into this one, which knows the secrets of the service.

    A commit that makes work due wakes a worker through ``wakeups``.

    Raises :class:`UsageError` for settings that cannot be.
    """
    with suppress(OSError):  # where the system has no such thing, all goes on without
        keep_private()
    own_patterns(settings.redact_patterns)  # what is wrong with them is told at the start
    find_signatures_in_force(settings.signatures)
    database = open_database(settings)
    blobs = open_blobs(
        settings.blob_url or None,
        settings.data_dir,
        environ=settings.blob_options,
        min_free_bytes=settings.min_free_bytes,
    )
    wakeups = wakeups or NoWakeups()
    database.wake = wakeups.notify
    commit, quotas = GroupCommit(database), Quotas(settings, database)
    fleet, acting = RecordedFleet(), ActingOnNodes()
    return Context(settings, database, blobs, wakeups, commit, quotas, fleet, acting)
