"""Columns of one rank to what the analysis needs: streams and units.

A *stream* is one process group as this rank sees it. A *unit* is one operation on it: a plain
entry, or a coalesced block, whose members never finish in the record, so that the closing entry
speaks for them. A block without its closer was being built when the dump was taken, or (only-active
dumps) has finished and lost it; it is no unit.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from triage.domain.rank_digest import (
    COALESCED,
    FINISHED,
    ISSUED_ALONE,
    M_OWN,
    M_PEER,
    M_SEND,
    M_SIG,
    M_UNIT,
    MISSING,
    P2P,
    RETIRED_BIT,
    ROOTED_BIT,
    S_DESC,
    S_DONE,
    S_FINISHED,
    S_FIRST,
    S_LAST,
    S_NAME,
    S_P2P,
    S_PENDING,
    S_PG_ID,
    S_UNITS,
    STARTED_BIT,
    TIMEOUT_SHIFT,
    U_COMPLETED,
    U_CREATED,
    U_ENTRY,
    U_FLAGS,
    U_SEQ,
    U_SIG,
    U_STARTED,
    U_STREAM,
    UNEVEN,
)
from triage.parsers.flight_recorder.columns import (
    COLLECTIVE_SEQ,
    COMPLETED,
    CREATED,
    DTYPES_HASH,
    IS_P2P,
    NAME,
    P2P_SEQ,
    PG_DESC,
    PG_ID,
    PG_NAME,
    RECORD_ID,
    RETIRED,
    SIZES_HASH,
    STARTED,
    STATE,
    TIMEOUT,
    mix,
)
from triage.parsers.flight_recorder.jit import Rows, Word, compiled, inlined

_I8 = NDArray[np.int8]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

# Kinds of operation names, from the table of names (see opnames.py).
# SYNC is a collective that no member finishes before all have entered; of ROOTED ones (broadcast,
# reduce, scatter, gather) some members may finish early.
SYNC, ROOTED, SEND, RECV, P2P_CLOSER, COLLECTIVE_CLOSER = range(6)

# What tells that an operation of a backend has ended (see ``reduce_entries``).
BY_STATE, BY_RETIRING, BY_NOTHING = range(3)

# Scratch columns of an entry: BEFORE is the previous entry of the same stream, CLOSER the closing
# entry of a member of a block, ORPHAN 1 for a member whose closing entry is not there.
_K_STREAM, _K_BEFORE, K_CLOSER, _K_ORPHAN, MARK_FIELDS = range(5)

# BLOCK_OPEN is 1 when the record ends inside a coalesced block.
OUT_STREAMS, OUT_UNITS, OUT_MEMBERS, OUT_FIRST_CREATED, OUT_LAST_CREATED, OUT_LAST_STAMP = range(6)
OUT_BLOCK_OPEN, OUT_FULL, OUT_NO_SEQ, OUT_MAX_GAP, OUT_SLOTS = range(6, 11)

MAX_STREAMS: Final = 4096
# The recorder counts in 64 bits. No job comes this far.
_MAX_SEQ_BITS: Final = 53
# Longer than any job waits, in bits of milliseconds.
_MAX_TIMEOUT_BITS: Final = 48


@compiled
def _find_stream(
    row: Rows, backend: int, streams: Rows, recorders: _I32, count: int, last: int
) -> int:
    """Index of the entry's stream; ``count`` when it is new."""
    name = row[PG_NAME]
    for attempt in range(count + 1):
        k = last if attempt == 0 else attempt - 1
        if k >= count:
            continue
        # Backends of one group may write into one dump, and each counts by itself.
        if streams[k, S_NAME] != name or recorders[k] != backend:
            continue
        # One name may be set up anew in a process, and a recorder may write no name at all.
        if streams[k, S_DESC] == row[PG_DESC] and streams[k, S_PG_ID] == row[PG_ID]:
            return k
    return count


@compiled
def _close_lone_members(entries: Rows, count: int, kinds: _I8, marks: Rows) -> None:
    """Single members of blocks whose closing entry an only-active dump has left out.

    Such a dump drops what is finished, so it has gaps; and the closing entry would
    be the very next record. A job that shows it builds blocks (closing entries,
    several members in a row, or many gaps right behind sends) is taken at its word.
    So is a record that ends behind a member: the block was being built, or the file is cut.
    """
    closers = 0
    lone = 0
    for i in range(count):
        kind = kinds[entries[i, NAME]]
        if kind == P2P_CLOSER or marks[i, _K_ORPHAN] == 1:
            closers += 1
        gap = i + 1 < count and entries[i + 1, RECORD_ID] != entries[i, RECORD_ID] + 1
        if gap and _is_lone(entries, i, kinds, marks):
            lone += 1
    if closers == 0 and lone < 3:
        return
    for i in range(count):
        last = i + 1 == count
        gap = last or entries[i + 1, RECORD_ID] != entries[i, RECORD_ID] + 1
        if gap and _is_lone(entries, i, kinds, marks):
            marks[i, _K_ORPHAN] = 1


