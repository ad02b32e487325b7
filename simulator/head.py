"""What a dump says before its entries: version, groups, counters."""

from simulator.compiled import compiled_plain
from simulator.opcodes import SETITEMS, open_dict, open_list, put_int, put_string
from simulator.slots import NUM_SLOTS
from simulator.tables import KEYS, Desk, Job, Style

_VERSION = KEYS.index("version")
_PG_CONFIG = KEYS.index("pg_config")
_PG_STATUS = KEYS.index("pg_status")
_ENTRIES = KEYS.index("entries")
_NAME = KEYS.index("name")
_LAST_ENQUEUED = KEYS.index("last_enqueued_collective")


@compiled_plain
def _put_groups(desk: Desk, at: int, rank: int, job: Job, key: int) -> int:
    """``pg_config`` or ``pg_status``: one dict of three values per group that is set up."""
    out, memo, status = desk.out, desk.memo, desk.status
    at = put_string(out, at, key, memo)
    at = open_dict(out, at)
    for slot in range(NUM_SLOTS):
        if status[slot, 3] == 0:
            continue
        group = job.group_of[rank, slot]
        config = key == _PG_CONFIG
        name = job.group_name[group] if config else job.pg_id_text[job.pg_id[rank, slot]]
        at = put_string(out, at, name, memo)
        at = open_dict(out, at)
        for turn in range(3):
            inner = _NAME if config else _LAST_ENQUEUED
            at = put_string(out, at, inner + turn, memo)
            if config:
                text = name
                if turn > 0:
                    text = job.group_desc[group] if turn == 1 else job.group_ranks[group]
                at = put_string(out, at, text, memo)
            else:
                at = put_int(out, at, status[slot, turn])
        out[at] = SETITEMS
        at += 1
    out[at] = SETITEMS
    return at + 1


@compiled_plain
def put_head(desk: Desk, rank: int, job: Job, style: Style) -> int:
    """Everything before the entries."""
    out, memo = desk.out, desk.memo
    out[0] = 0x80
    out[1] = 2
    at = open_dict(out, 2)
    at = put_string(out, at, _VERSION, memo)
    at = put_string(out, at, style.version, memo)
    at = _put_groups(desk, at, rank, job, _PG_CONFIG)
    if style.library_key:
        at = put_string(out, at, style.library_key, memo)
        at = put_string(out, at, style.library, memo)
    at = _put_groups(desk, at, rank, job, _PG_STATUS)
    at = put_string(out, at, _ENTRIES, memo)
    return open_list(out, at)
