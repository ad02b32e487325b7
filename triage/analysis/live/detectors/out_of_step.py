"""Out of step: a communicator's ranks launched different numbers, and who is behind is not listed.

The text of RAS lists small groups alone: where most are behind, it lists those that are ahead, or
nobody. That they differ is said all the same, with what to ask next.
"""

from collections.abc import Iterator
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.communicators.rounds import RoundMovement
from triage.analysis.live.detectors.operations import normalize_operation
from triage.analysis.live.jobs import own_round
from triage.domain.category import ANY_CAUSE, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator
from triage.domain.live.look import Tool
from triage.domain.report import Because

_FROZEN: Final = 0.45
_ONE_LOOK: Final = 0.35
_MAX_REASONS: Final = 3
_ASK: Final = "ask NCCL RAS for JSON, or verbosely, which lists every rank"
_AGAIN: Final = ", and once more 30 s later: one look alone may be of a job that runs"


class OutOfStep:
    """One finding on nobody, of all communicators whose lowest ranks are not listed.

    Silent: where counters moved between two looks, and where whoever is behind is listed.
    """

    name = "ras.out_of_step"

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The finding."""
        found = own_round(case, Tool.RAS)
        if found is None or found.movement is RoundMovement.MOVED:
            return
        texts = [
            (one, text)
            for one in found.communicators
            for name in sorted(one.unlisted)
            if (text := _spread_text(one, name)) is not None
        ]
        if not texts:
            return
        frozen = found.movement is RoundMovement.FROZEN or case.stopped
        artifact = found.looks[0].artifact
        yield Finding(
            detector=self.name,
            of_looks=True,
            of_a_moment=not frozen,
            explained_by=ANY_CAUSE,
            kind=VerdictKind.DESYNC if frozen else VerdictKind.INCONCLUSIVE,
            category=Category.NCCL_TIMEOUT,
            ranks=(),
            strength=_FROZEN if frozen else _ONE_LOOK,
            role=Role.POSSIBLE,
            summary=f"ranks of one communicator are out of step: {texts[0][1]}",
            advice=_ASK if frozen else _ASK + _AGAIN,
            because=tuple(
                Because(self.name, f"communicator {one.hash:016x}: {text}", artifact, one.line)
                for one, text in texts[:_MAX_REASONS]
            ),
        )


def _spread_text(one: Communicator, name: str) -> str | None:
    """``12 ranks launched 3121 AllReduce, 4 launched 3122``; None where those that launched
    the fewest are listed, or all launched the same.
    """
    levels = dict(one.unlisted[name])
    least = min(levels)
    for member in one.ranks:
        count = (member.launched or {}).get(name)
        if count is not None:
            levels[count] = levels.get(count, 0) + 1
    if len(levels) < 2 or min(levels) < least:
        return None
    first, *others = sorted(levels)
    rest = ", ".join(f"{levels[count]} launched {count}" for count in others)
    return f"{levels[first]} ranks launched {first} {normalize_operation(name)}, {rest}"
