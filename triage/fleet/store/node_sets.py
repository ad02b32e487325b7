"""Sets of nodes as spans of keys: small to keep, and unpacked by the thousand at once.

Keys of nodes that were first seen together follow each other, so a set is a few spans:
(first key, how many), each two unsigned integers of 32 bits, low byte first.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from models import NodeSet
from triage.store.database.upsert import insert_missing

_WORD: Final = np.dtype("<u4")
_CHUNK: Final = 1000


class SetKey(NamedTuple):
    """A set that is kept; of two, the one with more nodes is the greater."""

    num_nodes: int
    sha256: str
    id: int


def pack_keys(keys: Iterable[int]) -> bytes:
    """The spans of these keys, whatever their order; the same set gives the same bytes."""
    ordered = np.unique(np.fromiter(keys, np.int64))
    if not len(ordered):
        return b""
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 2) != 1)
    lengths = np.diff(first, append=len(ordered))
    return np.column_stack([ordered[first], lengths]).astype(_WORD).tobytes()


def unpack_sets(sets: Sequence[bytes]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(at, keys): ``keys[at[i]:at[i + 1]]`` are those of set ``i``, ascending."""
    words = np.frombuffer(b"".join(sets), _WORD).astype(np.int32).reshape(-1, 2)
    starts, lengths = words[:, 0], words[:, 1]
    # The first key of a span stands where the spans before it end.
    ends = np.cumsum(lengths, dtype=np.int64)
    num_keys = int(ends[-1]) if len(ends) else 0
    keys = np.repeat((starts - (ends - lengths)).astype(np.int32), lengths)
    keys += np.arange(num_keys, dtype=np.int32)
    span_at = np.cumsum([0, *(len(one) // (2 * _WORD.itemsize) for one in sets)])
    return np.concatenate([[0], ends])[span_at].astype(np.int64), keys


def keep(session: Session, sets: Iterable[bytes]) -> dict[bytes, SetKey]:
    """Packed sets and their keys; kept if they are new."""
    by_hash = {hashlib.sha256(spans).hexdigest(): spans for spans in sets}
    wanted = sorted(by_hash)
    found = _load_known(session, wanted)
    new = [sha256 for sha256 in wanted if sha256 not in found]
    if new:
        insert_missing(session, NodeSet, [_build_row(sha256, by_hash[sha256]) for sha256 in new])
        found |= _load_known(session, new)
    return {by_hash[sha256]: key for sha256, key in found.items()}


def _load_known(session: Session, hashes: Sequence[str]) -> dict[str, SetKey]:
    found: dict[str, SetKey] = {}
    for start in range(0, len(hashes), _CHUNK):
        part = hashes[start : start + _CHUNK]
        rows = session.execute(
            select(NodeSet.num_nodes, NodeSet.sha256, NodeSet.id).where(NodeSet.sha256.in_(part))
        )
        found |= {row.sha256: SetKey(*row) for row in rows}
    return found


def _build_row(sha256: str, spans: bytes) -> Mapping[str, Any]:
    at, _ = unpack_sets([spans])
    return {"sha256": sha256, "num_nodes": int(at[-1]), "spans": spans}
