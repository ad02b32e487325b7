"""Candidates of a test plan out of the answer to an incident: its suspects, and the job's nodes.

A suspect weighs as its score says. The nodes that nothing points at hold a tenth of the
suspicion together: the bad node may be one that left no trace, and they are the partners of the
suspects in a test.
"""

from collections.abc import Iterable
from typing import Final

from triage.domain.category import Role
from triage.domain.hosts import is_host_name
from triage.domain.natural import natural
from triage.domain.report import Answer

__all__ = ["candidates_of"]

UNNAMED_SHARE: Final = 0.1


def candidates_of(answer: Answer, nodes: Iterable[str] = ()) -> dict[str, float]:
    """The weight of each node, by name: ``nodes`` and those that the answer knows of.

    Suspects count as ``culprit`` or ``possible``. All weigh the same where there is none. Names
    that are no plain host names are left out.
    """
    suspects: dict[str, float] = {}
    for suspect in answer.suspects:
        if suspect.node and suspect.role is not Role.AFFECTED:
            suspects[suspect.node] = max(suspect.score, suspects.get(suspect.node, 0.0))
    named = {*nodes, *suspects, *answer.victims.nodes}
    named |= {rank.node for rank in answer.ranks if rank.node}
    names = sorted(filter(is_host_name, named), key=natural)
    others = [name for name in names if name not in suspects]
    total = sum(suspects.values())
    if not total:
        return dict.fromkeys(names, 1.0)
    each = total * UNNAMED_SHARE / (1 - UNNAMED_SHARE) / max(1, len(others))
    return {name: suspects.get(name, each) for name in names}
