"""Where a cause lies: a node, a rank, what several nodes hang on, outside of all, or unknown."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, order=True)
class AtNode:
    """On one node."""

    node: str


@dataclass(frozen=True, slots=True, order=True)
class AtRank:
    """At one rank of which nothing tells the node."""

    rank: int


class DomainKind(StrEnum):
    """What several nodes can hang on."""

    LEAF_SWITCH = "leaf_switch"
    NVLINK_DOMAIN = "nvlink_domain"


@dataclass(frozen=True, slots=True, order=True)
class Domain:
    """In what ``nodes`` have in common; ``name`` is None where nothing tells which one it is."""

    kind: DomainKind
    name: str | None
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Outside:
    """In no node: a file server, the scheduler, the code that all run. ``nodes`` are reached."""

    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Unplaced:
    """No line says where."""


Place = AtNode | AtRank | Domain | Outside | Unplaced
