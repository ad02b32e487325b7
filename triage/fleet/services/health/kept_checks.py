"""Checks that need an action, kept for a moment: pages that stay open ask for them again and again.

Working them out reads two years of outages and the convictions of all nodes.
"""

import threading
import time
from collections import OrderedDict
from typing import Final
from weakref import WeakKeyDictionary

from triage.clock import utc_now
from triage.fleet.services.health.due_list import CheckRow, open_checks
from triage.services.context import Context
from triage.store.database.engine import Database

_FRESH_S: Final = 30.0
_MOST_CLUSTERS: Final = 32

_Kept = OrderedDict[str | None, tuple[float, list[CheckRow]]]

_kept: WeakKeyDictionary[Database, _Kept] = WeakKeyDictionary()
_working_out = threading.Lock()


def kept_open_checks(ctx: Context, cluster: str | None = None) -> list[CheckRow]:
    """The rows of :func:`open_checks`, of a cluster or of all, at most 30 seconds old."""
    with _working_out:  # whoever comes meanwhile has use for the same ones
        kept = _kept.setdefault(ctx.database, OrderedDict())
        at, rows = kept.get(cluster, (0.0, []))
        if cluster not in kept or time.monotonic() - at > _FRESH_S:
            with ctx.database.reading() as session:
                rows = open_checks(session, utc_now(), cluster=cluster)
            kept[cluster] = (time.monotonic(), rows)
            while len(kept) > _MOST_CLUSTERS:
                kept.popitem(last=False)
        return rows
