"""Node standings as analyses use them: the same for all revisions of an incident's answer.

What an incident's first answer was told of its nodes is written among its facts, so that the
same files give the same answer, whatever the fleet learns later.
"""

from collections.abc import Mapping
from typing import Any, Final

import structlog

from triage.domain.fleet import job_from_dict
from triage.domain.standing import FleetStandings, Prior, prior_from
from triage.reliability.standing_words import prior_of
from triage.services.context import Context
from triage.services.fleet.standings_cache import kept_standings
from triage.store.incidents import STANDINGS

__all__ = ["priors_among", "standings_for"]

log = structlog.get_logger(__name__)
# Of an incident whose nodes nobody listed: the worst of the fleet.
MAX_PRIORS: Final = 256


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
