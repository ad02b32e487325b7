"""How the standings of nodes look: a colour, a sign and a word each, never the colour alone."""

from collections.abc import Mapping, Sequence
from typing import Final

from triage.render.pictures.markup import Html, constant, el, join

CELL: Final = 12
"""The side of a node's square."""
WORDS: Final = ("lemon", "watch", "normal", "golden", "unknown")
"""The worst first."""
MEANING: Final[Mapping[str, str]] = {
    "lemon": "fails, or is to fail, far more than its peers",
    "watch": "suspect, not proven",
    "normal": "no more than chance",
    "golden": "a long clean record, and a stress check passed",
    "unknown": "no run names it: no exposure, no standing",
}
# Strokes in a square of CELL, from its corner.
_SIGNS: Final[Mapping[str, str]] = {
    "lemon": "m3 3l6 6m0 -6l-6 6",
    "watch": "m6 2.5v4m0 3v.2",
    "golden": "m2.5 6.5l2.5 2.5l4.5 -6",
    "unknown": "m3.5 6h5",
}

_Corner = tuple[float, float]


def cells_of(corners: Mapping[str, Sequence[_Corner]]) -> Html:
    """Squares by grade, one path each with its signs over it: thousands stay small."""
    side = CELL - 1
    drawn: list[Html] = []
    for grade in WORDS:
        places = corners.get(grade, ())
        if not places:
            continue
        squares = "".join(f"M{x:g} {y:g}h{side}v{side}h-{side}z" for x, y in places)
        drawn.append(el("path", {"class": grade, "d": squares}))
        sign = _SIGNS.get(grade)
        if sign:
            marks = "".join(f"M{x - 0.5:g} {y - 0.5:g}{sign}" for x, y in places)
            drawn.append(el("path", {"class": f"cross {grade}-sign", "d": marks}))
    return join(drawn)


def _swatch(grade: str) -> Html:
    """The square of a grade, for legends and tables; a screen reader passes it over."""
    return el(
        "svg",
        {"class": "chart", "width": CELL + 2, "height": CELL + 2, "aria-hidden": "true"},
        cells_of({grade: ((1.5, 1.5),)}),
    )


def known_grade(grade: str) -> str:
    """The grade, or ``unknown`` for a word that is none."""
    return grade if grade in WORDS else "unknown"


def legend(counts: Mapping[str, int]) -> Html:
    """The grades that occur, what they mean, and how many nodes are of each."""
    items = (
        el("li", None, _swatch(grade), f" {grade}: {MEANING[grade]} ({counts[grade]:,})")
        for grade in WORDS
        if counts.get(grade)
    )
    return el("ul", {"class": "keys"}, join(items))


def grade_word(grade: str) -> Html:
    """The word with its square."""
    known = known_grade(grade)
    return el("span", {"class": constant(f"grade {known}")}, _swatch(known), known)
