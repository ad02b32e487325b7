"""Layout: the boxes of a wait-for graph in layers, from those that others wait for.

Sugiyama's steps in small: drop the edges that close a cycle, give each box the longest
path to a sink as its layer, give arrows that skip layers a lane between the boxes, then
order each layer by the middle of its neighbours. Deterministic: ties keep the order of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from triage.domain.report import WaitEdge

BOX_WIDTH, BOX_HEIGHT = 206, 62
# Four layers stand side by side on the page's width.
_BETWEEN_LAYERS, _BETWEEN_BOXES = 56, 18
_MARGIN = 6
_LANE_WIDTH = 12
# Room beside the boxes for edges that run backwards.
_DETOUR = 44
# A layer of 60 boxes would be a tower; it is cut into stacks that stand side by side.
_MAX_STACK = 12
_SWEEPS = 4
# A pipeline of many stages with one box each reads better from top to bottom.
_LONG, _SLIM = 5, 3

_Lane: TypeAlias = tuple[int, str]
"""The gap in a layer through which the arrows to one box pass: (layer, box)."""
_Slot: TypeAlias = str | _Lane
"""What stands in a layer: a box by its key, or a lane."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Top left corners of the boxes by key, and the size of the whole picture.

    A box stands before those that wait for it: arrows run up, or from right to left. ``lanes``
    holds, by (source, target), the top left end of each lane that an arrow passes.
    ``upward`` says that layers lie on each other, else they stand side by side.
    """

    corners: Mapping[str, tuple[int, int]]
    lanes: Mapping[tuple[str, str], tuple[tuple[int, int], ...]]
    width: int
    height: int
    upward: bool


def place(keys: Sequence[str], edges: Sequence[WaitEdge]) -> Placed:
    """Where each box stands. Edges to unknown keys and to the box itself are ignored."""
    known = set(keys)
    links = [(e.source, e.target) for e in edges if {e.source, e.target} <= known]
    links = [link for link in links if link[0] != link[1]]
    layers = _assign_layers(keys, links)
    layer_of = {
        slot: number
        for number, layer in enumerate(layers)
        for slot in layer
        if isinstance(slot, str)
    }
    # An arrow that skips layers has a lane in each; arrows to one box share its lanes.
    lanes = {
        (source, target): tuple(
            (layer, target) for layer in range(layer_of[source] - 1, layer_of[target], -1)
        )
        for source, target in links
    }
    for keys_of_lane in lanes.values():
        for lane in keys_of_lane:
            number, _ = lane
            if lane not in layers[number]:
                layers[number].append(lane)
    chains: list[tuple[_Slot, _Slot]] = []
    for link in links:
        slots: list[_Slot] = [link[0], *lanes[link], link[1]]
        chains += pairwise(slots)
    stacks = [stack for layer in _order_layers(layers, chains) for stack in _cut(layer)]
    slim = max((len(stack) for stack in stacks), default=0) <= _SLIM
    back = [link for link in links if layer_of[link[0]] <= layer_of[link[1]]]
    return _place_corners(stacks, lanes, upward=len(stacks) > _LONG and slim, detour=bool(back))


def _assign_layers(keys: Sequence[str], links: Sequence[tuple[str, str]]) -> list[list[_Slot]]:
    targets: dict[str, list[str]] = {key: [] for key in keys}
    for source, target in links:
        targets[source].append(target)
    height = _compute_heights(keys, targets)
    layers: list[list[_Slot]] = [[] for _ in range(max(height.values(), default=0) + 1)]
    for key in keys:
        layers[height[key]].append(key)
    return layers


def _compute_heights(keys: Sequence[str], targets: Mapping[str, list[str]]) -> dict[str, int]:
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


def _order_layers(
    layers: list[list[_Slot]], chains: Sequence[tuple[_Slot, _Slot]]
) -> list[list[_Slot]]:
    beside: dict[_Slot, list[_Slot]] = {slot: [] for layer in layers for slot in layer}
    for source, target in chains:
        beside[source].append(target)
        beside[target].append(source)
    for sweep in range(_SWEEPS):
        order = layers[::-1] if sweep % 2 else layers
        for before, layer in pairwise(order):
            _sort_by_neighbours(layer, before, beside)
    return layers


def _sort_by_neighbours(
    layer: list[_Slot], before: Sequence[_Slot], beside: Mapping[_Slot, Sequence[_Slot]]
) -> None:
    at = {key: index / max(1, len(before) - 1) for index, key in enumerate(before)}
    places = {key: [at[other] for other in beside[key] if other in at] for key in layer}
    layer.sort(key=lambda key: sum(places[key]) / len(places[key]) if places[key] else 0.5)


def _cut(layer: Sequence[_Slot]) -> list[Sequence[_Slot]]:
    num_stacks = -(-len(layer) // _MAX_STACK)
    size = -(-len(layer) // max(1, num_stacks))
    return [layer[i : i + size] for i in range(0, len(layer), size)] if layer else []


def _place_corners(
    stacks: Sequence[Sequence[_Slot]],
    lanes: Mapping[tuple[str, str], tuple[_Lane, ...]],
    *,
    upward: bool,
    detour: bool,
) -> Placed:
    box_along, box_across = (BOX_HEIGHT, BOX_WIDTH) if upward else (BOX_WIDTH, BOX_HEIGHT)

    def breadth(slot: _Slot) -> int:
        return box_across if isinstance(slot, str) else _LANE_WIDTH

    def extent(stack: Sequence[_Slot]) -> int:
        return sum(map(breadth, stack)) + (len(stack) - 1) * _BETWEEN_BOXES

    across = max(map(extent, stacks), default=0)
    corners: dict[_Slot, tuple[int, int]] = {}
    for number, stack in enumerate(stacks):
        along = _MARGIN + number * (box_along + _BETWEEN_LAYERS)
        beside = _MARGIN + (across - extent(stack)) // 2
        for slot in stack:
            middle = beside if isinstance(slot, str) else beside + _LANE_WIDTH // 2
            corners[slot] = (middle, along) if upward else (along, middle)
            beside += breadth(slot) + _BETWEEN_BOXES
    spare = _DETOUR if detour else 0
    length = len(stacks) * (box_along + _BETWEEN_LAYERS) - _BETWEEN_LAYERS + 2 * _MARGIN
    total = across + 2 * _MARGIN + spare
    width, height = (total, length) if upward else (length + spare, total)
    return Placed(
        {slot: corner for slot, corner in corners.items() if isinstance(slot, str)},
        {link: tuple(corners[lane] for lane in passed) for link, passed in lanes.items()},
        width,
        height,
        upward,
    )
