"""Node standings as analyses use them: worked out now and then, and the same for all revisions.

The standings of a cluster are kept in memory and worked out anew when they are older than
``TRIAGE_STANDINGS_EVERY_S``. What an incident's first answer was told of its nodes is written
among its facts, so that the same files give the same answer, whatever the fleet learns later.
"""

import threading
import time
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

import structlog

from triage.domain.fleet import job_from_dict
from triage.domain.standing import FleetStandings, Prior, prior_from
from triage.reliability.standing_words import prior_of
from triage.services.context import Context
from triage.services.fleet import standings_of
from triage.store.database import Database
from triage.store.incidents import STANDINGS

__all__ = ["kept_standings", "priors_among", "standings_for"]

log = structlog.get_logger(__name__)
# Of an incident whose nodes nobody listed: the worst of the fleet.
MAX_PRIORS: Final = 256

Kept = dict[str | None, tuple[float, FleetStandings]]
_kept: WeakKeyDictionary[Database, Kept] = WeakKeyDictionary()
_turn = threading.Lock()


def kept_standings(ctx: Context, cluster: str | None = None) -> FleetStandings:
    """The standings of a cluster, or of all; worked out anew when they have become too old."""
    with _turn:  # whoever comes meanwhile has use for the same ones
        of_database = _kept.setdefault(ctx.database, {})
        found = of_database.get(cluster)
        if found is None or time.monotonic() - found[0] > ctx.settings.standings_every_s:
            began = time.monotonic()
            found = (began, standings_of(ctx, cluster=cluster))
            of_database[cluster] = found
            log.info(
                "standings worked out", cluster=cluster, num_nodes=len(found[1].nodes),
                seconds=round(time.monotonic() - began, 3),
            )  # fmt: skip
        return found[1]


def standings_for(
    ctx: Context, facts: Mapping[str, Any], cluster: str | None, *, answered: bool
) -> dict[str, Prior]:
    """What an analysis is told of the nodes of an incident; ``facts`` are the incident's.

    ``answered`` says that it has an answer: then what that was told, and nothing where it was
    told nothing, since by now the incident is part of the record itself. Where our own record
    fails there are none: an answer does not wait for history.
    """
    stored = facts.get(STANDINGS)
    if isinstance(stored, dict):
        told = {node: prior_from(one) for node, one in stored.items() if isinstance(one, dict)}
        return {node: prior for node, prior in told.items() if prior is not None}
    if answered:
        return {}
    job = job_from_dict(dict(facts))
    try:
        found = kept_standings(ctx, cluster or None)
    except Exception:
        log.exception("no standings for an analysis", cluster=cluster)
        return {}
    return priors_among(found, {*job.nodes, *job.rank_to_node.values()})


def priors_among(found: FleetStandings, nodes: set[str]) -> dict[str, Prior]:
    """The priors of these nodes; where none are listed, of the worst of the fleet."""
    priors: dict[str, Prior] = {}
    for one in found.nodes:  # the worst come first
        if nodes and one.node not in nodes:
            continue
        prior = prior_of(one, found.window_days)
        if prior is None or len(priors) == MAX_PRIORS:
            continue
        priors[one.node] = prior
    return priors
