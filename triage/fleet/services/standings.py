"""Standings that are asked for again and again: worked out once, and kept in memory for a while.

Working them out reads the record of 224 days. Pages and analyses want those of now
(:func:`get_kept_standings`); a list that is read page by page wants those that its first page was
of, so that it does not change under its reader (:func:`get_listed_standings`).
"""

import time
from datetime import datetime
from typing import Final

import structlog

from triage.domain.standing import FleetStandings
from triage.fleet.services.answers import look_at_standings
from triage.services.context import Context
from triage.services.kept import KeptValues

log = structlog.get_logger(__name__)
# Whoever reads on after a longer pause gets them worked out anew, as of the same time.
_LISTED_S: Final = 300.0
# How many of each kind are kept. A list may be of the whole fleet, a few MB; those of now are
# one for each cluster.
_MOST_LISTED: Final = 8
_MOST_OF_NOW: Final = 32

# By the cluster (None: all of them), and those of a time by its end too.
_of_now: KeptValues[str | None, FleetStandings] = KeptValues(_MOST_OF_NOW)
_listed: KeptValues[tuple[datetime, str | None], FleetStandings] = KeptValues(_MOST_LISTED)


def get_kept_standings(ctx: Context, cluster: str | None = None) -> FleetStandings:
    """The standings of now, of a cluster or of all.

    Worked out anew when they are older than ``TRIAGE_STANDINGS_EVERY_S``.
    """

    def make() -> FleetStandings:
        began = time.monotonic()
        found = look_at_standings(ctx, cluster=cluster)
        took, size = round(time.monotonic() - began, 3), len(found.nodes)
        log.info("standings worked out", cluster=cluster, num_nodes=size, seconds=took)
        return found

    return _of_now.find_or_make(
        ctx.database, cluster, make, within_s=ctx.settings.standings_every_s
    )


def get_listed_standings(
    ctx: Context, until: datetime, cluster: str | None, *, following: bool
) -> FleetStandings:
    """The standings as of ``until``; ``following`` asks for those that a page before was of."""
    look = (until, cluster)
    found = _listed.find(ctx.database, look, within_s=_LISTED_S) if following else None
    if found is None:
        found = look_at_standings(ctx, until=until, cluster=cluster)
        _listed.keep(ctx.database, look, found)
    return found
