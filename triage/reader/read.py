"""Lines that no signature knows, as evidence that needs another source.

The reader says which cause a line tells, in whatever words. Its rows can choose the part of a
place that is proved, and make a place possible; they convict nobody.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from triage.domain.category import SOFTWARE, Category
from triage.domain.evidence import (
    LEARNED,
    SURE_READING,
    UNREAD,
    Blame,
    Evidence,
    EvidenceRole,
    Kind,
    Trait,
)
from triage.domain.patterns import compile_re
from triage.errors import UnreadableModel
from triage.reader.corpus import CAUSES, HARMLESS, LABELS
from triage.reader.model import SHIPPED, LineModel, load_model
from triage.signatures.form import USUAL_KIND
from triage.signatures.host.ipmi_sel import find_place
from triage.signatures.registry import Match
from triage.signatures.signature import Reading, Scope, Signature

MODEL: Final = "TRIAGE_READER"
"""The variable of the environment that names a model of a team's own."""
# A line tells a cause where all causes together are this likely, and one of them this much; it
# tells none where what is no cause is this likely. Chosen on authors left out.
_LEAST_CAUSE: Final = 0.55
_LEAST_CATEGORY: Final = 0.35
_LEAST_NO_CAUSE: Final = 0.7
# What a signature takes for a failed part is a quotation where that is so likely: values, which
# the reader does not see, decide of readings of sensors.
_MOST_HARMLESS: Final = 0.85
# What corrects a pattern is to be likelier than not, by more than the reader is wrong of itself.
_LEAST_TELLING: Final = 0.6
_HARMLESS: Final = LABELS.index(HARMLESS)
# Another category is not excluded where it is this likely, and at most two are named.
_LEAST_OTHER: Final = 0.15
_MOST_OTHERS: Final = 2
# Shorter lines say too little.
_SHORTEST: Final = 16
_REMEMBERED: Final = 1 << 15
_GPU: Final = compile_re(
    r"(?P<gpu>\b(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{8}):[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)|$"
)
_KINDS: Final = {
    **USUAL_KIND,
    Category.GPU_HBM: Kind.GPU,
    Category.GPU_SRAM: Kind.GPU,
    Category.GPU_THERMAL: Kind.GPU,
    Category.SDC: Kind.NUMERICS,
    Category.CHASSIS: Kind.THERMAL,
    Category.SOFTWARE_USER: Kind.PYTHON,
    Category.SOFTWARE_FRAMEWORK: Kind.CUDA,
    Category.HOST_STALL: Kind.LOCKUP,
}
_SHARED: Final = frozenset({Category.STORAGE, Category.DEPENDENCY})
# What a process of the job says; a service of the node that says so has troubles of its own.
_OF_A_JOB: Final = SOFTWARE | {
    Category.DEPENDENCY,
    Category.NUMERICAL,
    Category.GPU_OOM,
    Category.COLLECTIVE_MISMATCH,
}


@dataclass(frozen=True, slots=True)
class LineReading:
    """What the reader takes a line for: the likeliest cause, or none, or that it cannot tell.

    ``score`` is how likely the category is; ``like`` names what prints the nearest of the lines
    that it has learned from; ``harmless`` is how likely it is that the line tells nothing. Where it
    cannot tell whether it is a cause, ``also`` and ``score`` are of the likeliest one if it is.
    """

    category: Category | None
    also: tuple[Category, ...] = ()
    score: float = 0.0
    like: str = ""
    is_unsure: bool = False
    harmless: float = 0.0

    @property
    def is_sure(self) -> bool:
        """Whether it is as good as a signature that needs another source."""
        return self.category is not None and self.score >= SURE_READING

    @property
    def is_telling(self) -> bool:
        """Whether it is likely enough to correct a pattern that takes any words for software's."""
        is_other = self.category is not None and self.category not in SOFTWARE
        return self.is_sure or (is_other and self.score >= _LEAST_TELLING)

    @property
    def is_harmless(self) -> bool:
        """Whether it rather speaks of a fault than reports one."""
        return self.harmless >= _MOST_HARMLESS


