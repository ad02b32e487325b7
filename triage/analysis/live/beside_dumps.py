"""Claims of looks beside those of the dumps: two sources of one hang.

Dumps say what a rank issued, in order; a look says where it stands at one moment. Where both name
a rank they are two witnesses. Where the dumps prove another one, the look may be of another moment.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.joining.claims import convicts, proves
from triage.analysis.waiting.case import Case
from triage.domain.category import Role
from triage.domain.finding import Finding

__all__ = ["beside_dumps"]

# What a look is worth against a record that proves another place.
AGAINST_PROOF: Final = 0.4


def beside_dumps(
    of_looks: Sequence[Finding], of_dumps: Sequence[Finding], case: Case | None
) -> list[Finding]:
    """``of_looks``, as far as the dumps leave them standing; ``case`` is that of the dumps."""
    if case is None:
        return list(of_looks)
    named = {rank for claim in of_dumps if convicts(claim) for rank in claim.ranks}
    proven = {rank for claim in of_dumps if proves(claim) for rank in claim.ranks}
    kept = []
    for claim in of_looks:
        if not (claim.ranks or claim.nodes):
            if not named:
                kept.append(claim)
        elif proven and claim.ranks and proven.isdisjoint(claim.ranks):
            weak = min(claim.strength, AGAINST_PROOF)
            kept.append(replace(claim, strength=weak, role=Role.POSSIBLE))
        else:
            kept.append(claim)
    return kept
