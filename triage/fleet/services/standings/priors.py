"""Node standings as analyses use them: a prior for each node of an incident."""

from collections.abc import Mapping
from typing import Any, Final

import structlog

from triage.domain.job import job_from_dict
from triage.domain.standing import FleetStandings, Prior
from triage.fleet.services.standings.cache import kept_standings
from triage.fleet.standings.hardware import with_sentences
from triage.fleet.standings.words import prior_of
from triage.services.context import Context

log = structlog.get_logger(__name__)
# Of an incident whose nodes nobody listed: the worst of the fleet.
MAX_PRIORS: Final = 256


def priors_for(ctx: Context, facts: Mapping[str, Any], cluster: str | None) -> dict[str, Prior]:
    """What the first answer of an incident is told of its nodes; ``facts`` are the incident's.

    Where our own record fails there are none: an answer does not wait for history.
    """
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
        prior = with_sentences(prior_of(one, found.window_days), one.hardware)
        if prior is None or len(priors) == MAX_PRIORS:
            continue
        priors[one.node] = prior
    return priors
