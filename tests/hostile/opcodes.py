"""Opcodes that nobody runs, and that cost: memory, recursion, hashing, endless walks."""

import struct
from collections.abc import Iterator

from tests.hostile.assembler import (
    HEAD,
    STOP,
    Pairs,
    Raw,
    collide,
    dump,
    entry,
    protocol,
    text,
    value,
    whole,
)
from tests.hostile.inputs import Hostile, Wants, hostile

MIB = 1 << 20
HUGE = 20_000_000_000
FILE_LIMIT = 64 * MIB


def hidden(code: bytes, **fields: object) -> bytes:
    """A dump of one entry; ``code`` stands under a key that nobody reads."""
    return whole(dump([entry(**fields)], extra=Raw(code)))


def hashing() -> Iterator[Hostile]:
    """What a loader would hash, as a key of a dict."""
    nested = b")" + b"\x85" * 1_000_000
    yield hostile(
        "hash", "1-tuples nested a million deep as key", HEAD + b"}" + nested + b"Ns.", says="key"
    )
    yield hostile("hash", "1-tuples nested in an entry", lambda: hidden(nested), "any", heavy=True)
    doubled = b")" + b"2\x86" * 60
    yield hostile(
        "hash", "tuple doubled by DUP as key", HEAD + b"}" + doubled + b"Ns.", says="0x32"
    )
    memo = b")q\x00" + b"".join(b"0h%c\x68%c\x86q%c" % (k, k, k + 1) for k in range(60))
    yield hostile(
        "hash", "tuple doubled by the memo, with POP", HEAD + b"}" + memo + b"Ns.", says="0x30"
    )
    pairs = b"(" + b")q\x00" + b"".join(b"h%ch%c\x86q%c" % (k, k, k + 1) for k in range(60)) + b"t"
    yield hostile(
        "hash", "tuple doubled by the memo as key", HEAD + b"}" + pairs + b"Ns.", says="key"
    )
    yield hostile("hash", "tuple doubled by the memo as value", hidden(pairs), "read")
    for count in (1000, 30_000):
        keys = b"".join(value((2**61 - 1) * k) + b"N" for k in range(1, count))
        yield hostile(
            "hash", f"{count} integer keys of one hash", hidden(b"}(" + keys + b"u"), "any"
        )

    def spread() -> bytes:
        keys = (b"\x8a\x08" + struct.pack("<q", k << 20) + b"N" for k in range(100_000))
        return hidden(b"}(" + b"".join(keys) + b"u")

    yield hostile("hash", "100,000 integer keys", spread, "read")
    for count in (400, 1000, 100_000):
        wants: Wants = "read" if count < 500 else "refused"
        yield hostile(
            "hash",
            f"{count} texts of one hash",
            lambda count=count: hidden(value(collide(count))),
            wants,
            "collide" if count > 500 else "",
        )
    for key in (None, True, 1.5, [], {}, ()):
        yield hostile("hash", f"{key!r} as key", whole(dump(extra=Pairs([(key, 1)]))), says="key")


def memo() -> Iterator[Hostile]:
    for index in (1, 255, 1000, 50_000_000, 2**27, 2**31 - 1, 2**32 - 1):
        put = b"r" + struct.pack("<I", index)
        yield hostile("memo", f"LONG_BINPUT {index}", HEAD + b"N" + put + STOP, says="memo")
    yield hostile("memo", "BINPUT 255", HEAD + b"Nq\xff" + STOP, says="memo")
    yield hostile("memo", "LONG_BINGET of nothing", HEAD + b"j\xff\xff\xff\x7f" + STOP, says="memo")
    yield hostile("memo", "BINGET of nothing", HEAD + b"h\x00" + STOP, says="memo")
    yield hostile("memo", "BINPUT of nothing", HEAD + b"q\x00" + STOP, says="takes more")
    yield hostile("memo", "BINPUT of a mark", HEAD + b"N(q\x00" + STOP, says="takes more")
    yield hostile("memo", "MEMOIZE of nothing", HEAD + b"\x94" + STOP, says="takes more")
    yield hostile("memo", "text PUT and GET", HEAD + b"Np0\ng0\n" + STOP, says="0x70")
    yield hostile(
        "memo",
        "5 million MEMOIZE",
        lambda: HEAD + b"N" + b"\x94" * 5_000_000 + STOP,
        says="memo",
        heavy=True,
    )
    yield hostile(
        "memo",
        "60 million BINPUT of one index",
        lambda: HEAD + b"N" + b"q\x00" * (30 * MIB) + STOP,
        says="top",
        heavy=True,
    )


