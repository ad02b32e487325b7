"""The detectors' claims join the hypotheses that can account for them.

A claim names a rank that the others wait for. What failed on its node, or on its
GPU, accounts for it; where nothing did, the claim is a hypothesis of its own.
"""

from collections.abc import Sequence
from typing import Final

from triage.analysis.hypothesis import Hypothesis, Seats, sure
from triage.domain.category import Category
from triage.domain.finding import Finding

__all__ = ["join_findings"]


def join_findings(
    found: list[Hypothesis], findings: Sequence[Finding], seats: Seats
) -> list[Hypothesis]:
    """Each claim to the hypotheses of its node that account for it, else as one of its own."""
    for finding in findings:
        for rank in finding.ranks or (-1,):
            node = seats.node_of(rank) if rank >= 0 else None
            fitting = [
                one
                for one in found
                if one.rows
                and finding.can_be_due_to(one.category)
                and (rank < 0 or at_same_place(one, node, rank, seats))
            ]
            for one in fitting:
                one.findings.append(finding)
                if rank >= 0 and not one.shared:
                    # The rank that peers wait for stands before those that lines name.
                    named = one.ranks if one.gpus else ()
                    one.ranks = tuple(dict.fromkeys((*named, rank, *one.ranks)))
            if not any(sure(one) for one in fitting):
                bare = next(
                    (
                        one
                        for one in found
                        if not one.rows and one.node == node and one.category is finding.category
                        and (node is not None or one.ranks == ((rank,) if rank >= 0 else ()))
                    ),
                    None,
                )  # fmt: skip
                if bare is None:
                    bare = Hypothesis(finding.category, node, shared=rank < 0)
                    found.append(bare)
                bare.findings.append(finding)
                if rank >= 0:
                    bare.ranks = tuple(dict.fromkeys((*bare.ranks, rank)))
    return found


# Parts that belong to one GPU: an error on another one is not why this rank is waited for.
OF_ONE_GPU: Final = frozenset(
    {
        Category.GPU, Category.GPU_HBM, Category.GPU_SRAM, Category.GPU_GSP, Category.GPU_THERMAL,
        Category.SDC, Category.SOFTWARE_USER, Category.SOFTWARE_FRAMEWORK, Category.GPU_OOM,
    }
)  # fmt: skip


def at_same_place(one: Hypothesis, node: str | None, rank: int, seats: Seats) -> bool:
    """Whether a claim on ``rank`` can be about what ``one`` is about."""
    if one.shared:
        return (one.leaf is None and not one.nodes) or node in one.nodes
    if node is None or one.node is None:
        return rank in one.ranks
    if one.node != node:
        return False
    if one.category not in OF_ONE_GPU:
        return True
    if rank in one.ranks:
        return True
    gpu = seats.gpu_of(rank)
    nobody_named = all(row.rank is None for row in one.rows)
    return nobody_named and (gpu is None or not one.gpus or gpu in one.gpus)
