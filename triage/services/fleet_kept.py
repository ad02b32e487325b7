"""Standings that are read page by page: worked out for the first page, kept for those after it.

So a list does not change under its reader, and costs once what one look at the fleet costs.
"""

import threading
import time
from collections import OrderedDict
from datetime import datetime
from typing import Final
from weakref import WeakKeyDictionary

from triage.domain.standing import FleetStandings
from triage.services.context import Context
from triage.services.fleet import standings_of
from triage.store.database import Database

__all__ = ["listed_standings"]

# Whoever reads on after a longer pause gets them worked out anew, as of the same time.
KEEP_S: Final = 300.0
MOST: Final = 8

Key = tuple[datetime, str | None]
Kept = OrderedDict[Key, tuple[float, FleetStandings]]
_kept: WeakKeyDictionary[Database, Kept] = WeakKeyDictionary()
_turn = threading.Lock()


def listed_standings(
    ctx: Context, until: datetime, cluster: str | None, *, following: bool
) -> FleetStandings:
    """The standings as of ``until``; ``following`` asks for those that a page before was of."""
    key = (until, cluster)
    if following:
        with _turn:
            at, found = _kept.get(ctx.database, Kept()).get(key, (0.0, None))
        if found is not None and time.monotonic() - at < KEEP_S:
            return found
    found = standings_of(ctx, until=until, cluster=cluster)
    with _turn:
        of_database = _kept.setdefault(ctx.database, Kept())
        of_database[key] = (time.monotonic(), found)
        of_database.move_to_end(key)
        while len(of_database) > MOST:
            of_database.popitem(last=False)
    return found
