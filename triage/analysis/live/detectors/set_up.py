"""Set-up: a communicator that most of its ranks have not finished setting up.

Whoever is late there cannot be told from who waits: nobody is named.
"""

from collections.abc import Iterator
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.communicators.rounds import RoundMovement
from triage.analysis.live.jobs import own_round
from triage.domain.category import ANY_CAUSE, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator
from triage.domain.live.look import Tool
from triage.domain.report import Because

_FROZEN: Final = 0.5
_ONE_LOOK: Final = 0.3


class SetUp:
    """One finding on nobody. Silent: where fewer than half of a communicator's ranks set it up."""

    name = "ras.set_up"

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The finding on the largest communicator that is being set up."""
        found = own_round(case, Tool.RAS)
        if found is None or found.movement is RoundMovement.MOVED:
            return
        stuck = [one for one in found.communicators if 2 * _count_in_set_up(one) >= one.size > 1]
        if not stuck:
            return
        worst = max(stuck, key=lambda one: (_count_in_set_up(one), one.hash))
        frozen = found.movement is RoundMovement.FROZEN or case.stopped
        count = _count_in_set_up(worst)
        text = f"{count} of {worst.size} ranks have not finished the set-up of a communicator"
        yield Finding(
            detector=self.name,
            of_looks=True,
            of_a_moment=not frozen,
            explained_by=ANY_CAUSE,
            kind=VerdictKind.HANG if frozen else VerdictKind.INCONCLUSIVE,
            category=Category.NCCL_TIMEOUT,
            ranks=(),
            strength=_FROZEN if frozen else _ONE_LOOK,
            role=Role.POSSIBLE,
            summary=text,
            advice="look at what each rank does there (stacks), and at the bootstrap network",
            because=(
                Because(
                    self.name,
                    f"communicator {worst.hash:016x}: {text}",
                    found.looks[0].artifact,
                    worst.line,
                ),
            ),
        )


def _count_in_set_up(communicator: Communicator) -> int:
    """How many ranks of a communicator are in its set-up."""
    count = sum(one.status == "init" for one in communicator.ranks)
    rest = communicator.rest
    if rest is not None and rest.status == "init":
        count += communicator.size - len(communicator.ranks)
    return count
