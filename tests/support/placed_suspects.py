"""No answer may contradict the seats in the same report: node and ranks of a suspect agree."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from triage.analysis.joining import verdict
from triage.analysis.joining.belief import Belief
from triage.analysis.placement.identity import JobPlacement
from triage.analysis.placement.topology import Placement
from triage.domain.report import Suspect


def contradictions(suspects: Sequence[Suspect], placement: Placement) -> list[str]:
    """Suspects whose ranks are said to sit on another node than theirs."""
    return [
        f"{suspect.node} with rank {rank}, which sits on {home}"
        for suspect in suspects
        for rank in suspect.ranks
        if suspect.node is not None
        and (home := placement.node_of(rank)) is not None
        and home != suspect.node
    ]


@contextmanager
def suspects_held_to_placement() -> Iterator[None]:
    """Within it, an answer that contradicts who sits where is an error."""
    made = verdict.build_suspects

    def checked(named: Sequence[Belief], placement: Placement) -> tuple[Suspect, ...]:
        suspects = made(named, placement)
        if isinstance(placement, JobPlacement):
            wrong = contradictions(suspects, placement)
            assert not wrong, f"a suspect contradicts the seats: {'; '.join(wrong)}"
        return suspects

    verdict.build_suspects = checked
    try:
        yield
    finally:
        verdict.build_suspects = made
