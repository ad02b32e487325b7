"""Stacks in words: where the ranks of a job stand, the odd ones first, and their merged tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.domain.report import Answer, StandingRanks
from triage.render.words.ranges import condense, condense_names

# So many lines say where all ranks of a job stand, the one for the rest among them.
MAX_PLACES: Final = 5
_RANK_CHARS: Final = 60
_MAX_BRANCHES: Final = 400
_WORDS: Final[Mapping[str, str]] = {
    "collective": "waiting in a collective",
    "device": "waiting for the device",
    "store": "waiting to meet (rendezvous or a new group)",
    "nccl_init": "setting up a communicator",
    "data": "in the data loader",
    "checkpoint": "reading or writing a checkpoint",
    "storage": "held in a file system",
    "compile": "compiling",
    "gil": "waiting for the interpreter's lock",
    "lock": "waiting for a lock, thread or queue",
    "gc": "collecting garbage",
    "logging": "writing a log",
    "import": "importing a module",
    "sleep": "sleeping",
    "breakpoint": "at a breakpoint",
    "files": "reading or writing a file",
    "network": "in network input or output",
    "subprocess": "waiting for a program",
    "teardown": "shutting down",
    "dispatch": "in torch",
    "code": "in the program",
    "idle": "idle",
    "stopped": "stopped",
    "gone": "ended",
}


def order_odd_first(answer: Answer) -> list[StandingRanks]:
    """The places of an answer, those of suspects first, then the largest."""
    suspects = {rank for suspect in answer.suspects for rank in suspect.ranks}
    return sorted(
        answer.stacks,
        key=lambda one: (suspects.isdisjoint(one.ranks), -len(one.ranks)),
    )


def place_words(one: StandingRanks) -> str:
    """``waiting in a collective, at step (train.py:24), twice``."""
    what = _WORDS.get(one.state, "standing")
    at = f", at {one.stands_at}" if one.stands_at else ""
    return f"{what}{at}{', in two looks' if one.seen_twice else ''}"


def stack_lines(answer: Answer) -> list[str]:
    """At most five lines that say where the ranks stand; empty where there are no stacks."""
    places = order_odd_first(answer)
    kept = places if len(places) <= MAX_PLACES else places[: MAX_PLACES - 1]
    lines = [f"{_describe_standing_ranks(one)} {place_words(one)}" for one in kept]
    rest = places[len(kept) :]
    if rest:
        ranks = sum(len(one.ranks) for one in rest)
        lines.append(f"{ranks:,} ranks stand at {len(rest)} other places (--format json)")
    return lines


def _describe_standing_ranks(one: StandingRanks) -> str:
    """``ranks 0-4, 6 (7 in all)``, with the node where all are on one."""
    count = len(one.ranks)
    if not count:
        return "processes of unknown ranks"
    where = f" on {condense_names(one.nodes)}" if len(one.nodes) == 1 else ""
    if count == 1:
        return f"rank {one.ranks[0]}{where}:"
    all_of = f" ({count:,} in all)" if count > 2 else ""
    return f"ranks {condense(one.ranks, max_chars=_RANK_CHARS)}{all_of}{where}:"


@dataclass(slots=True)
class StackTree:
    """Calls that stacks have in common; ``ranks`` is how many pass through here."""

    call: str
    ranks: int = 0
    calls: dict[str, "StackTree"] = field(default_factory=dict)


def stack_tree(places: Sequence[StandingRanks]) -> StackTree:
    """All stacks merged from the outside, as STAT does it; at most 400 branches."""
    root = StackTree("")
    branches = 0
    for one in places:
        weight = max(len(one.ranks), 1)
        root.ranks += weight
        node = root
        for frame in one.frames:
            below = node.calls.get(frame)
            if below is None:
                if branches >= _MAX_BRANCHES:
                    break
                branches += 1
                below = node.calls[frame] = StackTree(frame)
            below.ranks += weight
            node = below
    return root
