"""Tables to plan by: what spares cost and save."""

import numpy as np

from triage.fleet.render.tables import tabulate_costs
from triage.statistics.away.methods import Law, compute_spares_costs
from triage.statistics.away.steps import Away, cut_outages


def drawn(seen: Away, spares: int, gpus_per_node: int | None = None) -> str:
    rows = compute_spares_costs(seen, Law(seen.share), spares, gpus_per_node=gpus_per_node)
    return str(tabulate_costs([row.to_dict() for row in rows]))


def test_costs_have_gpu_hours_only_where_a_node_is_known_to_have_gpus() -> None:
    seen = cut_outages(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 10.0)

    assert "GPU-hours short" not in drawn(seen, 2)
    assert "1,080" in drawn(seen, 2)
    assert "GPU-hours short" in drawn(seen, 2, 8)
    assert "8,640" in drawn(seen, 2, 8)


def test_no_spare_needs_no_table() -> None:
    assert drawn(cut_outages(np.empty(0), np.empty(0), 10.0), 0) == "None"
