"""What a dump says before its entries: version, groups, counters."""

from triage.simulator.compiled import compiled_plain
from triage.simulator.opcodes import SETITEMS, open_dict, open_list, put_int, put_string
from triage.simulator.slots import NUM_SLOTS
from triage.simulator.strings import Bytes
from triage.simulator.tables import KEYS, Job, Style, Words
from triage.simulator.topology import Ints

__all__ = ["put_head"]

VERSION = KEYS.index("version")
PG_CONFIG = KEYS.index("pg_config")
PG_STATUS = KEYS.index("pg_status")
ENTRIES = KEYS.index("entries")
NAME = KEYS.index("name")
LAST_ENQUEUED = KEYS.index("last_enqueued_collective")


@compiled_plain
def put_groups(
    out: Bytes, at: int, rank: int, status: Ints, job: Job, words: Words, key: int,
    memo: Ints, used: Ints,
) -> int:  # fmt: skip
    """``pg_config`` or ``pg_status``: one dict of three values per group that is set up."""
    at = put_string(out, at, key, words, memo, used)
    at = open_dict(out, at)
    for slot in range(NUM_SLOTS):
        if status[slot, 3] == 0:
            continue
        group = job.group_of[rank, slot]
        config = key == PG_CONFIG
        name = job.group_name[group] if config else job.pg_id_text[job.pg_id[rank, slot]]
        at = put_string(out, at, name, words, memo, used)
        at = open_dict(out, at)
        for turn in range(3):
            inner = NAME if config else LAST_ENQUEUED
            at = put_string(out, at, inner + turn, words, memo, used)
            if config:
                text = name
                if turn > 0:
                    text = job.group_desc[group] if turn == 1 else job.group_ranks[group]
                at = put_string(out, at, text, words, memo, used)
            else:
                at = put_int(out, at, status[slot, turn])
        out[at] = SETITEMS
        at += 1
    out[at] = SETITEMS
    return at + 1


@compiled_plain
def put_head(
    out: Bytes, rank: int, status: Ints, job: Job, words: Words, style: Style,
    memo: Ints, used: Ints,
) -> int:  # fmt: skip
    """Everything before the entries; ``status[slot]`` is enqueued, started, completed, set up."""
    out[0] = 0x80
    out[1] = 2
    at = open_dict(out, 2)
    at = put_string(out, at, VERSION, words, memo, used)
    at = put_string(out, at, style.version, words, memo, used)
    at = put_groups(out, at, rank, status, job, words, PG_CONFIG, memo, used)
    if style.library_key:
        at = put_string(out, at, style.library_key, words, memo, used)
        at = put_string(out, at, style.library, words, memo, used)
    at = put_groups(out, at, rank, status, job, words, PG_STATUS, memo, used)
    at = put_string(out, at, ENTRIES, words, memo, used)
    return open_list(out, at)
