"""Results of groups out of the checks of nodes that came in since the round began."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from triage.domain.health import Outcome
from triage.fleet.isolation.plan import GroupOutcome, IsolationPlan, PlannedGroup
from triage.fleet.store import checks as health

__all__ = ["outcomes_by_checks"]

NODES_AT_ONCE = 500


def outcomes_by_checks(
    session: Session,
    plan: IsolationPlan,
    groups: Sequence[PlannedGroup],
    check: str,
    since: datetime,
    cluster: str,
) -> dict[str, GroupOutcome]:
    """The outcome of each group whose nodes ran ``check`` since then.

    A group failed where a node of it failed, and passed where all of them passed; it has no
    outcome yet where a node has not reported.
    """
    names = sorted({plan.nodes[node] for group in groups for node in group.nodes})
    of: dict[str, set[Outcome]] = defaultdict(set)
    for start in range(0, len(names), NODES_AT_ONCE):
        part = names[start : start + NODES_AT_ONCE]
        for row in health.newest(session, cluster=cluster, nodes=part):
            if row.check == check and row.at >= since:
                of[row.node].add(row.outcome)
    found: dict[str, GroupOutcome] = {}
    for group in groups:
        results = [of[plan.nodes[node]] for node in group.nodes]
        if any(Outcome.FAIL in outcomes for outcomes in results):
            found[group.id] = GroupOutcome.FAIL
        elif all(Outcome.PASS in outcomes for outcomes in results):
            found[group.id] = GroupOutcome.PASS
    return found
