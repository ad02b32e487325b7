"""Stacks on the page: the places at which ranks stand, and all stacks as one tree to open."""

from collections.abc import Iterator

from triage.domain.report import Answer, StandingRanks
from triage.render.page.sections import NOTHING, scroll, section
from triage.render.pictures.markup import Html, el, join, table
from triage.render.words.ranges import condense, condense_names
from triage.render.words.stacks import StackTree, odd_first, place_words, stack_tree

__all__ = ["stacks"]

_CELL_CHARS = 120
_INDENT = "| "


def stacks(answer: Answer) -> Html:
    """A row for each place, and the merged tree below it; nothing without stacks."""
    places = odd_first(answer)
    if not places:
        return NOTHING
    lines = list(_tree_lines(stack_tree(places)))
    return section(
        "Where the ranks stand",
        scroll(table(("Ranks", "How many", "Nodes", "Where"), map(_place, places))),
        el(
            "details",
            None,
            el("summary", None, "All stacks as one tree"),
            el("pre", {"tabindex": 0}, join((el("span", None, line) for line in lines), "\n")),
        ),
    )


def _place(one: StandingRanks) -> Html:
    cells = (
        f"{len(one.ranks):,}",
        condense_names(one.nodes, max_chars=_CELL_CHARS),
        place_words(one),
    )
    return el(
        "tr",
        None,
        el("th", {"scope": "row", "class": "mono"}, condense(one.ranks, max_chars=_CELL_CHARS)),
        join(el("td", None, cell) for cell in cells),
    )


def _tree_lines(root: StackTree) -> Iterator[str]:
    """``8 x main (train.py:37)``: how many ranks pass through a call, calls below it to the right.

    A call below which nothing branches stands at the same depth.
    """
    waiting = [(tree, 0) for tree in by_size(root)]
    while waiting:
        tree, depth = waiting.pop(0)
        yield f"{_INDENT * depth}{tree.ranks:,} x {tree.call}"
        below = by_size(tree)
        deeper = depth + (len(below) > 1 or any(one.ranks < tree.ranks for one in below))
        waiting = [(one, deeper) for one in below] + waiting


def by_size(tree: StackTree) -> list[StackTree]:
    return sorted(tree.calls.values(), key=lambda one: (-one.ranks, one.call))
