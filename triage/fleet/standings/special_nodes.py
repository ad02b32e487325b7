"""Special nodes: front ends, login nodes, test stands, which do other work than the rest.

They fail of what runs on them, and more often than a node that computes, so they stand out for
what they do. They are set aside: no lemons, and no part of what others are held against. Known by
the role or the name that an inventory gives them, or by their faults: many times as many as
others have, and of software, operators and networks rather than of parts.
"""

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from triage.fleet.record.columns import Flags, FleetRecord, Floats, Ints
from triage.fleet.standings.history import FaultHistory
from triage.statistics.false_discovery import adjusted

__all__ = ["by_inventory", "by_its_faults"]

# How names of such nodes begin, before a number or a separator: login1, head-0, fe2, mgmt.
NAMES: Final = re.compile(
    r"(?:login|logon|head|fe|front-?end|front|mgmt|manage|management|admin|master|gateway|gw"
    r"|bastion|service|slurmctl\w*|ctl|controller|test|testbed|staging|dev|submit|visu?|dtn)"
    r"(?:node)?(?:[-_.]?\d+)?(?:[.].*)?",
    re.IGNORECASE,
)
FEW: Final = 0.1
# Fewer faults say nothing of a mix of causes.
LEAST_FAULTS: Final = 8
TIMES: Final = 12.0
FALSE_DISCOVERY_RATE: Final = 0.01


def by_inventory(record: FleetRecord) -> dict[int, str]:
    """Why each special node is one, by its role or its name."""
    roles = record.role or (None,) * len(record.nodes)
    named = {node for node, name in enumerate(record.nodes) if NAMES.fullmatch(name)}
    if len(named) > FEW * len(record.nodes):
        named = set()  # a name that so many have is no other work
    return {
        node: "does other work than the rest: "
        + (f"its role is {role}" if role else "its name says so")
        for node, role in enumerate(roles)
        if role or node in named
    }


def by_its_faults(history: FaultHistory, aside: Mapping[int, str]) -> dict[int, str]:
    """Why each node is special whose faults are many, and of what runs on it.

    Nodes set ``aside`` already are no part of the rest. Each node is held against all others; of
    those found at most :data:`FALSE_DISCOVERY_RATE` are expected to be none.
    """
    counts = np.bincount(history.node, minlength=history.num_nodes).astype(np.float64)
    of_work: Floats = np.bincount(history.node, history.of_work, history.num_nodes).astype(
        np.float64
    )
    rest = np.ones(history.num_nodes, dtype=bool)
    rest[list(aside)] = False
    tested: Ints
    found: dict[int, str] = {}
    for _ in range(history.num_nodes):
        usual, others = usual_of(counts, of_work, rest)
        many = rest & (counts >= LEAST_FAULTS) & (counts >= TIMES * usual)
        tested = np.flatnonzero(many).astype(np.int64)
        if not len(tested) or not 0 < others < 1:
            break
        p = chance_of_work(of_work[tested], counts[tested], others)
        named = tested[adjusted(p) <= FALSE_DISCOVERY_RATE]
        if not len(named):
            break
        for node in named.tolist():
            found[node] = words_of(counts[node], of_work[node], usual, others)
        rest[named] = False
    return found


def chance_of_work(of_work: Floats, counts: Floats, others: float) -> Floats:
    """The binomial chance that so many of each node's faults, or more, are of its work."""
    # Of `scipy.stats` each process that works out standings would hold 50 MB.
    from scipy.special import betainc

    some = of_work > 0
    chance = np.ones(len(counts))
    chance[some] = betainc(of_work[some], counts[some] - of_work[some] + 1, others)
    return chance


def usual_of(counts: Floats, of_work: Floats, rest: Flags) -> tuple[float, float]:
    """Faults of a usual node, and the part of them that is of what runs on it."""
    total = float(counts[rest].sum())
    return total / max(int(rest.sum()), 1), float(of_work[rest].sum()) / max(total, 1.0)


def words_of(count: float, of_work: float, usual: float, others: float) -> str:
    return (
        f"does other work than the rest: {count:.0f} faults where a usual node has {usual:.1f},"
        f" {of_work / count:.0%} of them of software, operators and networks"
        f" (others: {others:.0%})"
    )
