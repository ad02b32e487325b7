"""Graph: the wait-for graph as inline SVG, and the same as a list.

Boxes are ranks that wait at the same place; arrows mean "waits for". A culprit has cut
corners, a thick border and its word, so that it stands out without colours too.
"""

from typing import Any

from triage.domain.report import WaitEdge, WaitNode, Waits
from triage.render.pictures.layout import BOX_HEIGHT, BOX_WIDTH, Placed, place
from triage.render.pictures.markup import Html, draw
from triage.render.words.clean import format_one_line
from triage.render.words.ranges import condense

MAX_BOXES = 60
# Beyond this many arrows their numbers would lie on each other; the list has them.
_MAX_LABELLED = 24
_CORNER = 10
_LABEL_CELLS, _DETAIL_CELLS = 25, 30

_KIND_WORD = {"culprit": "CULPRIT", "possible": "POSSIBLE", "no_dump": "NO DUMP"}
_KIND_ORDER = ("culprit", "possible", "no_dump")


def select_boxes(waits: Waits) -> tuple[tuple[WaitNode, ...], int]:
    """The boxes to draw, at most ``MAX_BOXES``, and how many are left out in all."""
    if len(waits.nodes) <= MAX_BOXES:
        return waits.nodes, waits.omitted
    first = sorted(waits.nodes, key=lambda node: node.kind not in _KIND_ORDER)
    kept = {node.key for node in first[:MAX_BOXES]}
    shown = tuple(node for node in waits.nodes if node.key in kept)
    return shown, waits.omitted + len(waits.nodes) - len(shown)


def as_svg(waits: Waits) -> Html:
    """The picture; an empty text when there is nothing to draw."""
    nodes, _ = select_boxes(waits)
    if not nodes:
        return Html()
    placed = place([node.key for node in nodes], waits.edges)
    boxes = [_describe_box(node, placed.corners[node.key]) for node in nodes]
    arrows = []
    for edge in waits.edges:
        if _is_drawn(edge, placed):
            path, middle = compute_curve(edge, placed)
            words, num_ranks = _format_num_ranks(edge), edge.num_ranks
            arrow = {"path": path, "middle": middle, "words": words, "num_ranks": num_ranks}
            arrows.append(arrow)
    return draw("graph", placed.width, placed.height, boxes, arrows, _MAX_LABELLED)


def as_list(waits: Waits) -> Html:
    """Every box and arrow of the picture as text."""
    nodes, _ = select_boxes(waits)
    names = {node.key: _name(node) for node in nodes}
    lines = [
        f"{names[edge.source]}: {_format_num_ranks(edge)} for {names[edge.target]}"
        for edge in waits.edges
        if edge.source in names and edge.target in names
    ]
    sources = {edge.source for edge in waits.edges if edge.target in names}
    lines += [f"{names[n.key]}: waits for nobody" for n in nodes if n.key not in sources]
    return draw("twin", lines)


def _format_num_ranks(edge: WaitEdge) -> str:
    return "1 rank waits" if edge.num_ranks == 1 else f"{edge.num_ranks:,} ranks wait"


def _name(node: WaitNode) -> str:
    word = _KIND_WORD.get(node.kind)
    parts = [part for part in (node.label, node.detail) if part]
    return f"{f'{word} ' if word else ''}{describe_box_ranks(node, 60)} ({', '.join(parts)})"


def describe_box_ranks(node: WaitNode, max_chars: int) -> str:
    """``rank 3``, ``8 ranks: 0-3, ...``: the list of ranks in about ``max_chars``."""
    if not node.ranks:
        return "no rank"
    if len(node.ranks) == 1:
        return f"rank {node.ranks[0]}"
    which, cut_off, _ = condense(node.ranks, max_chars=max_chars).partition(" ... and ")
    return f"{len(node.ranks):,} ranks: {which}{', ...' if cut_off else ''}"


def _is_drawn(edge: WaitEdge, placed: Placed) -> bool:
    return (
        edge.source in placed.corners
        and edge.target in placed.corners
        and edge.source != edge.target
    )


