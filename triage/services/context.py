"""What every use-case needs: settings, database, blobs, wake-ups; what fleet and acting add."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triage.queue.wakeups import Wakeups
from triage.services.quotas import Quotas
from triage.settings import Settings
from triage.store.blobs.interface import Blobs
from triage.store.database.engine import Database
from triage.store.database.group_commit import GroupCommit

if TYPE_CHECKING:
    from triage.actions.services.acts import ActingOnNodes
    from triage.fleet.services.hooks import RecordedFleet


@dataclass(frozen=True, slots=True)
class ShownActs:
    """Acts that wait for a person, the newest others, and why nothing is done (cluster, why).

    The pages know nothing of the actuator: an act is a value with the names of a row of
    ``GET /v1/actions``, and ``at``, when it came to stand as it does.
    """

    waiting: Sequence[Any] = ()
    newest: Sequence[Any] = ()
    halted: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """One process's way to everything outside it; shared between its threads.

    ``fleet`` and ``acting`` are what those two do beside an incident, whose services know no more
    of them; :func:`triage.server.context.open_context` puts all together.
    """

    settings: Settings
    database: Database
    blobs: Blobs
    wakeups: Wakeups
    commit: GroupCommit
    quotas: Quotas
    fleet: "RecordedFleet"
    acting: "ActingOnNodes"

    def close(self) -> None:
        """End threads and connections."""
        self.commit.close()
        self.database.close()
