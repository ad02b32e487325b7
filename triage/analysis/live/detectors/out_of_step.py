"""What RAS shows of ranks that it does not list, or that nothing tells apart: nobody is named.

*Out of step*: the ranks of a communicator launched different numbers, and who is behind is not
listed: the text of RAS lists small groups alone, so that where most are behind, it lists those that
are ahead, or nobody. *Set-up*: most ranks of a communicator have not finished setting it up, and
whoever is late there cannot be told from who waits.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.levels import normalize_operation
from triage.analysis.live.communicators.rounds import Round
from triage.analysis.live.jobs import find_standing_round
from triage.domain.category import Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator
from triage.domain.live.look import Tool
from triage.domain.report import Because

_MAX_REASONS: Final = 3
_ASK: Final = "ask NCCL RAS for JSON, or verbosely, which lists every rank"
_AGAIN: Final = ", and once more 30 s later: one look alone may be of a job that runs"
_SET_UP: Final = "look at what each rank does there (stacks), and at the bootstrap network"
# What a claim is worth: counters the same in two looks, or in a job that stands; and one look.
_OUT_OF_STEP: Final = (0.45, 0.35)
_IN_SET_UP: Final = (0.5, 0.3)


class OutOfStep:
    """One finding on nobody, of all communicators whose lowest ranks are not listed.

    Silent: where counters moved between two looks, and where whoever is behind is listed.
    """

    name = "ras.out_of_step"

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The finding."""
        found = find_standing_round(case, Tool.RAS)
        if found is None:
            return
        rows = [
            (one, text)
            for one in found.communicators
            for name in sorted(one.unlisted)
            if (text := _spread_text(one, name)) is not None
        ]
        if rows:
            frozen = found.frozen or case.stopped
            summary = f"ranks of one communicator are out of step: {rows[0][1]}"
            advice = _ASK if frozen else _ASK + _AGAIN
            kind, worth = VerdictKind.DESYNC, _OUT_OF_STEP
            yield _make_finding(self.name, found, rows, summary, advice, kind, worth, frozen)


class SetUp:
    """One finding on nobody. Silent: where fewer than half of a communicator's ranks set it up."""

    name = "ras.set_up"

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The finding on the largest communicator that is being set up."""
        found = find_standing_round(case, Tool.RAS)
        every = [] if found is None else found.communicators
        stuck = [one for one in every if 2 * _count_in_set_up(one) >= one.size > 1]
        if found is not None and stuck:
            worst = max(stuck, key=lambda one: (_count_in_set_up(one), one.hash))
            count, frozen = _count_in_set_up(worst), found.frozen or case.stopped
            text = f"{count} of {worst.size} ranks have not finished the set-up of a communicator"
            rows, kind = [(worst, text)], VerdictKind.HANG
            yield _make_finding(self.name, found, rows, text, _SET_UP, kind, _IN_SET_UP, frozen)


def _make_finding(
    name: str,
    found: Round,
    rows: Sequence[tuple[Communicator, str]],
    summary: str,
    advice: str,
    kind: VerdictKind,
    worth: tuple[float, float],
    frozen: bool,
) -> Finding:
    """A claim on nobody, with a clause on each communicator of ``rows``."""
    return make_look_claim(
        detector=name,
        of_a_moment=not frozen,
        kind=kind if frozen else VerdictKind.INCONCLUSIVE,
        category=Category.NCCL_TIMEOUT,
        strength=worth[0] if frozen else worth[1],
        summary=summary,
        advice=advice,
        because=tuple(
            Because(
                name, f"communicator {one.hash:016x}: {text}", found.looks[0].artifact, one.line
            )
            for one, text in rows[:_MAX_REASONS]
        ),
    )


def _count_in_set_up(communicator: Communicator) -> int:
    """How many ranks of a communicator are in its set-up."""
    count = sum(one.status == "init" for one in communicator.ranks)
    rest = communicator.rest
    if rest is not None and rest.status == "init":
        count += communicator.size - len(communicator.ranks)
    return count


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
