"""What a simulated fleet is to be like, and the published figures that this follows."""

from dataclasses import dataclass, field
from math import log
from typing import Final, Self

from triage.domain.llama3 import LLAMA3_HOURS, LLAMA3_NODES, LLAMA3_UNEXPECTED

LLAMA3_PER_NODE_DAY: Final = LLAMA3_UNEXPECTED / (LLAMA3_NODES * LLAMA3_HOURS / 24)
"""Unexpected interruptions per node-day of the Llama 3 run, of all causes: 0.003789."""


LLM_FAULTS_PER_NODE_DAY: Final = 584 / (400 * 349)
"""Faults per node-day of 400 servers that train language models: 0.004183 (InfiniteHBD trace)."""


def lemon_factor(before: float = 0.14, after: float = 0.04, share: float = 0.013) -> float:
    """How many times as often as other nodes a lemon fails, from what its removal changed.

    Meta saw the failure rate of jobs of 512 GPUs and more fall from 14 % to 4 % when about
    1.2 % of the nodes were taken out ("Revisiting Reliability in Large-Scale ML Research
    Clusters", HPCA 2025). A run fails with 1 - exp(-hazard), so its hazard fell by
    ln(1 - before) / ln(1 - after) = 3.69; with a share s of lemons that fail m times as often
    it was (1 - s) + s m times that of the rest. It takes every failure that went away for a
    lemon's, so it is an upper bound.
    """
    ratio = log(1 - before) / log(1 - after)
    return (ratio - (1 - share)) / share


@dataclass(frozen=True, slots=True)
class FaultModel:
    """How nodes of a fleet like a real one fail and are repaired.

    The defaults give the figures of 400 servers over 349 days (InfiniteHBD trace): after 33 % of
    the returns the node fails again within 7 days, after 45 % within 30.

    ``again_times``: how many times as often as there a repair does not take; 0: each one takes.
    ``burst_share``: part of the faults that come in bursts, of ``burst_size`` nodes on average.
    ``batches`` (name, share of the racks, how many times as often their GPUs fail) and
    ``cage_times`` (GPUs of the top cage against those of the bottom one) are those of Titan (SC'20)
    and act on GPU faults alone. ``front_ends`` nodes run no jobs and fail ``front_end_times`` as
    often as others, of software and storage. ``maintenance_days``: how far apart planned
    maintenances of 400 nodes are; 0: there are none. ``moved_share``: of the GPUs that were rightly
    swapped out, those that come to another node with their fault. ``renamed_share``: of the
    repairs, those that exchange the names of two nodes. ``action_share``: repairs of which the
    record says what was done. ``shortages`` a year and 400 nodes: of the faults of some weeks
    ``waiting_share`` wait for one delivery, so that their nodes come back on one day. ``drift``:
    how many times as often faults begin on the last day as on the first.
    """

    again_times: float = 1.0
    burst_share: float = 0.19
    burst_size: float = 10.5
    batches: tuple[tuple[str, float, float], ...] = (("old", 0.5, 14.7), ("new", 0.5, 1.0))
    cage_times: float = 2.4
    front_ends: int = 1
    front_end_times: float = 8.0
    maintenance_days: float = 20.0
    moved_share: float = 0.25
    renamed_share: float = 0.02
    action_share: float = 0.85
    shortages: float = 2.0
    waiting_share: float = 0.28
    drift: float = 1.0


@dataclass(frozen=True, slots=True)
class FleetWish:
    """What a fleet is to be like. Rates are per node-day in runs, of the fleet as a whole.

    ``wrong_first`` is how often triage puts an innocent node of the run first, ``tie`` how often
    it names the culprit beside others alike, ``blames_for_software`` how often it accuses a
    node for a cause that no node has. A bad leaf switch interrupts a run on all its nodes
    ``leaf_per_day`` times a day; half of the time triage takes nodes behind it for the cause.
    Healthy nodes fail alike, or with ``healthy_shape`` at rates of that Gamma shape. Of several
    ``generations`` (name, share of the nodes, how many times as often they fail) each is a block.

    With ``faults`` the fleet is like a real one: see :meth:`like_real`.
    """

    nodes: int = 2048
    days: float = 60.0
    seed: int = 0
    lemon_share: float = 0.013
    lemon_factor: float = field(default_factory=lemon_factor)
    rate: float = LLAMA3_PER_NODE_DAY
    flagship: float = 0.5
    leaf_size: int = 32
    bad_leaves: int = 1
    leaf_per_day: float = 0.1
    wrong_first: float = 0.05
    tie: float = 0.08
    blames_for_software: float = 0.05
    drained: float = 0.5
    drained_days: float = 0.5
    healthy_shape: float | None = None
    generations: tuple[tuple[str, float, float], ...] = ()
    faults: FaultModel | None = None

    @classmethod
    def like_real(
        cls,
        nodes: int = 400,
        days: float = 349.0,
        seed: int = 0,
        *,
        faults: FaultModel | None = None,
        lemon_share: float = 0.035,
        lemon_factor: float = 5.6,
        rate: float = LLM_FAULTS_PER_NODE_DAY,
    ) -> Self:
        """A fleet whose faults come in bursts, last long and are not repaired at once.

        ``rate`` is of node faults per node-day, whether a run was on the node or not, and with
        those that follow a repair that did not take. Lemons fail ``lemon_factor`` times as
        often, give or take a third. ``dataclasses.replace`` changes what has no parameter here;
        ``healthy_shape`` holds as ever, ``generations`` and ``drained`` say nothing.

        >>> wish = FleetWish.like_real(nodes=64, days=30, seed=7, faults=FaultModel(drift=2.0))
        >>> wish.nodes, wish.faults.drift, wish.faults.again_times
        (64, 2.0, 1.0)
        """
        return cls(
            nodes=nodes,
            days=days,
            seed=seed,
            lemon_share=lemon_share,
            lemon_factor=lemon_factor,
            rate=rate,
            bad_leaves=0,
            faults=FaultModel() if faults is None else faults,
        )