class CauseReader:
    """Reads lines by a model, and remembers what it has read: nodes print the same lines."""

    def __init__(self, model: LineModel) -> None:
        self.model = model
        self.known: dict[str, LineReading] = {}
        self.read(["loads what it needs, before a confined process may open no file"])

    def read(self, lines: Sequence[str]) -> list[LineReading]:
        """What each line tells."""
        known = self.known  # threads share it: each goes on with the one it has begun with
        fresh = [line for line in dict.fromkeys(lines) if line not in known]
        if len(known) + len(fresh) > _REMEMBERED:
            known = self.known = {}
            fresh = list(dict.fromkeys(lines))
        for line, row in zip(fresh, self.model.compute_probabilities(fresh), strict=True):
            known[line] = self._choose(line, row.tolist())
        return [known[line] for line in lines]

    def _choose(self, line: str, probabilities: Sequence[float]) -> LineReading:
        causes = probabilities[: len(CAUSES)]
        if len(line) < _SHORTEST or sum(causes) < 1 - _LEAST_NO_CAUSE:
            return LineReading(None, harmless=probabilities[_HARMLESS])
        order = sorted(range(len(causes)), key=lambda at: -causes[at])
        best = order[0]
        also = [Category(CAUSES[at]) for at in order[1:] if causes[at] >= _LEAST_OTHER]
        if sum(causes) < _LEAST_CAUSE or causes[best] < _LEAST_CATEGORY:
            return LineReading(
                None,
                (Category(CAUSES[best]), *also[:_MOST_OTHERS]),
                causes[best] / sum(causes),
                is_unsure=True,
                harmless=probabilities[_HARMLESS],
            )
        like = self.model.find_nearest(line, CAUSES[best])
        return LineReading(
            Category(CAUSES[best]),
            tuple(also[:_MOST_OTHERS]),
            causes[best],
            like,
            harmless=probabilities[_HARMLESS],
        )


@lru_cache(1)
def load_reader() -> CauseReader | None:
    """The model of this machine, None where its file cannot be used."""
    return None if find_reader_fault() else CauseReader(_load_once())


@lru_cache(1)
def find_reader_fault() -> str:
    """Why there is no reader, empty where there is one."""
    try:
        _load_once()
    except UnreadableModel as error:
        return f"lines that no signature knows were not read: {error}"
    return ""


@lru_cache(1)
def _load_once() -> LineModel:
    own = os.environ.get(MODEL)
    return load_model(Path(own) if own else SHIPPED)


def make_match(text: str, reading: LineReading) -> Match:
    """A reading in the form in which signatures say theirs."""
    found = _GPU.search(text)
    assert found is not None  # the pattern matches the end of any text
    if reading.category is None:
        guess = {"score": f"{reading.score:.2f}"} if reading.also else {}
        return Match(_make_signature(None), found, Reading(also=reading.also, fields=guess))
    # A list of a management controller says in columns of its own when, and of whom.
    fields = {"like": reading.like, "score": f"{reading.score:.2f}", **find_place(text)}
    return Match(
        _make_signature(reading.category), found, Reading(also=reading.also, fields=fields)
    )


def reread_row(row: Evidence, reading: LineReading) -> Evidence:
    """The row of a pattern that knows the form of an error, with the cause that its words tell."""
    category = reading.category
    assert category is not None
    also = dict.fromkeys((*reading.also, *filter(None, (row.category,)), *row.also))
    fields = {**row.fields, "like": reading.like, "score": f"{reading.score:.2f}"}
    blame = Blame.SHARED if category in _SHARED else row.blame
    return replace(row, category=category, also=tuple(also), fields=fields, blame=blame)


@lru_cache(len(Category))
def _make_signature(category: Category | None) -> Signature:
    """What all lines of a category have in common; of lines that nobody can place for None."""
    is_cause = category is not None
    return Signature(
        id=LEARNED if is_cause else UNREAD,
        kind=_KINDS.get(category, Kind.GPU) if category is not None else Kind.TEMPLATE,
        role=EvidenceRole.ROOT if is_cause else EvidenceRole.NOISE,
        literals=(),
        pattern=_GPU,
        source="the trained reader",
        matches=(),
        category=category,
        blame=Blame.SHARED if category in _SHARED else Blame.SELF,
        weak=True,
        scope=Scope.JOB if category in _OF_A_JOB else Scope.ANY,
        traits=frozenset({Trait.UNFAMILIAR}),
    )
