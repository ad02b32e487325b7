"""The leaf-switch map: each leaf a box, its nodes by standing, accused leaves outlined.

What is accused node after node may be the switch above them. The map shows it in one look:
one bad square is a node, a box of them is a switch.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.counts import count
from triage.domain.hosts import make_natural_key
from triage.fleet.render.charts.chart import draw_rect, draw_words, make_chart_svg
from triage.fleet.render.charts.table import Table, make_table
from triage.fleet.render.words import Wire
from triage.render.pictures.markup import Html, join, make_element, trust_markup
from triage.render.words.clean import cut, format_one_line
from triage.render.words.ranges import condense_names

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


def draw_grade_cells(corners: Mapping[str, Sequence[_Corner]]) -> Html:
    """Squares by grade, one path each with its signs over it: thousands stay small."""
    side = CELL - 1
    drawn: list[Html] = []
    for grade in WORDS:
        places = corners.get(grade, ())
        if not places:
            continue
        squares = "".join(f"M{x:g} {y:g}h{side}v{side}h-{side}z" for x, y in places)
        drawn.append(make_element("path", {"class": grade, "d": squares}))
        sign = _SIGNS.get(grade)
        if sign:
            marks = "".join(f"M{x - 0.5:g} {y - 0.5:g}{sign}" for x, y in places)
            drawn.append(make_element("path", {"class": f"cross {grade}-sign", "d": marks}))
    return join(drawn)


def draw_swatch(grade: str) -> Html:
    """The square of a grade, for legends and tables; a screen reader passes it over."""
    return make_element(
        "svg",
        {"class": "chart", "width": CELL + 2, "height": CELL + 2, "aria-hidden": "true"},
        draw_grade_cells({grade: ((1.5, 1.5),)}),
    )


def normalize_grade(grade: str) -> str:
    """The grade, or ``unknown`` for a word that is none."""
    return grade if grade in WORDS else "unknown"


MAX_NODES: Final = 20_000
"""More squares than this are no picture."""
_WIDTH: Final = 1000
_PITCH: Final = CELL + 1
_PAD, _HEAD, _GAP = 6, 18, 12
_NAME_CELLS: Final = 16
_MAX_WIDE: Final = 16
_MAX_TIP, _MAX_NAMES = 300, 120
_MAX_ROWS: Final = 40


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
        return sum(of_node == grade for _, of_node in self.nodes)

    @property
    def label(self) -> str:
        """Its name, or that no inventory gives one."""
        return self.name or "no leaf known"


def group_by_leaf(standings: Wire) -> tuple[Leaf, ...]:
    """The leaves of ``triage.standings/1`` by name; those of no leaf last.

    Nodes that ``standings`` does not list have no name; the counts of their leaf give them.
    Empty where no node has a leaf: then there is nothing to draw.
    """
    parts = standings["parts"]
    accused = {part["name"]: part["text"] for part in parts if part["kind"] == "leaf_switch"}
    nodes: dict[str | None, list[tuple[str, str]]] = {
        leaf["leaf_switch"]: [] for leaf in standings["leaves"]
    }
    for row in standings["nodes"]:
        if row["leaf_switch"] in nodes:
            nodes[row["leaf_switch"]].append((row["node"], row["grade"]))
    for leaf in standings["leaves"]:
        of_leaf = nodes[leaf["leaf_switch"]]
        of_leaf.sort(key=lambda node: make_natural_key(node[0]))
        listed = Counter(grade for _, grade in of_leaf)
        for grade, number in leaf["counts"].items():
            of_leaf += [("", grade)] * (number - listed[grade])
    order = sorted(nodes, key=lambda name: (name is None, make_natural_key(name or "")))
    return tuple(
        Leaf(name, tuple(nodes[name]), accused.get(name) if name else None) for name in order
    )


def as_svg(leaves: Sequence[Leaf]) -> Html:
    """The map; a sentence instead where it would hold too many squares."""
    total = sum(len(leaf.nodes) for leaf in leaves)
    if total > MAX_NODES:
        return make_element(
            "p", None, f"{count(total, 'node')} are too many to draw; the table has them."
        )
    if not leaves:
        return trust_markup("")
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
            drawn.append(_draw_box(leaf, 2.0 + place * (box + _GAP), top, wide, (box, height)))
        top += height + _HEAD + _GAP
    named = sum(leaf.name is not None for leaf in leaves)
    outlined = sum(leaf.accused is not None for leaf in leaves)
    return make_chart_svg(
        f"{count(total, 'node')} behind {count(named, 'leaf switch', 'leaf switches')}",
        f"{_format_grade_counts(leaves)}. {count(outlined, 'box', 'boxes')} outlined: the"
        f" switch is accused.",
        join(drawn),
        width=min(across, len(leaves)) * (box + _GAP) - _GAP + 4,
        height=top,
        name="leaves",
    )


def count_grades(leaves: Sequence[Leaf]) -> Counter[str]:
    """How many nodes are of each grade."""
    return Counter(grade for leaf in leaves for _, grade in leaf.nodes)


def build_table(leaves: Sequence[Leaf]) -> Table | None:
    """The leaves that stand out, or have nodes that do; accused ones first."""
    shown = [leaf for leaf in leaves if leaf.accused or leaf.num("lemon") or leaf.num("watch")]
    shown.sort(key=lambda leaf: (leaf.accused is None, -leaf.num("lemon"), -leaf.num("watch")))
    rows = (
        (
            leaf.label,
            f"{len(leaf.nodes):,}",
            f"{leaf.num('lemon'):,}",
            f"{leaf.num('watch'):,}",
            "itself accused" if leaf.accused else "",
            _list_names(leaf),
        )
        for leaf in shown[:_MAX_ROWS]
    )
    head = ("Leaf switch", "#Nodes", "#Lemons", "#Watched", "Switch", "Which")
    return make_table(
        "Leaves with nodes that stand out", head, rows, left_out=len(shown) - _MAX_ROWS
    )


def _draw_box(leaf: Leaf, left: float, top: float, wide: int, size: tuple[int, int]) -> Html:
    corners: dict[str, list[tuple[float, float]]] = {}
    first = top + _HEAD + _PAD
    for place, (_, grade) in enumerate(leaf.nodes):
        row, column = divmod(place, wide)
        corner = (left + _PAD + column * _PITCH, first + row * _PITCH)
        corners.setdefault(grade, []).append(corner)
    name = cut(format_one_line(leaf.label), _NAME_CELLS)
    accused = " accused" if leaf.accused else ""
    return make_element(
        "g",
        None,
        make_element("title", None, _compose_tip(leaf)),
        draw_words(left + 1, top + 12, f"{name}{' !' if accused else ''}", accused.strip()),
        draw_rect(left, top + _HEAD, size[0], size[1], f"leaf{accused}"),
        draw_grade_cells(corners),
    )


def _compose_tip(leaf: Leaf) -> str:
    words = [f"{leaf.label}: {count(len(leaf.nodes), 'node')}"]
    words += [names for names in (_list_names(leaf), leaf.accused) if names]
    return cut(format_one_line("; ".join(words)), _MAX_TIP)


def _list_names(leaf: Leaf) -> str:
    """``lemon n3, n7; watch n9``."""
    parts = []
    for grade in ("lemon", "watch"):
        names = [name for name, of_node in leaf.nodes if of_node == grade and name]
        if names:
            parts.append(
                f"{grade} {condense_names(map(format_one_line, names), max_chars=_MAX_NAMES)}"
            )
    return "; ".join(parts)


def _format_grade_counts(leaves: Sequence[Leaf]) -> str:
    counts = count_grades(leaves)
    return ", ".join(f"{counts[grade]:,} {grade}" for grade in WORDS if counts[grade])
