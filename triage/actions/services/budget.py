"""How many nodes may be out because of us: within an hour, and at one time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from triage.actions.schedulers.interface import PoolView
from triage.actions.store import actions
from triage.settings import Settings
from triage.store.database.clock import clock_doubt

__all__ = ["Budget", "budget_of"]

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Budget:
    """What an act of the service's own may cost.

    ``pool`` is how the scheduler shows the cluster just before, and ``num_acted`` how many acts
    this process has done within an hour by a clock that nobody sets.
    """

    settings: Settings
    pool: PoolView
    num_acted: int = 0

    @property
    def most_out(self) -> int:
        """Nodes that may be out at one time; one always may."""
        return max(1, int(self.settings.act_pool_share * self.pool.size))


def budget_of(
    session: Session, budget: Budget, cluster_id: int, node: str, now: datetime
) -> str | None:
    """Why this node, too, is beyond the budget, in a clause; None where it is not.

    Counted while the session holds the cluster: by the rows, which know what is about to be done,
    and by the scheduler, which knows what services with other databases have done.
    """
    settings = budget.settings
    doubt = clock_doubt(session, now)
    if doubt is not None:
        return f"the clock is in doubt ({doubt.partition(';')[0]}), so a person decides"
    since, out_of_ours = now - HOUR, actions.nodes_out(session, cluster_id, now)
    acted = actions.nodes_since(session, cluster_id, since)
    elsewhere = budget.pool.out_since(since) - out_of_ours - set(acted) - {node}
    within_hour = max(len(acted), budget.num_acted) + len(elsewhere)
    if within_hour >= settings.act_nodes_per_hour:
        return (
            f"{within_hour} nodes were taken out within an hour, and TRIAGE_ACT_NODES_PER_HOUR is"
            f" {settings.act_nodes_per_hour}"
        )
    named = (out_of_ours | set(budget.pool.out)) - {node}
    out = max(len(named), budget.pool.num_out)
    if out >= budget.most_out:
        return (
            f"{out} of {budget.pool.size} nodes are out because of triage, and"
            f" TRIAGE_ACT_POOL_SHARE allows {budget.most_out}"
        )
    return None
