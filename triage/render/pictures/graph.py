"""Graph: the wait-for graph as inline SVG, and the same as a list.

Boxes are ranks that wait at the same place; arrows mean "waits for". A culprit has cut
corners, a thick border and its word, so that it stands out without colours too.
"""

from collections.abc import Iterator, Mapping, Sequence

from triage.domain.report import WaitEdge, WaitNode, Waits
from triage.render.pictures.layout import BOX_HEIGHT, BOX_WIDTH, Placed, place
from triage.render.pictures.markup import (
    Attributes,
    Html,
    join,
    make_element,
    make_svg,
    trust_markup,
)
from triage.render.words.clean import format_one_line
from triage.render.words.ranges import condense

MAX_BOXES = 60
# Beyond this many arrows their numbers would lie on each other; the list has them.
_MAX_LABELLED = 24
_CORNER = 10
_LABEL_CELLS, _DETAIL_CELLS = 25, 30

_KIND_WORD = {"culprit": "CULPRIT", "possible": "POSSIBLE", "no_dump": "NO DUMP"}
_KIND_ORDER = ("culprit", "possible", "no_dump")

# Colours for notebooks, where no style sheet comes along; the page's style sheet wins over them.
_BOX: Mapping[str, Attributes] = {
    "collective": {"fill": "#ffffff", "stroke": "#57606a", "stroke-width": 1},
    "culprit": {"fill": "#ffe3e0", "stroke": "#c4232f", "stroke-width": 3},
    "possible": {
        "fill": "#fff3d1",
        "stroke": "#9a6700",
        "stroke-width": 2,
        "stroke-dasharray": "7 4",
    },
    "no_dump": {
        "fill": "#f0f1f3",
        "stroke": "#57606a",
        "stroke-width": 2,
        "stroke-dasharray": "2 3",
    },
}
_ARROW = trust_markup(
    '<defs><marker id="triage-arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8"'
    ' markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
    '<path class="tip" d="M0 0L8 4L0 8z" fill="#6e7781"/></marker></defs>'
)


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
        return trust_markup("")
    placed = place([node.key for node in nodes], waits.edges)
    edges = [edge for edge in waits.edges if _is_drawn(edge, placed)]
    title = f"Wait-for graph: {len(nodes)} boxes, {len(edges)} arrows"
    return make_svg(
        "graph",
        title,
        "An arrow from A to B says that ranks of A wait for ranks of B.",
        (placed.width, placed.height),
        _ARROW,
        join(_draw_arrow(edge, placed) for edge in edges),
        join(_draw_box(node, placed.corners[node.key]) for node in nodes),
        join(_number(edge, placed) for edge in edges if len(edges) <= _MAX_LABELLED),
    )


def as_list(waits: Waits) -> Html:
    """Every box and arrow of the picture as text."""
    nodes, _ = select_boxes(waits)
    names = {node.key: _name(node) for node in nodes}
    lines = list(_describe_waiting(waits.edges, names))
    sources = {edge.source for edge in waits.edges if edge.target in names}
    lines += [f"{names[n.key]}: waits for nobody" for n in nodes if n.key not in sources]
    return make_element(
        "ul", {"class": "twin"}, join(make_element("li", None, line) for line in lines)
    )


def _describe_waiting(edges: Sequence[WaitEdge], names: Mapping[str, str]) -> Iterator[str]:
    for edge in edges:
        if edge.source in names and edge.target in names:
            count = _format_num_ranks(edge)
            yield f"{names[edge.source]}: {count} for {names[edge.target]}"


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


def _draw_box(node: WaitNode, corner: tuple[int, int]) -> Html:
    x, y = corner
    kind = node.kind if node.kind in _BOX else "collective"
    word = _KIND_WORD.get(kind)
    ranks = f"{word} {describe_box_ranks(node, 14)}" if word else describe_box_ranks(node, 18)
    lines = (
        (node.label, "label", 20, _LABEL_CELLS, "600"),
        (node.detail, "detail", 36, _DETAIL_CELLS, None),
        (ranks, "ranks", 52, _DETAIL_CELLS, "600" if word else None),
    )
    return make_element(
        "g",
        {"class": f"box {kind}"},
        make_element("title", None, _name(node)),
        make_element(
            "path",
            {"d": _draw_outline(x, y, cut_corners=kind in ("culprit", "possible")), **_BOX[kind]},
        ),
        join(
            make_element(
                "text",
                {"class": name, "x": x + 12, "y": y + dy, "fill": "#1f2328", "font-weight": weight},
                format_one_line(text, room),
            )
            for text, name, dy, room, weight in lines
            if text
        ),
    )


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


def _draw_arrow(edge: WaitEdge, placed: Placed) -> Html:
    return make_element(
        "path",
        {
            "class": "wait",
            "d": compute_curve(edge, placed)[0],
            "fill": "none",
            "stroke": "#6e7781",
            "stroke-width": 1 if edge.num_ranks < 64 else 2,
            "marker-end": "url(#triage-arrow)",
        },
        make_element("title", None, _format_num_ranks(edge)),
    )


def _number(edge: WaitEdge, placed: Placed) -> Html:
    x, y = compute_curve(edge, placed)[1]
    return make_element(
        "text",
        {"class": "number", "x": x, "y": y - 4, "text-anchor": "middle", "fill": "#6e7781"},
        f"{edge.num_ranks:,}",
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
