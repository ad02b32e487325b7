"""GPUs whose UUIDs the labels of telemetry name: kept as stays, now and then.

Telemetry comes every minute and parts move within days, so a node whose GPUs are what they were
is written once in six hours.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final
from weakref import WeakKeyDictionary

from triage.domain.hardware import HardwareKind, make_part_identity
from triage.fleet.domain.exposure import PartSeen
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.parsers.telemetry.samples import GpuHomes
from triage.services.context import Context
from triage.store.database.engine import Database

_AGAIN: Final = timedelta(hours=6)
_MOST_NODES: Final = 50_000
_MOST_GPUS: Final = 72
_AT_ONCE: Final = 2_000

# A node by cluster and name; its GPUs and when they were last written.
_Kept = OrderedDict[tuple[str, str], tuple[frozenset[PartSeen], datetime]]


class _LatelyKept:
    """What this process has written lately of each database; safe among threads."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.kept: WeakKeyDictionary[Database, _Kept] = WeakKeyDictionary()

    def is_new(
        self, database: Database, node: tuple[str, str], gpus: frozenset[PartSeen], at: datetime
    ) -> bool:
        """Whether these are other GPUs than before, or it is time to say so again."""
        with self.turn:
            mine = self.kept.setdefault(database, OrderedDict())
            before = mine.get(node)
            if before is not None and before[0] == gpus and abs(at - before[1]) < _AGAIN:
                return False
            mine[node] = (gpus, at)
            mine.move_to_end(node)
            if len(mine) > _MOST_NODES:
                mine.popitem(last=False)
            return True


_lately = _LatelyKept()


def keep_gpus(
    ctx: Context,
    cluster: str,
    homes: GpuHomes,
    key_id: str | None,
    first_at: datetime,
    last_at: datetime,
    now: datetime,
) -> None:
    """Keep the GPUs of each node, seen from ``first_at`` to ``last_at``.

    A UUID that two nodes of one body have says nothing of when it was where, and is left out.
    """
    wanted: list[PartSeen] = []
    for node, gpus in _group_by_node(homes, cluster).items():
        if len(gpus) <= _MOST_GPUS and _lately.is_new(ctx.database, (cluster, node), gpus, last_at):
            wanted += gpus
    writer = ExposureWriter(now, key_id)
    for start in range(0, len(wanted), _AT_ONCE):
        rows = [
            PartSeen(one.node, one.part, first_at, last_at, cluster)
            for one in sorted(wanted[start : start + _AT_ONCE], key=lambda one: one.part.identity)
        ]
        with ctx.database.writing() as session:
            writer.keep(session, rows, now)


def _group_by_node(homes: GpuHomes, cluster: str) -> Mapping[str, frozenset[PartSeen]]:
    found: dict[str, set[PartSeen]] = {}
    for uuid, home in homes.of_uuid.items():
        part = None if home is None else make_part_identity(HardwareKind.GPU, uuid, home[1])
        if home is not None and home[0] and part is not None:
            found.setdefault(home[0], set()).add(PartSeen(home[0], part, cluster=cluster))
    return {node: frozenset(gpus) for node, gpus in found.items()}