def _describe_box(node: WaitNode, corner: tuple[int, int]) -> dict[str, Any]:
    """What the template needs of a box; its lines are (class, way down, whether bold, text)."""
    x, y = corner
    kind = node.kind if node.kind in _KIND_WORD else "collective"
    word = _KIND_WORD.get(kind)
    ranks = f"{word} {describe_box_ranks(node, 14)}" if word else describe_box_ranks(node, 18)
    return {
        "kind": kind,
        "name": _name(node),
        "outline": _draw_outline(x, y, cut_corners=kind in ("culprit", "possible")),
        "x": x,
        "y": y,
        "lines": (
            ("label", 20, True, format_one_line(node.label, _LABEL_CELLS)),
            ("detail", 36, False, format_one_line(node.detail, _DETAIL_CELLS)),
            ("ranks", 52, word is not None, format_one_line(ranks, _DETAIL_CELLS)),
        ),
    }


def _draw_outline(x: int, y: int, *, cut_corners: bool) -> str:
    c, w, h = _CORNER, BOX_WIDTH - 2 * _CORNER, BOX_HEIGHT - 2 * _CORNER
    if cut_corners:
        return f"M{x + c} {y}h{w}l{c} {c}v{h}l-{c} {c}h-{w}l-{c} -{c}v-{h}z"
    r = 6
    w, h = BOX_WIDTH - 2 * r, BOX_HEIGHT - 2 * r
    arc = f"a{r} {r} 0 0 1"
    return (
        f"M{x + r} {y}h{w}{arc} {r} {r}v{h}{arc} -{r} {r}h-{w}{arc} -{r} -{r}v-{h}{arc} {r} -{r}z"
    )


def compute_curve(edge: WaitEdge, placed: Placed) -> tuple[str, tuple[int, int]]:
    """Path of an arrow, in SVG's words, and the middle of it."""
    (ax, ay), (bx, by) = placed.corners[edge.source], placed.corners[edge.target]
    if placed.upward:
        start, end = (ax + BOX_WIDTH // 2, ay), (bx + BOX_WIDTH // 2, by + BOX_HEIGHT)
        forward, bend, lane = by < ay, (0, -1), (0, BOX_HEIGHT)
    else:
        start, end = (ax, ay + BOX_HEIGHT // 2), (bx + BOX_WIDTH, by + BOX_HEIGHT // 2)
        forward, bend, lane = bx < ax, (-1, 0), (BOX_WIDTH, 0)
    if not forward:
        return _compute_detour(edge, placed)
    stops = [start]
    for x, y in placed.lanes.get((edge.source, edge.target), ()):
        stops += [(x + lane[0], y + lane[1]), (x, y)]
    stops.append(end)
    d, middle = _compute_bend(stops[0], stops[1], bend)
    for leave, enter in zip(stops[2::2], stops[3::2], strict=True):
        # Straight through the lane, then bent to the next layer.
        d += f"L{leave[0]} {leave[1]}{_compute_bend(leave, enter, bend)[0]}"
    return f"M{start[0]} {start[1]}{d}", middle


def _compute_bend(
    start: tuple[int, int], end: tuple[int, int], bend: tuple[int, int]
) -> tuple[str, tuple[int, int]]:
    """From layer to layer: it leaves and enters along the direction of the layers."""
    reach = max(20, abs(end[0] - start[0] if bend[0] else end[1] - start[1]) // 2)
    c1 = (start[0] + bend[0] * reach, start[1] + bend[1] * reach)
    c2 = (end[0] - bend[0] * reach, end[1] - bend[1] * reach)
    return _compute_cubic(start, c1, c2, end)


def _compute_detour(edge: WaitEdge, placed: Placed) -> tuple[str, tuple[int, int]]:
    """An arrow back, or within a layer: around the far side of the boxes."""
    (ax, ay), (bx, by) = placed.corners[edge.source], placed.corners[edge.target]
    sideways = placed.upward or ax == bx
    if sideways:
        start, end = (ax + BOX_WIDTH, ay + BOX_HEIGHT - 12), (bx + BOX_WIDTH, by + 12)
        far = max(start[0], end[0]) + 48
        d, middle = _compute_cubic(start, (far, start[1]), (far, end[1]), end)
        return f"M{start[0]} {start[1]}{d}", middle
    start, end = (ax + BOX_WIDTH // 2, ay + BOX_HEIGHT), (bx + BOX_WIDTH // 2, by + BOX_HEIGHT)
    far = max(start[1], end[1]) + 48
    d, middle = _compute_cubic(start, (start[0], far), (end[0], far), end)
    return f"M{start[0]} {start[1]}{d}", middle


def _compute_cubic(*points: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points
    middle = ((x0 + 3 * x1 + 3 * x2 + x3) // 8, (y0 + 3 * y1 + 3 * y2 + y3) // 8)
    return f"C{x1} {y1} {x2} {y2} {x3} {y3}", middle
