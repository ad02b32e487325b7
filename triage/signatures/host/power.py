"""Power and cooling of a node where a log speaks of them: supplies, brakes, fans, backplanes.

Faults of these parts live in the management controller; what kernels, vendors' agents
and copied event lists say of them is read here in its plain wording.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.severity import NOISE, WARN
from triage.signatures.signature import Reading

# Said of the same part a while later.
_OVER = compile_re(
    r"\b(?:restored|recovered|deassert\w*|returned to normal|is back|cleared)\b", re.I
)
_LIGHT = compile_re(r"redundan|predict|degraded|mismatch", re.I)


def supply(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A lost supply is an error, lost redundancy a warning, and either may have ended."""
    rest = match.string[match.start() :]
    if _OVER.search(rest):
        return Reading(
            role=NOISE, category=Category.NONE, fields={"severity": WARN, "cleared": "yes"}
        )
    if _LIGHT.search(match[0]):
        return Reading(weak=True, fields={"severity": WARN})
    return Reading()


SIGNATURES = load(__name__)
