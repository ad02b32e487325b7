"""The nodes of a record: one place for each, whatever cluster a row of it names.

A node's name says which node only within one cluster. What names no cluster is of the one
cluster that has a node of that name, where there is only one; a name that several clusters have
is printed as ``name (cluster)``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from triage.fleet.domain.exposure import FACTS
from triage.fleet.store.record import NodeRow


@dataclass(frozen=True, slots=True)
class Nodes:
    """``rows`` are sorted by name; ``place`` takes a key to its row, -1 where it has none."""

    names: tuple[str, ...]
    rows: tuple[NodeRow, ...]
    place: npt.NDArray[np.int32]
    by_name: Mapping[tuple[int | None, str], int]

    @property
    def facts(self) -> dict[str, Any]:
        """What inventories say of them, as columns by name."""
        return {fact: tuple(getattr(row, fact) for row in self.rows) for fact in FACTS}

    def place_of(self, cluster: int | None, name: str) -> int | None:
        """The row of a node by name; None for a name that is not known or says too little."""
        one = (cluster, name) if (cluster, name) in self.by_name else (None, name)
        return self.by_name.get(one)


def select_record_nodes(
    rows: Sequence[NodeRow], wanted: Iterable[int], names: Mapping[int, str]
) -> Nodes:
    """The nodes with these keys. ``names`` are those of clusters by key."""
    same: dict[str, dict[int, NodeRow]] = {}
    for row in rows:
        same.setdefault(row.name, {})[row.cluster] = row
    keys = set(wanted)
    found: list[tuple[str, list[NodeRow]]] = []
    for name, of_clusters in same.items():
        for label, together in _separate_nodes(name, list(of_clusters.values()), names):
            if any(row.key in keys for row in together):
                found.append((label, together))
    found.sort(key=lambda one: one[0])
    place = np.full(max((row.key for row in rows), default=0) + 1, -1, np.int32)
    by_name: dict[tuple[int | None, str], int] = {}
    num_same: dict[str, int] = {}
    for index, (_, together) in enumerate(found):
        for row in together:
            place[row.key] = index
            by_name[row.cluster, row.name] = index
            by_name[None, row.name] = index
        num_same[together[0].name] = num_same.get(together[0].name, 0) + 1
    for name, number in num_same.items():
        if number > 1:
            del by_name[None, name]
    merged = tuple(_merge_rows(together) for _, together in found)
    return Nodes(tuple(label for label, _ in found), merged, place, by_name)


def _separate_nodes(
    name: str, rows: list[NodeRow], clusters: Mapping[int, str]
) -> list[tuple[str, list[NodeRow]]]:
    """The nodes of one name, each with its rows."""
    named = [row for row in rows if clusters.get(row.cluster)]
    if len(named) <= 1:
        # Named first: what an inventory said of it was said with the cluster.
        return [(name, [*named, *(row for row in rows if row not in named)])]
    return [(f"{name} ({clusters[row.cluster]})" if row in named else name, [row]) for row in rows]


def _merge_rows(rows: Sequence[NodeRow]) -> NodeRow:
    first = rows[0]
    for other in rows[1:]:
        first = first._replace(
            **{name: getattr(first, name) or getattr(other, name) for name in FACTS}
        )
    return first