@inlined
def _is_lone(entries: Rows, i: int, kinds: _I8, marks: Rows) -> Word:
    """A send or receive without events that belongs to no block in sight."""
    kind = kinds[entries[i, NAME]]
    if kind != SEND and kind != RECV:
        return False
    if marks[i, K_CLOSER] >= 0 or marks[i, _K_ORPHAN] == 1:
        return False
    return entries[i, STATE] == 0 and entries[i, RETIRED] != 1


@compiled
def reduce_entries(
    entries: Rows,
    count: int,
    kinds: _I8,
    uneven: _I8,
    own: _I32,
    peer: _I32,
    op_hash: _I64,
    ends: _I8,
    backends: _I32,
    marks: Rows,
    newest: Rows,
    recorders: _I32,
    streams: Rows,
    units: Rows,
    members: Rows,
    out: Rows,
) -> None:
    """Fill ``streams``, ``units`` (record order) and ``members`` from ``entries[:count]``.

    ``kinds``, ``uneven``, ``own``, ``peer`` and ``op_hash`` are indexed by the
    name's string, and so is ``ends``, what ``retired`` says: BY_STATE, nothing, for the state
    says it; BY_RETIRING, that it ended; BY_NOTHING, that it was issued. So is ``backends``, the
    number of the backend; ``recorders`` has that of each stream. ``marks`` and ``newest`` are
    scratch space of one row per entry and per stream.
    """
    out[:] = 0
    out[OUT_FIRST_CREATED] = MISSING
    out[OUT_LAST_CREATED] = MISSING
    out[OUT_LAST_STAMP] = MISSING
    marks[:count] = -1
    newest[:] = -1
    num_streams = 0
    last = 0
    for i in range(count):
        row = entries[i]
        k = _find_stream(row, backends[row[NAME]], streams, recorders, num_streams, last)
        if k == num_streams:
            if num_streams >= min(MAX_STREAMS, len(streams)):
                out[OUT_FULL] = 1
                return
            streams[k, :] = MISSING
            streams[k, S_NAME] = row[PG_NAME]
            streams[k, S_DESC] = row[PG_DESC]
            streams[k, S_PG_ID] = row[PG_ID]
            recorders[k] = backends[row[NAME]]
            streams[k, S_UNITS] = 0
            streams[k, S_P2P] = 0
            num_streams += 1
        last = k
        marks[i, _K_STREAM] = k
        marks[i, _K_BEFORE] = newest[k]
        newest[k] = i
        kind = kinds[row[NAME]]
        if kind == P2P_CLOSER or kind == COLLECTIVE_CLOSER:
            j = marks[i, _K_BEFORE]
            by_p2p = kind == P2P_CLOSER and j >= 0 and kinds[entries[j, NAME]] in (SEND, RECV)
            while j >= 0 and marks[j, K_CLOSER] < 0:
                other = kinds[entries[j, NAME]]
                if other == P2P_CLOSER or other == COLLECTIVE_CLOSER:
                    break
                is_p2p = other == SEND or other == RECV
                if is_p2p != by_p2p:
                    break
                key = P2P_SEQ if by_p2p else COLLECTIVE_SEQ
                if entries[j, key] != row[key]:
                    break
                # A member carries no events of its own; an operation that does
                # is a plain one which happens to share the number.
                if entries[j, STATE] != 0 or entries[j, RETIRED] == 1:
                    break
                marks[j, K_CLOSER] = i
                j = marks[j, _K_BEFORE]
    # Members without a closer: at least two in a row with one number.
    for i in range(count):
        j = marks[i, _K_BEFORE]
        if marks[i, K_CLOSER] >= 0 or j < 0 or marks[j, K_CLOSER] >= 0:
            continue
        kind = kinds[entries[i, NAME]]
        other = kinds[entries[j, NAME]]
        if kind == P2P_CLOSER or kind == COLLECTIVE_CLOSER:
            continue
        if other == P2P_CLOSER or other == COLLECTIVE_CLOSER:
            continue
        is_p2p = kind == SEND or kind == RECV
        if is_p2p != (other == SEND or other == RECV):
            continue
        key = P2P_SEQ if is_p2p else COLLECTIVE_SEQ
        if entries[i, key] == MISSING or entries[i, key] != entries[j, key]:
            continue
        silent = entries[i, STATE] == 0 and entries[j, STATE] == 0
        if silent and entries[i, RETIRED] != 1 and entries[j, RETIRED] != 1:
            marks[i, _K_ORPHAN] = 1
            marks[j, _K_ORPHAN] = 1
    _close_lone_members(entries, count, kinds, marks)
    if count > 0 and marks[count - 1, _K_ORPHAN] == 1:
        out[OUT_BLOCK_OPEN] = 1
    num_units = 0
    num_members = 0
    previous_created = np.int64(MISSING)
    for i in range(count):
        row = entries[i]
        created = row[CREATED]
        if created != MISSING:
            if out[OUT_FIRST_CREATED] == MISSING or created < out[OUT_FIRST_CREATED]:
                out[OUT_FIRST_CREATED] = created
            if out[OUT_LAST_CREATED] == MISSING or created > out[OUT_LAST_CREATED]:
                out[OUT_LAST_CREATED] = created
            if previous_created != MISSING:
                out[OUT_MAX_GAP] = max(out[OUT_MAX_GAP], created - previous_created)
            previous_created = created
        out[OUT_LAST_STAMP] = max(out[OUT_LAST_STAMP], row[STARTED], row[COMPLETED])
        if kinds[row[NAME]] == SEND or kinds[row[NAME]] == RECV:
            streams[marks[i, _K_STREAM], S_P2P] += 1
        if marks[i, K_CLOSER] >= 0 or marks[i, _K_ORPHAN] == 1:
            continue
        kind = kinds[row[NAME]]
        is_block = kind == P2P_CLOSER or kind == COLLECTIVE_CLOSER
        p2p = kind == SEND or kind == RECV
        sig = mix(mix(op_hash[row[NAME]], row[SIZES_HASH]), row[DTYPES_HASH])
        if is_block:
            j = marks[i, _K_BEFORE]
            while j >= 0 and marks[j, K_CLOSER] == i:
                other = kinds[entries[j, NAME]]
                p2p = p2p or other == SEND or other == RECV
                part = mix(op_hash[entries[j, NAME]], entries[j, SIZES_HASH])
                sig = mix(sig, mix(part, entries[j, DTYPES_HASH]))
                if created == MISSING or entries[j, CREATED] < created:
                    created = entries[j, CREATED]
                j = marks[j, _K_BEFORE]
            if kind == P2P_CLOSER and marks[i, _K_BEFORE] < 0:
                p2p = True
            elif kind == P2P_CLOSER and marks[marks[i, _K_BEFORE], K_CLOSER] != i:
                p2p = True  # the members have left the ring
        if row[IS_P2P] == 1:
            p2p = True
        seq = row[P2P_SEQ] if p2p else row[COLLECTIVE_SEQ]
        if seq == MISSING or seq < 0 or seq >= np.int64(1) << _MAX_SEQ_BITS:
            out[OUT_NO_SEQ] += 1
            continue
        retired = row[RETIRED] == 1
        done = row[STATE] == 2 or (retired and ends[row[NAME]] == BY_RETIRING)
        unknown = not done and retired and ends[row[NAME]] == BY_NOTHING
        flags = 0
        if done:
            flags |= FINISHED
        if unknown:
            flags |= ISSUED_ALONE
        if row[STATE] == 1:
            flags |= STARTED_BIT
        if p2p:
            flags |= P2P
        if is_block:
            flags |= COALESCED
        if row[RETIRED] == 1:
            flags |= RETIRED_BIT
        if uneven[row[NAME]] != 0:
            flags |= UNEVEN
        if kind == ROOTED:
            flags |= ROOTED_BIT
        if not done and 0 < row[TIMEOUT] < np.int64(1) << _MAX_TIMEOUT_BITS:
            flags |= row[TIMEOUT] << TIMEOUT_SHIFT
        if num_units >= len(units):
            out[OUT_FULL] = 2
            return
        units[num_units, U_STREAM] = marks[i, _K_STREAM]
        units[num_units, U_SEQ] = seq
        units[num_units, U_SIG] = sig
        units[num_units, U_CREATED] = created
        units[num_units, U_FLAGS] = flags
        units[num_units, U_ENTRY] = i
        units[num_units, U_STARTED] = row[STARTED]
        units[num_units, U_COMPLETED] = row[COMPLETED]
        s = streams[marks[i, _K_STREAM]]
        s[S_UNITS] += 1
        if p2p:
            if is_block:
                s[S_P2P] += 1
            if not done and not unknown:
                j = marks[i, _K_BEFORE] if is_block else np.int64(i)
                while j >= 0 and (j == i or marks[j, K_CLOSER] == i):
                    name = entries[j, NAME]
                    if peer[name] != -1 and num_members < len(members):
                        members[num_members, M_UNIT] = num_units
                        members[num_members, M_SEND] = 1 if kinds[name] == SEND else 0
                        members[num_members, M_OWN] = own[name]
                        members[num_members, M_PEER] = peer[name]
                        members[num_members, M_SIG] = mix(
                            entries[j, SIZES_HASH], entries[j, DTYPES_HASH]
                        )
                        num_members += 1
                    if not is_block:
                        break
                    j = marks[j, _K_BEFORE]
        else:
            if s[S_FIRST] == MISSING:
                s[S_FIRST] = seq
            if s[S_LAST] == MISSING or seq > s[S_LAST]:
                s[S_LAST] = seq
            if done:
                s[S_FINISHED] = max(s[S_FINISHED], seq)
                if kind != ROOTED:
                    s[S_DONE] = max(s[S_DONE], seq)
            elif not unknown and (s[S_PENDING] == MISSING or seq < s[S_PENDING]):
                s[S_PENDING] = seq
        num_units += 1
    out[OUT_STREAMS] = num_streams
    out[OUT_UNITS] = num_units
    out[OUT_MEMBERS] = num_members
