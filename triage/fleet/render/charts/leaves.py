"""The leaf-switch map: each leaf a box, its nodes by standing, accused leaves outlined.

What is accused node after node may be the switch above them. The map shows it in one look:
one bad square is a node, a box of them is a switch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from triage.domain.natural import natural
from triage.fleet.render.charts.chart import framed, rect, text
from triage.fleet.render.charts.grades import CELL, MEANING, WORDS, cells_of, swatch
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import count
from triage.render.pictures.markup import Html, constant, el, join
from triage.render.words.clean import cut, one_line
from triage.render.words.ranges import condense_names

__all__ = ["MAX_NODES", "Leaf", "as_svg", "as_table", "leaves_of", "legend"]

MAX_NODES: Final = 20_000
"""More squares than this are no picture."""
_WIDTH: Final = 1000
_PITCH: Final = CELL + 1
_PAD, _HEAD, _GAP = 6, 18, 12
_NAME_CELLS: Final = 16
_MAX_WIDE: Final = 16
_MAX_TIP, _MAX_NAMES = 300, 120
MAX_ROWS: Final = 40

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One switch: its nodes as (name, grade) in order, and why it is accused, if it is.

    ``name`` is None for the nodes that no inventory puts anywhere.
    """

    name: str | None
    nodes: tuple[tuple[str, str], ...]
    accused: str | None = None

    def num(self, grade: str) -> int:
        """How many of its nodes are of this grade."""
        return sum(one == grade for _, one in self.nodes)


def leaves_of(standings: Row) -> tuple[Leaf, ...]:
    """The leaves of ``triage.standings/1`` by name; those of no leaf last.

    Where not all nodes are told the others stand without a name, by the counts of their leaf.
    Empty where no node has a leaf: then there is nothing to draw.
    """
    accused = {
        one["name"]: one["text"] for one in standings["parts"] if one["kind"] == "leaf_switch"
    }
    found: dict[str | None, list[tuple[str, str]]] = {
        one["leaf_switch"]: [] for one in standings["leaves"]
    }
    for one in standings["nodes"]:
        if one["leaf_switch"] in found:
            found[one["leaf_switch"]].append((one["node"], one["grade"]))
    for one in standings["leaves"]:
        told = found[one["leaf_switch"]]
        told.sort(key=_by_name)
        for grade, number in one["counts"].items():
            told += [("", grade)] * (number - sum(mine == grade for _, mine in told))
    order = sorted(found, key=lambda name: (name is None, natural(name or "")))
    return tuple(
        Leaf(name, tuple(found[name]), accused.get(name) if name else None) for name in order
    )


def _by_name(node: tuple[str, str]) -> tuple[tuple[int, int, str], ...]:
    return natural(node[0])


def as_svg(leaves: Sequence[Leaf]) -> Html:
    """The map; a sentence instead where it would hold too many squares."""
    total = sum(len(leaf.nodes) for leaf in leaves)
    if total > MAX_NODES:
        return el("p", None, f"{count(total, 'node')} are too many to draw; the table has them.")
    if not leaves:
        return constant("")
    most = max(len(leaf.nodes) for leaf in leaves)
    wide = min(_MAX_WIDE, max(4, -(-most // 4)))
    tall = [-(-len(leaf.nodes) // wide) for leaf in leaves]
    box = 2 * _PAD + wide * _PITCH
    across = max(1, (_WIDTH + _GAP) // (box + _GAP))
    drawn: list[Html] = []
    top = 2.0
    for first in range(0, len(leaves), across):
        height = max(tall[first : first + across]) * _PITCH + 2 * _PAD
        for place, leaf in enumerate(leaves[first : first + across]):
            drawn.append(_box(leaf, 2.0 + place * (box + _GAP), top, wide, (box, height)))
        top += height + _HEAD + _GAP
    named = sum(leaf.name is not None for leaf in leaves)
    outlined = sum(leaf.accused is not None for leaf in leaves)
    return framed(
        f"{count(total, 'node')} behind {count(named, 'leaf switch', 'leaf switches')}",
        f"{_by_grade(leaves)}. {count(outlined, 'box', 'boxes')} outlined: the switch is accused.",
        join(drawn),
        width=min(across, len(leaves)) * (box + _GAP) - _GAP + 4,
        height=top,
        name="leaves",
    )


def legend(leaves: Sequence[Leaf]) -> Html:
    """What the squares mean, and how many there are of each."""
    shown = [(grade, sum(leaf.num(grade) for leaf in leaves)) for grade in WORDS]
    items = (
        el("li", None, swatch(grade), f" {grade}: {MEANING[grade]} ({number:,})")
        for grade, number in shown
        if number
    )
    return el("ul", {"class": "keys"}, join(items))


def as_table(leaves: Sequence[Leaf]) -> Html:
    """The leaves that have something to say, as words: accused ones first."""
    told = [one for one in leaves if one.accused or one.num("lemon") or one.num("watch")]
    told.sort(key=lambda one: (one.accused is None, -one.num("lemon"), -one.num("watch")))
    rows = (
        (
            one.name or "no leaf known", f"{len(one.nodes):,}", f"{one.num('lemon'):,}",
            f"{one.num('watch'):,}", "itself accused" if one.accused else "", _names(one),
        )
        for one in told[:MAX_ROWS]
    )  # fmt: skip
    if not told:
        return el("p", None, "No leaf has a node that stands out.")
    head = ("Leaf switch", "#Nodes", "#Lemons", "#Watched", "Switch", "Which")
    return table("Leaves with nodes that stand out", head, rows, left_out=len(told) - MAX_ROWS)


def _box(leaf: Leaf, left: float, top: float, wide: int, size: tuple[int, int]) -> Html:
    corners: dict[str, list[tuple[float, float]]] = {}
    first = top + _HEAD + _PAD
    for place, (_, grade) in enumerate(leaf.nodes):
        row, column = divmod(place, wide)
        corner = (left + _PAD + column * _PITCH, first + row * _PITCH)
        corners.setdefault(grade, []).append(corner)
    name = cut(one_line(leaf.name or "no leaf known"), _NAME_CELLS)
    accused = " accused" if leaf.accused else ""
    return el(
        "g",
        None,
        el("title", None, _tip(leaf)),
        text(left + 1, top + 12, f"{name}{' !' if accused else ''}", accused.strip()),
        rect(left, top + _HEAD, size[0], size[1], f"leaf{accused}"),
        cells_of(corners),
    )


def _tip(leaf: Leaf) -> str:
    words = [f"{leaf.name or 'no leaf known'}: {count(len(leaf.nodes), 'node')}"]
    words += [names for names in (_names(leaf), leaf.accused) if names]
    return cut(one_line("; ".join(words)), _MAX_TIP)


def _names(leaf: Leaf) -> str:
    """``lemon n3, n7; watch n9``."""
    parts = []
    for grade in ("lemon", "watch"):
        names = [name for name, one in leaf.nodes if one == grade and name]
        if names:
            parts.append(f"{grade} {condense_names(map(one_line, names), max_chars=_MAX_NAMES)}")
    return "; ".join(parts)


def _by_grade(leaves: Sequence[Leaf]) -> str:
    counted = [(grade, sum(leaf.num(grade) for leaf in leaves)) for grade in WORDS]
    return ", ".join(f"{number:,} {grade}" for grade, number in counted if number)
