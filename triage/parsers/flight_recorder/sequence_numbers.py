"""Sequence numbers that entries lack: what the entries beside them tell.

Of a group each collective is one further than the one before it. A record whose numbers are gone
from its end on tells no more of its rank than one that was cut there.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from triage.domain.rank_digest import MISSING
from triage.parsers.flight_recorder.columns import (
    COLLECTIVE_SEQ,
    IS_P2P,
    NAME,
    P2P_SEQ,
    PG_DESC,
    PG_ID,
    PG_NAME,
    RECORD_ID,
)
from triage.parsers.flight_recorder.reduce import P2P_CLOSER, RECV, SEND

_Entries = NDArray[np.int64]


def fill_in(
    entries: _Entries, kinds: NDArray[np.int8], backends: NDArray[np.int32]
) -> tuple[int, int]:
    """Give collectives without a number theirs, in place; how many were told, and of how many
    without one nothing tells whether they are the last that the rank issued.

    ``entries`` is int64 of shape (entries, fields); ``kinds`` and ``backends`` are indexed by the
    string of the name. A number is told where as many collectives stand between two numbers as
    these are apart, and at both ends of a record without gaps.
    """
    told, lost = 0, _sends_without_a_number(entries, kinds)
    if not (entries[:, COLLECTIVE_SEQ] == MISSING).any():
        return told, lost
    begin, end = int(entries[0, RECORD_ID]), int(entries[-1, RECORD_ID])
    has_no_gaps = MISSING not in (begin, end) and end - begin + 1 == len(entries)
    for rows in _collectives_of_groups(entries, kinds, backends):
        before = entries[rows, COLLECTIVE_SEQ]
        known = np.flatnonzero(before != MISSING)
        if not len(known):
            lost += len(rows)
            continue
        numbers = before.copy()
        for first, second in pairwise(known.tolist()):
            if numbers[second] - numbers[first] == second - first:
                numbers[first:second] = numbers[first] + np.arange(second - first)
        first, last = int(known[0]), int(known[-1])
        # Members of one block share a number.
        if has_no_gaps and numbers[last] - numbers[first] == last - first:
            if numbers[first] > first:
                numbers[:first] = numbers[first] - np.arange(first, 0, -1)
            numbers[last:] = numbers[last] + np.arange(len(rows) - last)
        else:
            lost += len(rows) - last - 1
        told += int((before != numbers).sum())
        entries[rows, COLLECTIVE_SEQ] = numbers
    return told, lost


def _sends_without_a_number(entries: _Entries, kinds: NDArray[np.int8]) -> int:
    """How many sends and receives have no number of theirs, where others have one."""
    lacking = entries[:, P2P_SEQ] == MISSING
    if not lacking.any() or lacking.all():
        return 0
    return int(np.isin(kinds[entries[lacking, NAME]], (SEND, RECV, P2P_CLOSER)).sum())


def _collectives_of_groups(
    entries: _Entries, kinds: NDArray[np.int8], backends: NDArray[np.int32]
) -> Iterator[NDArray[np.intp]]:
    """The places of the collectives of each group of which some have no number."""
    plain = np.flatnonzero(
        (entries[:, IS_P2P] != 1) & ~np.isin(kinds[entries[:, NAME]], (SEND, RECV, P2P_CLOSER))
    )
    lacking = plain[entries[plain, COLLECTIVE_SEQ] == MISSING]
    group = entries[:, (PG_NAME, PG_DESC, PG_ID)]
    key = np.column_stack([group, backends[entries[:, NAME]].astype(np.int64)])
    for own in np.unique(key[lacking], axis=0):
        yield plain[(key[plain] == own).all(axis=1)]
