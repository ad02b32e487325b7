"""Layout: the boxes of a wait-for graph in layers, what is waited for last.

Sugiyama's steps in small: drop the edges that close a cycle, give each box the longest
path to a sink as its layer, then order each layer by the middle of its neighbours.
Deterministic: ties keep the order of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from triage.domain.report import WaitEdge

__all__ = ["BOX_HEIGHT", "BOX_WIDTH", "Placed", "place"]

BOX_WIDTH, BOX_HEIGHT = 212, 62
_BETWEEN_LAYERS, _BETWEEN_BOXES = 76, 20
_MARGIN = 12
# Room beside the boxes for edges that run backwards.
_DETOUR = 44
# A layer of 60 boxes would be a tower; it is cut into stacks that stand side by side.
_MAX_STACK = 12
_SWEEPS = 4
# A pipeline of many stages with one box each reads better from top to bottom.
_LONG, _SLIM = 5, 3


@dataclass(frozen=True, slots=True)
class Placed:
    """Top left corners of the boxes by key, and the size of the whole picture.

    ``downward`` says that layers run from top to bottom, else from left to right.
    """

    corners: Mapping[str, tuple[int, int]]
    width: int
    height: int
    downward: bool


def place(keys: Sequence[str], edges: Sequence[WaitEdge]) -> Placed:
    """Where each box stands. Edges to unknown keys and to the box itself are ignored."""
    known = set(keys)
    links = [(e.source, e.target) for e in edges if {e.source, e.target} <= known]
    layers = _ordered(_layers(keys, [link for link in links if link[0] != link[1]]), links)
    stacks = [stack for layer in layers for stack in _cut(layer)]
    slim = max((len(stack) for stack in stacks), default=0) <= _SLIM
    return _corners(stacks, downward=len(stacks) > _LONG and slim)


def _layers(keys: Sequence[str], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    targets: dict[str, list[str]] = {key: [] for key in keys}
    for source, target in links:
        targets[source].append(target)
    height = _heights(keys, targets)
    top = max(height.values(), default=0)
    layers: list[list[str]] = [[] for _ in range(top + 1)]
    for key in keys:
        layers[top - height[key]].append(key)
    return layers


def _heights(keys: Sequence[str], targets: Mapping[str, list[str]]) -> dict[str, int]:
    """Longest path to a sink. An edge back to a box that is still open closes a cycle."""
    height: dict[str, int] = {}
    is_open: set[str] = set()
    for root in keys:
        stack = [root]
        while stack:
            key = stack[-1]
            if key in height:
                stack.pop()
                continue
            ahead = [t for t in targets[key] if t not in height and t not in is_open]
            if key not in is_open:
                is_open.add(key)
                stack.extend(reversed(ahead))
            if not ahead:
                # What is still open here is an ancestor: that edge is left out of the count.
                done = [height[t] + 1 for t in targets[key] if t in height]
                height[key] = max(done, default=0)
                is_open.discard(key)
                stack.pop()
    return height


def _ordered(layers: list[list[str]], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    beside: dict[str, list[str]] = {key: [] for layer in layers for key in layer}
    for source, target in links:
        beside[source].append(target)
        beside[target].append(source)
    for sweep in range(_SWEEPS):
        order = layers if sweep % 2 else layers[::-1]
        for before, layer in pairwise(order):
            _sort_by_neighbours(layer, before, beside)
    return layers


def _sort_by_neighbours(
    layer: list[str], before: Sequence[str], beside: Mapping[str, Sequence[str]]
) -> None:
    at = {key: index / max(1, len(before) - 1) for index, key in enumerate(before)}
    middle = {key: _middle([at[other] for other in beside[key] if other in at]) for key in layer}
    layer.sort(key=middle.__getitem__)


def _middle(places: Sequence[float]) -> float:
    return sum(places) / len(places) if places else 0.5


def _cut(layer: Sequence[str]) -> list[Sequence[str]]:
    num_stacks = -(-len(layer) // _MAX_STACK)
    size = -(-len(layer) // max(1, num_stacks))
    return [layer[i : i + size] for i in range(0, len(layer), size)] if layer else []


def _corners(stacks: Sequence[Sequence[str]], *, downward: bool) -> Placed:
    box_along, box_across = (BOX_HEIGHT, BOX_WIDTH) if downward else (BOX_WIDTH, BOX_HEIGHT)
    tallest = max((len(stack) for stack in stacks), default=1)
    across = tallest * (box_across + _BETWEEN_BOXES) - _BETWEEN_BOXES
    corners: dict[str, tuple[int, int]] = {}
    for number, stack in enumerate(stacks):
        along = _MARGIN + number * (box_along + _BETWEEN_LAYERS)
        free = across - (len(stack) * (box_across + _BETWEEN_BOXES) - _BETWEEN_BOXES)
        for index, key in enumerate(stack):
            beside = _MARGIN + free // 2 + index * (box_across + _BETWEEN_BOXES)
            corners[key] = (beside, along) if downward else (along, beside)
    length = len(stacks) * (box_along + _BETWEEN_LAYERS) - _BETWEEN_LAYERS + 2 * _MARGIN
    breadth = across + 2 * _MARGIN + _DETOUR
    width, height = (breadth, length) if downward else (length + _DETOUR, breadth)
    return Placed(corners, width, height, downward)
