"""Next steps: the sentences and commands that go out beside a verdict.

They are made where the answer is at hand, next to the analysis, and kept as text.
"""

from dataclasses import dataclass

from triage.domain.counts import count
from triage.domain.report import Answer, Coverage
from triage.render.words.answer import describe_symptom
from triage.render.words.next_step import (
    cordon_commands,
    describe_next_step,
    list_inspection_commands,
)


@dataclass(frozen=True, slots=True)
class NextSteps:
    """``next_step`` in a sentence or two, ``actions`` to paste, what the answer rests on, and what
    was ``seen_first`` where no cause is known.
    """

    next_step: str
    actions: tuple[str, ...]
    coverage_text: str
    seen_first: tuple[str, ...] = ()


def collect_next_steps(answer: Answer) -> NextSteps:
    """The sentences of ``answer``.

    Commands that take nodes out where nodes are cordoned, else commands that only look.
    """
    return NextSteps(
        describe_next_step(answer),
        cordon_commands(answer) or list_inspection_commands(answer),
        describe_coverage(answer.coverage),
        tuple(map(describe_symptom, answer.symptoms)),
    )


def describe_coverage(coverage: Coverage) -> str:
    """``63 of 64 dumps, 120,331 lines of logs; 1 file unreadable``."""
    read = []
    if coverage.dumps_read or coverage.ranks_expected:
        of = f" of {coverage.ranks_expected:,}" if coverage.ranks_expected else ""
        read.append(f"{coverage.dumps_read:,}{of} dumps")
    if coverage.lines_read:
        read.append(f"{coverage.lines_read:,} lines of logs")
    parts = [", ".join(read) or "nothing was read"]
    for files, word in ((coverage.partial, "partial"), (coverage.unreadable, "unreadable")):
        if files:
            parts.append(f"{count(len(files), 'file')} {word}")
    return "; ".join(parts)
