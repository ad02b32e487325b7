"""The same malice as JSON."""

from collections.abc import Iterator

import orjson

from tests.hostile.assembler import dump, entry
from tests.hostile.damage import KINDS, SEED, mutate
from tests.hostile.inputs import Hostile, hostile

MIB = 1 << 20
GOOD = orjson.dumps(dump())


def around(inner: bytes, key: bytes = b"extra") -> bytes:
    return GOOD[:-1] + b',"' + key + b'":' + inner + b"}"


def inputs() -> Iterator[Hostile]:
    import random

    for depth in (30, 1000, 100_000, 1_000_000):
        yield hostile(
            "json", f"lists nested {depth} deep", around(b"[" * depth + b"]" * depth), says="nested"
        )
        yield hostile(
            "json",
            f"objects nested {depth} deep",
            around(b'{"a":' * depth + b"1" + b"}" * depth),
            says="nested",
        )
        yield hostile(
            "json",
            f"{depth} brackets and no end",
            b'{"entries":' + b"[" * depth,
            says="nested" if depth > 23 else "",
        )
    yield hostile("json", "brackets inside a text", around(b'"' + b"[{" * 100_000 + b'"'), "read")
    yield hostile("json", "5,000 digits", around(b"9" * 5000), "any")
    yield hostile(
        "json",
        "5,000 digits as a time",
        orjson.dumps(dump([entry()])).replace(b"1780000000000000000", b"9" * 5000, 1),
        "any",
    )
    for number in (
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "-0",
        "0x10",
        "01",
        "1_000",
        "+1",
        ".5",
    ):
        odd = GOOD.replace(b'"record_id":0', b'"record_id":' + number.encode())
        yield hostile(
            "json",
            f"the number {number}",
            odd,
            "read" if number == "-0" else "any" if number == "1e400" else "refused",
            "" if number in ("-0", "1e400") else "JSON",
        )
    yield hostile(
        "json",
        "2**63 and more",
        GOOD.replace(b'"record_id":0', b'"record_id":18446744073709551615'),
        "read",
    )
    for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-7", "cp037"):
        yield hostile(
            "json",
            f"in {code}",
            GOOD.decode().encode(code),
            "read" if code == "utf-7" else "refused",
        )
    yield hostile("json", "a lone surrogate", GOOD.replace(b"all_reduce", b"\\ud800"), "any")
    yield hostile(
        "json", "bytes that are no UTF-8", GOOD.replace(b"all_reduce", b"\xff\xfe"), says="JSON"
    )
    yield hostile("json", "a NUL in a text", GOOD.replace(b"all_reduce", b"\\u0000"), "read")
    yield hostile("json", "a bare NUL", GOOD.replace(b"all_reduce", b"\0"), says="JSON")
    yield hostile("json", "each key twice", b"{" + GOOD[1:-1] + b"," + GOOD[1:], "read")
    yield hostile("json", "a comment", b"/* */" + GOOD)
    yield hostile("json", "a comma too many", GOOD[:-1] + b",}", says="comma")
    yield hostile("json", "a second object", GOOD + GOOD, says="JSON")
    yield hostile("json", "one object a line", GOOD + b"\n" + GOOD + b"\n", says="JSON")
    yield hostile("json", "zeros after the end", GOOD + bytes(512), says="JSON")
    yield hostile("json", "white space around", b" \n\t" * 50 + GOOD + b" \n" * 5000, "read")
    yield hostile("json", "single quotes", GOOD.replace(b'"', b"'"))
    yield hostile("json", "Python's repr", repr(dump()).encode())
    for at in range(100, len(GOOD), 250):
        yield hostile("json", f"cut at byte {at}", GOOD[:at], says="JSON")
    for name, top in {
        "null": b"null", "a number": b"5", "a text": b'"entries"', "a list": b"[]",
        "an object": b"{}",
        "a list of nulls": b"[null,null]", "entries of nulls": b'{"entries":[null,null]}',
        "a list of entries": orjson.dumps([entry(n) for n in range(3)]),
    }.items():  # fmt: skip
        yield hostile(
            "json", f"the top is {name}", top, "read" if "of entries" in name else "refused"
        )
    for key in ("entries", "pg_config", "pg_status", "version", "comm_lib_version"):
        for name, bad in {
            "null": None,
            "a text": "x",
            "a number": 1,
            "a list": [1],
            "an object": {"a": {"b": 1}},
        }.items():
            value = orjson.dumps({**dump(), key: bad})
            yield hostile(
                "json",
                f"{key} is {name}",
                value,
                "refused" if (key, name) == ("entries", "a list") else "read",
            )
    for name, counters in {
        "text": {"0": {"last_enqueued_collective": "7 or so"}},
        "5,000 digits": {"0": {"last_enqueued_collective": "9" * 5000}},
        "lists": {"0": [1]},
    }.items():
        yield hostile(
            "json", f"counters are {name}", orjson.dumps(dump(pg_status=counters)), "read"
        )
    dice = random.Random(SEED)
    for kind in KINDS:
        for number in range(4):
            yield hostile("json", f"{kind} {number}", mutate(GOOD, dice, kind), "any")
    yield from lists_of_many()
    yield hostile(
        "json",
        "a text of 60 MiB and an emoji",
        lambda: around(b'"' + b"a" * (60 * MIB) + '\U0001f525"'.encode()),
        "any",
        heavy=True,
    )
    yield hostile(
        "json",
        "a version of 60 MiB and an emoji",
        lambda: around(b'"' + b"a" * (60 * MIB) + '\U0001f525"'.encode(), b"version"),
        says="string",
        heavy=True,
    )
    yield hostile(
        "json",
        "400,001 entries",
        lambda: b'{"entries":[' + b'{"op_id":1},' * 400_000 + b"{}]}",
        says="400,001",
        heavy=True,
    )
    yield hostile(
        "json",
        "a million keys",
        lambda: around(
            b"{" + b",".join(b'"%d":0' % n for n in range(1_000_000)) + b"}", b"pg_config"
        ),
        "any",
        heavy=True,
    )


def lists_of_many() -> Iterator[Hostile]:
    """Lists of so many values that they are counted."""
    for name, part in {
        "empty lists": b"[],", "empty objects": b"{},", "objects of one": b'{"":0},',
        "nulls": b"null,",
        "numbers": b"1,", "floats": b"1.5,", "empty texts": b'"",',
        "emoji": '"\U0001f525",'.encode(),
    }.items():  # fmt: skip

        def most(part: bytes = part) -> bytes:
            return around(b"[" + part * ((60 * MIB) // len(part)) + b"0]", b"pg_config")

        # Where values are counted is one place for all: these are the most and the fewest a byte.
        if name in ("empty lists", "objects of one", "emoji"):
            yield hostile("json", f"{name} to the size limit", most, says="values", heavy=True)
        for key in ("extra", "pg_config") if name in ("empty lists", "emoji") else ("pg_config",):

            def many(part: bytes = part, key: str = key) -> bytes:
                each = 1 + part.count(b"[") + part.count(b"{") + part.count(b":")
                return around(b"[" + part * (2_900_000 // each) + b"0]", key.encode())

            yield hostile("json", f"{name} to the value limit in {key}", many, "any", heavy=True)
