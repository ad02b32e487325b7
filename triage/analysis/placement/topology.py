"""The job on its machines: who sits where, which nodes it has, and what those hang on."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol


class Placement(Protocol):
    """Who sits where, as far as it is known; None where nothing says it."""

    @property
    def world_size(self) -> int | None:
        """How many ranks the job has."""
        ...

    def node_of(self, rank: int) -> str | None:
        """The node of a rank."""
        ...

    def is_seen(self, rank: int) -> bool:
        """Whether more than a number in a map seats a rank: something on the node agrees."""
        ...

    def gpu_of(self, rank: int) -> str | None:
        """The GPU of a rank, ``dddd:bb:dd``."""
        ...

    def rank_of_gpu(self, node: str, gpu: str) -> int | None:
        """The rank on a GPU of a node."""
        ...

    def rank_of_local(self, node: str, local_rank: int) -> int | None:
        """The rank with a local rank on a node."""
        ...

    def node_of_address(self, text: str) -> str | None:
        """The node that an address or an alias belongs to."""
        ...

    def ranks_on(self, node: str) -> list[int]:
        """The ranks of a node, ascending; empty where nobody says who sits there."""
        ...


@dataclass(frozen=True, slots=True)
class JobTopology:
    """``nodes`` are those of the job; ``leaf_switch`` is node -> the switch that it hangs on."""

    placement: Placement
    nodes: Collection[str]
    leaf_switch: Mapping[str, str]
