"""Pickle opcodes by hand: what no pickler would write, and honest dumps to hide it in."""

import struct
from typing import Any

from triage.parsers.flight_recorder.interpreter import hash_bytes

HEAD = b"\x80\x02"
STOP = b"."


class Raw(bytes):
    """Opcodes that push one value, to stand anywhere a value may."""


class Pairs(list[tuple[Any, Any]]):
    """A dict that may name a key twice, or name what cannot be hashed."""


def protocol(number: int) -> bytes:
    return b"\x80" + bytes([number])


def text(raw: str | bytes) -> bytes:
    """BINUNICODE of any bytes, valid or not."""
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    return b"X" + struct.pack("<I", len(data)) + data


def value(one: Any) -> bytes:
    """``one`` as opcodes, without a memo."""
    if isinstance(one, Raw):
        return bytes(one)
    if one is None:
        return b"N"
    if one is True or one is False:
        return b"\x88" if one else b"\x89"
    if isinstance(one, int):
        if -(2**31) <= one < 2**31:
            return b"J" + struct.pack("<i", one)
        width = 8 if -(2**63) <= one < 2**63 else (one.bit_length() + 8) // 8
        head = b"\x8a" + bytes([width]) if width < 256 else b"\x8b" + struct.pack("<I", width)
        return head + one.to_bytes(width, "little", signed=True)
    if isinstance(one, float):
        return b"G" + struct.pack(">d", one)
    if isinstance(one, str | bytes):
        return text(one)
    if isinstance(one, dict | Pairs):
        pairs = one.items() if isinstance(one, dict) else one
        return b"}(" + b"".join(value(key) + value(item) for key, item in pairs) + b"u"
    if isinstance(one, list):
        return b"](" + b"".join(map(value, one)) + b"e"
    return b"(" + b"".join(map(value, one)) + b"t"


def mark(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts)


def whole(one: Any) -> bytes:
    """A pickle that holds ``one``."""
    return HEAD + value(one) + STOP


BORN = 1_780_000_000_000_000_000


def entry(number: int = 0, **fields: Any) -> dict[str, Any]:
    """One finished all-reduce, as format 2.10 writes it; ``fields`` replace or add."""
    born = BORN + number * 1_000_000
    return {
        "frames": [{"name": "step", "filename": "train.py", "line": 10}],
        "record_id": number,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "thread_name": "python",
        "thread_id": "139705465170816",
        "collective_seq_id": number + 1,
        "p2p_seq_id": 0,
        "op_id": number + 1,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": born,
        "input_sizes": [[16, 64]],
        "input_dtypes": ["Float"],
        "output_sizes": [[16, 64]],
        "output_dtypes": ["Float"],
        "state": "completed",
        "time_discovered_started_ns": born + 1000,
        "time_discovered_completed_ns": born + 2000,
        "retired": True,
        "timeout_ms": 600_000,
        "is_p2p": False,
        **fields,
    }


def dump(entries: Any = None, **top: Any) -> dict[str, Any]:
    """The value of a whole dump of rank 0 of 8; ``top`` replaces or adds keys."""
    return {
        "version": "2.10",
        "pg_config": {
            "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}
        },
        "comm_lib_version": "2.27.5",
        "pg_status": {
            "0": {
                "last_enqueued_collective": 3,
                "last_started_collective": -1,
                "last_completed_collective": 3,
            }
        },
        **top,
        "entries": [entry(n) for n in range(3)] if entries is None else entries,
    }


WORD = 2**64
TURN = 0xC4CEB9FE1A85EC53


def collide(count: int) -> list[bytes]:
    """Distinct 16-byte texts of one and the same content hash."""
    start = 0x9E3779B97F4A7C15 ^ (16 * 0xFF51AFD7ED558CCD % WORD)
    found = []
    for number in range(count):
        state = (start ^ number) * TURN % WORD
        state ^= state >> 29
        found.append(struct.pack("<QQ", number, state ^ 0x1234567))
    return found


def same_hash(texts: list[bytes]) -> bool:
    import numpy as np

    return len({int(hash_bytes(np.frombuffer(one, np.uint8), 0, len(one))) for one in texts}) == 1
