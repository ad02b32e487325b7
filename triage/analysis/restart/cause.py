"""What the verdict rests on, as far as the next start asks for it."""

from typing import Final

from triage.analysis.joining.join import Ranking
from triage.analysis.restart.decide import StopCause

# Lines of one cause; those about the stop come first.
_MAX_ROWS: Final = 8


def stop_cause(ranking: Ranking) -> StopCause:
    """The lines of the best belief in the verdict's category; none where there is no such one."""
    category = ranking.decision.verdict.category
    causes = (belief.hypothesis for belief in ranking.beliefs)
    cause = next((one for one in causes if one.category is category), None)
    by_number = ranking.decision.by_number
    if cause is None:
        return StopCause(by_number=by_number)
    signatures = tuple(dict.fromkeys(row.signature for row in cause.rows[:_MAX_ROWS]))
    return StopCause(signatures, cause.in_no_node, by_number)