def floods() -> Iterator[Hostile]:
    many = FILE_LIMIT - 64
    for name, code, says in (
        ("EMPTY_SET", b"\x8f", "0x8f"), ("FROZENSET", b"(\x91", "0x91"), ("NONE", b"N", "values"),
        ("EMPTY_DICT", b"}", "values"), ("EMPTY_LIST", b"]", "values"),
        ("EMPTY_TUPLE", b")", "values"), ("MARK", b"(", "nested"), ("BININT1", b"K\x00", "values"),
        ("BINFLOAT", b"G\x7f\xf8\0\0\0\0\0\0", "values"), ("DUP", b"2", "0x32"),
    ):  # fmt: skip
        small = code * 5_000
        yield hostile("flood", f"{name} x 5,000 and no more", HEAD + small + STOP)
        if name in ("EMPTY_SET", "EMPTY_DICT", "EMPTY_LIST"):
            million = code * 1_000_000
            yield hostile(
                "flood",
                f"{name} x 5 million",
                lambda million=million: HEAD + million * 5 + STOP,
                says=says,
                heavy=True,
            )
        yield hostile(
            "flood",
            f"{name} to the limit",
            lambda code=code: HEAD + code * (many // len(code)) + STOP,
            says=says,
            heavy=True,
        )
    for name, code, says in (
        ("lists in a list", b"](" + b"]" * 500_000 + b"e", ""),
        ("dicts in a list", b"](" + b"}" * 500_000 + b"e", ""),
        ("tuples in a list", b"](" + b")" * 500_000 + b"e", ""),
        ("empty batches", b"]" + b"(e" * 500_000, ""),
        ("one append at a time", b"]" + b"Na" * 500_000, ""),
        ("one-tuples", b"](" + b"N\x85" * 500_000 + b"e", ""),
        ("protocol marks", b"\x80\x02" * 500_000 + b"N", ""),
        ("frames", (b"\x95" + bytes(8)) * 100_000 + b"N", ""),
        ("frames of 2**63 bytes", (b"\x95" + b"\xff" * 8) * 1000 + b"N", ""),
        ("BINGET", b"](N\x94" + b"h\x00" * 1_000_000 + b"e", ""),
    ):  # fmt: skip
        yield hostile("flood", name, hidden(code), "read", says)
    batch = b"(" + b"]" * 1_900_000 + b"e"
    yield hostile(
        "flood",
        "6 million lists in batches",
        lambda batch=batch: hidden(b"]" + batch * 3),
        says="containers",
        heavy=True,
    )
    batch = b"(" + b"N" * 1_900_000 + b"e"
    yield hostile(
        "flood",
        "60 million values in batches",
        lambda batch=batch: hidden(b"]" + batch * 32),
        says="values",
        heavy=True,
    )
    yield hostile(
        "flood",
        "single appends to the limit",
        lambda: hidden(b"]" + b"Na" * (31 * MIB)),
        says="containers",
        heavy=True,
    )

    def texts() -> bytes:
        each = (b"\x8c\x04" + struct.pack("<I", n) for n in range(1_200_000))
        return hidden(b"](" + b"".join(each) + b"e")

    yield hostile("flood", "1.2 million distinct texts", texts, says="strings", heavy=True)
    yield hostile(
        "flood",
        "one byte past the limit",
        lambda: bytes([0x80, 2]) + bytes(FILE_LIMIT),
        says="67,108,866",
        heavy=True,
    )


def lengths() -> Iterator[Hostile]:
    """Every opcode that declares a length, with one that nobody has."""
    eight = struct.pack("<Q", HUGE)
    four = struct.pack("<I", 4_294_967_295)
    for name, code in {
        "BINUNICODE8": b"\x8d" + eight, "BINBYTES8": b"\x8e" + eight, "BYTEARRAY8": b"\x96" + eight,
        "BINUNICODE8 of 2**64-1": b"\x8d" + b"\xff" * 8,
        "BINBYTES8 of 2**63": b"\x8e" + bytes(7) + b"\x80",
        "BINUNICODE": b"X" + four, "BINBYTES": b"B" + four, "BINSTRING": b"T" + four,
        "LONG4": b"\x8b" + four, "LONG4 of 2**31-1": b"\x8b" + struct.pack("<I", 2**31 - 1),
        "SHORT_BINBYTES": b"C\xff", "SHORT_BINSTRING": b"U\xff", "LONG1 of 255": b"\x8a\xff",
        "BINUNICODE of 2 MiB and 1": b"X" + struct.pack("<I", 2 * MIB + 1),
    }.items():  # fmt: skip
        yield hostile("length", f"{name} alone", HEAD + code + b"abc" + STOP)
        yield hostile(
            "length",
            f"{name} in an entry",
            whole(dump([entry(), entry(frames=Raw(code + b"abc"))])),
        )
    for name, code in {
        "FRAME": b"\x95" + eight, "FRAME of 2**64-1": b"\x95" + b"\xff" * 8,
    }.items():  # fmt: skip
        yield hostile("length", name, HEAD + code + value(dump()) + STOP, "read")
        yield hostile("length", f"{name} at the end", whole(dump())[:-1] + code + STOP, "read")
    for name, code in {
        "SHORT_BINUNICODE": b"\x8c\xff", "BINUNICODE of 1 MiB": b"X" + struct.pack("<I", MIB),
    }.items():  # fmt: skip
        yield hostile(
            "length",
            f"{name} past the end",
            whole(dump())[:-2] + code + b"abc",
            "partial",
            "file ends",
        )


def shared() -> Iterator[Hostile]:
    """Small in memory, endless when walked, copied, compared or printed."""
    doubled = b"]q\x00" + b"".join(b"](h%ch%ceq%c" % (k, k, k + 1) for k in range(60))
    chain = b"(" + doubled + b"t"
    yield hostile("shared", "lists doubled 60 times", hidden(chain), "read")
    last = Raw(b"(" + doubled + b"th<")  # the last one, from the memo
    for field in ("input_sizes", "output_sizes", "input_dtypes", "frames", "process_group"):
        first = Raw(doubled.replace(b"](", b"](", 1))
        grown = Raw(b"](" + first[:0] + doubled + b"e")
        yield hostile(
            "shared",
            f"lists doubled 60 times as {field}",
            whole(dump([entry(**{field: grown})])),
            "any",
        )
    yield hostile("shared", "two values where one belongs", whole(dump([entry(frames=last)])))
    own = Raw(b"]q\x00(h\x00h\x00e")
    itself = Raw(b"}q\x00(" + text("a") + b"h\x00" + text("ranks") + b"h\x00u")
    for field in (
        "frames",
        "input_sizes",
        "input_dtypes",
        "process_group",
        "profiling_name",
        "state",
    ):
        yield hostile(
            "shared",
            f"a list that holds itself as {field}",
            whole(dump([entry(**{field: own})])),
            "any",
        )
        yield hostile(
            "shared",
            f"a dict that holds itself as {field}",
            whole(dump([entry(**{field: itself})])),
            "any",
        )
    yield hostile("shared", "a list that holds itself as entries", whole(dump(own)))
    yield hostile("shared", "a list that holds itself alone", HEAD + own + STOP)
    yield hostile("shared", "a dict that holds itself alone", HEAD + itself + STOP)
    yield hostile("shared", "pg_config that holds itself", whole(dump(pg_config=itself)), "read")
    yield hostile(
        "shared",
        "the top as its own entries",
        HEAD + b"}q\x00(" + text("entries") + b"](h\x00e" + b"u" + STOP,
    )
    yield hostile(
        "shared",
        "the top as its own pg_config",
        HEAD + b"}q\x00(" + text("pg_config") + b"h\x00u" + STOP,
        "read",
    )

    wide = Raw(b"}(" + b"K\x01N" * 20_000 + b"uq\x00")
    again = Raw(b"h\x00")
    rows = Pairs([(0, wide)] + [(0, again)] * 20_000)
    yield hostile(
        "shared",
        "20,000 groups of one wide dict",
        whole(dump(pg_config=rows)),
        says="would not end",
    )
    yield hostile(
        "shared",
        "20,000 counters of one wide dict",
        whole(dump(pg_status=rows)),
        says="would not end",
    )
    table = Raw(b"}(" + b"K\x01}q\x00" + b"K\x01h\x00" * 20_000 + b"uq\x01")
    tops = Pairs([("pg_config", table)] + [("pg_config", Raw(b"h\x01"))] * 20_000)
    yield hostile("shared", "20,000 times pg_config", whole(tops), says="would not end")
    shape = Raw(b"](" + b"K\x01" * 20_000 + b"eq\x00")
    sizes = [shape] + [again] * 20_000
    yield hostile(
        "shared",
        "20,000 shapes of one long list",
        whole(dump([entry(input_sizes=sizes)])),
        says="would not end",
    )
    hollow = Raw(b"]" + b"(e" * 100_000 + b"q\x00")
    sizes = [hollow] + [again] * 10_000
    yield hostile(
        "shared",
        "10,000 shapes of one hollow list",
        whole(dump([entry(input_sizes=sizes)])),
        "read",
    )
    frames = Raw(b"](" + wide + b"h\x00" * 20_000 + b"e")
    yield hostile(
        "shared", "20,000 frames of one wide dict", whole(dump([entry(frames=frames)])), "read"
    )
    one = Raw(value(entry()) + b"q\x00")
    yield hostile(
        "shared",
        "400,000 times one entry",
        lambda: whole(dump([one] + [again] * 399_999)),
        "read",
        heavy=True,
    )
    yield hostile(
        "shared",
        "400,001 entries",
        lambda: whole(dump([one] + [again] * 400_000)),
        says="400,001 entries",
        heavy=True,
    )
    yield hostile(
        "shared",
        "a million entries",
        lambda: whole(dump([one] + [again] * 999_999)),
        says="entries",
        heavy=True,
    )
    bad = Raw(text(b"\xff" * (2 * MIB)) + b"q\x00")
    inner = Raw(value([bad] + [again] * 63) + b"q\x01")
    types = [inner] + [Raw(b"h\x01")] * 63
    yield hostile(
        "shared",
        "4,096 times a bad text of 2 MiB",
        whole(dump([entry(input_dtypes=types)])),
        "read",
    )
    ranks = Raw(text(b"[" + b" " * (2 * MIB - 2) + b"]") + b"q\x00")
    row = Raw(b"}(" + text("ranks") + b"h\x00u")
    rows = Pairs([("a", {"ranks": ranks})] + [("a", row)] * 50_000)
    yield hostile(
        "shared", "50,000 times ranks of 2 MiB", whole(dump(pg_config=rows)), "read", heavy=True
    )


def nesting() -> Iterator[Hostile]:
    for depth in (10, 13):
        yield hostile("nesting", f"{depth} lists", hidden(b"](" * depth + b"e" * depth), "read")
    for depth in (17, 100, 1_000_000):
        yield hostile(
            "nesting", f"{depth} lists", hidden(b"](" * depth + b"e" * depth), says="nested"
        )
        yield hostile(
            "nesting", f"{depth} tuples", hidden(b"(" * depth + b"t" * depth), says="nested"
        )
        yield hostile(
            "nesting", f"{depth} dicts", hidden(b"}(N" * depth + b"u" * depth), says="nested"
        )
    inside_out = b"]" * 100_000 + b"a" * 99_999
    yield hostile("nesting", "100,000 lists by APPEND", hidden(inside_out), "read")
    yield hostile(
        "nesting",
        "100,000 lists by APPEND as frames",
        whole(dump([entry(frames=Raw(inside_out))])),
        "read",
    )
    yield hostile(
        "nesting",
        "100,000 lists by APPEND as sizes",
        whole(dump([entry(input_sizes=Raw(inside_out))])),
        "read",
    )


def integers() -> Iterator[Hostile]:
    for width in (9, 10, 255):
        yield hostile(
            "integer",
            f"LONG1 of {width} bytes",
            hidden(b"\x8a" + bytes([width]) + b"\x01" * width),
            says=f"{width} bytes",
        )
    for width in (9, 5000, MIB):
        code = b"\x8b" + struct.pack("<I", width) + b"\x7f" * width
        yield hostile("integer", f"LONG4 of {width} bytes", hidden(code), says=f"{width} bytes")
    yield hostile("integer", "LONG4 of 8 bytes", hidden(b"\x8b\x08\0\0\0" + b"\x01" * 8), "read")
    yield hostile("integer", "LONG1 of 0 bytes", hidden(b"\x8a\x00"), "read")
    yield hostile(
        "integer", "LONG of 5,000 digits", hidden(b"L" + b"9" * 5000 + b"L\n"), says="0x4c"
    )
    yield hostile("integer", "INT of 5,000 digits", hidden(b"I" + b"9" * 5000 + b"\n"), says="0x49")
    yield hostile("integer", "FLOAT as text", hidden(b"F1e400\n"), says="0x46")


def stops() -> Iterator[Hostile]:
    good = whole(dump())
    yield hostile("stop", "a second pickle", good + good, says="follow the end")
    yield hostile(
        "stop",
        "a second one after a page of zeros",
        good + bytes(4096) + good,
        says="follow the end",
    )
    yield hostile("stop", "one byte more", good + b"\x01", says="1 bytes follow")
    yield hostile("stop", "a line break more", good + b"\n", says="follow the end")
    for zeros in (1, 511, 4096, 1_000_000):
        yield hostile("stop", f"{zeros} zeros after the end", good + bytes(zeros), "read")
        yield hostile(
            "stop",
            f"{zeros} zeros instead of the end",
            good[:-1] + bytes(zeros),
            "partial",
            "zeros follow",
        )
    yield hostile("stop", "no end", good[:-1], "partial", "the file ends")
    yield hostile("stop", "STOP alone", HEAD + STOP, says="takes more")
    yield hostile("stop", "STOP with two values", HEAD + b"NN" + STOP, says="takes more")
    yield hostile("stop", "STOP inside a mark", HEAD + b"N(" + STOP, says="takes more")
    yield hostile("stop", "nothing but a protocol", HEAD, says="cut off")
    yield hostile("stop", "one byte", b"\x80", says="cut off")
    yield hostile("stop", "an empty file", b"", says="empty")
    for count in (1, 100, MIB):
        yield hostile("stop", f"{count} zeros", bytes(count))
    for number in (0, 1, 6, 7, 127, 128, 255):
        yield hostile(
            "stop", f"protocol {number}", protocol(number) + value(dump()) + STOP, says="protocol"
        )
        yield hostile(
            "stop",
            f"protocol {number} later",
            HEAD + protocol(number) + value(dump()) + STOP,
            says="protocol",
        )
    for name, root in {
        "None": None, "an integer": 7, "a text": "entries", "a float": 1.0, "a tuple": (),
        "a dict of other things": {"a": 1}, "an empty dict": {}, "a list of integers": [1, 2, 3],
        "a list of empty dicts": [{}, {}], "state_dict": {"model": {"weight": [1.0]}},
        "entries that are a dict": {"entries": {}}, "entries that are None": {"entries": None},
    }.items():  # fmt: skip
        yield hostile("stop", f"the top is {name}", whole(root))


def stack() -> Iterator[Hostile]:
    """Opcodes that take what is not there, or add to what is no container."""
    for name, code in {
        "APPEND to nothing": b"Na", "APPENDS without a mark": b"]Ne", "APPENDS to a dict": b"}(Ne",
        "APPENDS to a tuple": b")(Ne", "APPENDS to a text": text("a") + b"(Ne",
        "SETITEMS to a list": b"](NNu", "SETITEMS of an odd number": b"}(NNNu",
        "SETITEM on nothing": b"NNs", "SETITEM on None": b"NNNs", "TUPLE2 of one": b"N\x86",
        "TUPLE3 of nothing": b"\x87", "TUPLE without a mark": b"Nt",
        "TUPLE2 across a mark": b"N(N\x86",
        "APPEND across a mark": b"](Na", "POP": b"N0", "POP_MARK": b"(N1", "DICT": b"(NNd",
        "LIST": b"(Nl", "ADDITEMS": b"\x8f(N\x90", "BYTEARRAY8": b"\x96" + bytes(8),
        "SHORT_BINBYTES": b"C\x01a", "UNICODE": b"Vabc\n", "STRING": b"S'abc'\n",
    }.items():  # fmt: skip
        yield hostile("stack", name, HEAD + code + STOP)
        yield hostile("stack", f"{name} in an entry", whole(dump([entry(frames=Raw(code))])))


def inputs() -> Iterator[Hostile]:
    for part in (hashing, memo, floods, lengths, shared, nesting, integers, stops, stack):
        yield from part()
