"""Backends of one dump: who wrote which entry, and what tells that its operations ended.

A dump may hold what several recorders wrote of one group, each with numbers of its own: gloo its
own operations, a hook those of other backends, or all once more as they were dispatched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triage.domain import rank_digest as rd
from triage.parsers.flight_recorder import columns as col
from triage.parsers.flight_recorder import reduce as red
from triage.parsers.flight_recorder.opnames import OpName

_StreamName = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Backends:
    """The backends of a dump, the one that a group is judged by first; ``number`` is the place
    among them of each name, and ``ends`` its sign of ends.
    """

    names: tuple[str, ...]
    number: Mapping[int, int]
    ends: Mapping[int, int]

    def stream_names(
        self, named: Sequence[_StreamName], recorders: Sequence[int]
    ) -> tuple[_StreamName, ...]:
        """The names of streams; one that stands beside another of its group says its backend."""
        first: dict[_StreamName, int] = {}
        for name, number in zip(named, recorders, strict=True):
            first[name] = min(first.get(name, number), number)
        return tuple(
            (name, f"{desc or ''} ({self.names[number]})".lstrip())
            if number > first[name, desc]
            else (name, desc)
            for (name, desc), number in zip(named, recorders, strict=True)
        )

    def count_dispatched(
        self, entries: NDArray[np.int64], enqueued: Mapping[str, int | None]
    ) -> bool:
        """Whether the counters are a hook's, which counts from 0 what goes through the dispatcher.

        Its numbers fall behind those of the group, or run ahead where others record some of the
        operations: then the newest entry of a group has the number that was ``enqueued`` last.
        NCCL's own recorder counts operations of the group, however it numbers its entries.
        """
        if self.names == ("nccl",):
            return False
        numbers, seqs = entries[:, col.OP_ID], entries[:, col.COLLECTIVE_SEQ]
        behind = (numbers != rd.MISSING) & (numbers < seqs)
        if behind.any():
            return not self.is_of_nccl(entries[behind.argmax()])
        if not (numbers > seqs).any():
            return False
        newest = {(row[col.PG_ID], self.number[row[col.NAME]]): row for row in entries.tolist()}
        return any(
            row[col.OP_ID] not in (rd.MISSING, row[col.COLLECTIVE_SEQ])
            and row[col.OP_ID] == enqueued.get(str(group))
            and not self.is_of_nccl(row)
            for (group, _), row in newest.items()
        )

    def is_of_nccl(self, row: Sequence[int]) -> bool:
        """Whether NCCL's own recorder wrote an entry."""
        return bool(self.names) and self.names[self.number[int(row[col.NAME])]] == "nccl"


def find_backends(names: Mapping[int, OpName], entries: NDArray[np.int64]) -> Backends:
    """The backends of ``entries``, whose names are given by their indexes.

    What was dispatched comes behind what was done, and gloo behind what runs on the devices.
    """
    known = {name.backend for name in names.values()} - {""}
    order = sorted(known, key=lambda backend: (backend == "c10d", backend == "gloo", backend))
    indexes: dict[str, list[int]] = {}
    for index, name in names.items():
        indexes.setdefault(name.backend, []).append(index)
    ends: dict[int, int] = {}
    for backend, own in indexes.items():
        rows = entries if len(indexes) == 1 else entries[np.isin(entries[:, col.NAME], own)]
        ends |= dict.fromkeys(own, _sign_of_ends(backend, rows))
    number = {
        index: order.index(name.backend) if name.backend else 0 for index, name in names.items()
    }
    return Backends(tuple(order), number, ends)


def _sign_of_ends(backend: str, entries: NDArray[np.int64]) -> int:
    """What tells that an operation of a backend ended, by all its ``entries``: gloo retires what
    ended and records no events; a hook retires at issue where nobody tells it of ends.
    """
    if backend == "gloo":
        return red.BY_RETIRING
    spoken = (entries[:, col.STATE] > 0).any() or (entries[:, col.COMPLETED] != rd.MISSING).any()
    retired = entries[:, col.RETIRED] == 1
    # NCCL always records how an operation ends: what is retired without it was given up.
    if spoken or backend == "nccl" or not retired.any():
        return red.BY_STATE
    return red.BY_NOTHING if retired.all() else red.BY_RETIRING
