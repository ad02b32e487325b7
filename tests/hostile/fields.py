"""Dumps of the right shape whose values are wrong, missing, huge, or text to beware of."""

import math
from collections.abc import Iterator

from tests.hostile.assembler import Pairs, Raw, dump, entry, value, whole
from tests.hostile.inputs import Hostile, hostile

INTEGERS = (
    "record_id", "pg_id", "collective_seq_id", "p2p_seq_id", "op_id", "time_created_ns",
    "time_discovered_started_ns", "time_discovered_completed_ns", "timeout_ms",
)  # fmt: skip
LISTS = ("input_sizes", "output_sizes", "input_dtypes", "output_dtypes", "frames")
FLAGS = ("retired", "is_p2p")
TEXTS = ("profiling_name", "state", "thread_name", "thread_id")
EXTREMES = {"-1": -1, "-2**63": -(2**63), "2**31": 2**31, "2**63-1": 2**63 - 1}

TEXT_TO_BEWARE_OF = {
    "a lone surrogate": "nccl:\ud800reduce",
    "a NUL": "nccl:all\0reduce",
    "bytes that are no UTF-8": b"nccl:\xff\xfe\xc0\xaf",
    "an overlong slash": b"nccl:\xc0\xaf",
    "bidi marks": "nccl:\u202eecuder_lla\u202c",
    "terminal escapes": "nccl:\x1b[2J\x1b]8;;http://example.invalid\x07all_reduce",
    "markup": "nccl:<script>alert(1)</script>",
    "a mention": "nccl:<!channel> @everyone",
    "a formula": "=HYPERLINK(1)",
    "line breaks": "nccl:all\r\nreduce",
    "an emoji": "nccl:\U0001f525" * 50,
    "nothing": "",
    "2 MiB": b"n" * (2 << 20),
    "2 MiB that are no UTF-8": b"\xff" * (2 << 20),
    "2 MiB of digits": b"nccl:send " + b"1" * ((2 << 20) - 10),
    "ranks of 2**40": "nccl:send 1099511627776->1",
    "ranks that are no digits": "nccl:send \u0661->\u0662",
}

RANKS = {
    "no JSON": "0, 1, 2", "nothing": "", "a number": "5", "an object": '{"0": 1}', "null": "null",
    "a text in the list": '["0", "1"]', "a float": "[0.0, 1.0]", "true": "[true, false]",
    "NaN": "[NaN]", "the same twice": "[0, 0, 1]", "negative": "[-1, 0]",
    "huge": "[0, 99999999999]",
    "5,000 digits": "[" + "9" * 5000 + "]", "lists": "[[0], [1]]", "deep": "[" * 1020 + "]" * 1020,
    "deeper": "[" * 100_000, "cut": "[0, 1, 2", "python": "range(8)", "a trailing comma": "[0, 1,]",
    "code": "__import__('os')", "spaces": "[" + " " * ((2 << 20) - 2) + "]", "bad UTF-8": b"[\xff]",
    "objects": "[" + ",".join(["{}"] * 100_000) + "]",
}  # fmt: skip


def one(**fields: object) -> bytes:
    return whole(dump([entry(0), entry(1, **fields), entry(2)]))


def types() -> Iterator[Hostile]:
    wrong = {
        "None": None, "true": True, "an integer": 7, "a float": 1.5, "a text": "x", "a list": [1],
        "a dict": {"a": 1}, "a tuple": (1, "x"), "an empty list": [], "an empty tuple": (),
    }  # fmt: skip
    for field in (*INTEGERS, *LISTS, *FLAGS, *TEXTS, "process_group"):
        for name, bad in wrong.items():
            yield hostile("type", f"{field} is {name}", one(**{field: bad}), "read")
    for field in ("version", "pg_config", "pg_status", "comm_lib_version", "nccl_comm_state"):
        for name, bad in wrong.items():
            yield hostile("type", f"{field} is {name}", whole(dump(**{field: bad})), "read")
    for name, bad in wrong.items():
        yield hostile("type", f"an entry is {name}", whole(dump([entry(), bad])), "read")
        rows = {"0": bad, "1": {"name": bad, "desc": bad, "ranks": bad}}
        yield hostile("type", f"groups hold {name}", whole(dump(pg_config=rows)), "read")
        rows = {"0": bad, "1": {"last_enqueued_collective": bad}}
        yield hostile("type", f"counters hold {name}", whole(dump(pg_status=rows)), "read")
        frames = [bad, {"name": bad, "filename": bad, "line": bad}]
        yield hostile("type", f"frames hold {name}", one(frames=frames, state="started"), "read")
        inside = one(input_sizes=[bad, [bad]], input_dtypes=[bad, [bad]], state="started")
        yield hostile("type", f"sizes hold {name}", inside, "read")
    for number in (math.nan, math.inf, -math.inf, 1e308):
        for field in (*INTEGERS, "duration_ms"):
            yield hostile("type", f"{field} is the float {number}", one(**{field: number}), "read")


def missing() -> Iterator[Hostile]:
    for field in entry():
        kept = {key: item for key, item in entry().items() if key != field}
        wants = {"profiling_name": "refused", "collective_seq_id": "partial"}.get(field, "read")
        yield hostile("missing", f"{field} in every entry", whole(dump([kept] * 3)), wants)
    for key in dump():
        kept = {name: item for name, item in dump().items() if name != key}
        yield hostile("missing", f"{key} at the top", whole(kept), "read")
    yield hostile(
        "missing", "everything but a name", whole(dump([{"profiling_name": "x"}])), "partial"
    )
    yield hostile("missing", "entries", whole(dump([])), "read")
    pairs = Pairs([*entry().items(), *entry(5).items()])
    yield hostile("missing", "nothing: each key twice", whole(dump([pairs])), "read")
    pairs = Pairs([*dump().items(), *dump([]).items()])
    yield hostile("missing", "nothing: each key of the top twice", whole(pairs), "read")


def extremes() -> Iterator[Hostile]:
    for field in INTEGERS:
        for name, number in EXTREMES.items():
            for state in ("completed", "scheduled"):
                data = one(**{field: number}, state=state)
                yield hostile("extreme", f"{field} is {name}, {state}", data, "read")
    for name, number in EXTREMES.items():
        yield hostile("extreme", f"sizes are {name}", one(input_sizes=[[number] * 4]), "read")
        gathers = [entry(0, profiling_name="gloo:all_gather", retired=True,
                         input_sizes=[[1]], output_sizes=[[number] * 64] * 64)]  # fmt: skip
        yield hostile(
            "extreme", f"gathered sizes are {name}", whole(dump(gathers, pg_config={})), "read"
        )
        keys = Pairs([(number, {"name": "0", "desc": "default_pg", "ranks": "[0]"})])
        yield hostile("extreme", f"a group's key is {name}", whole(dump(pg_config=keys)), "read")
        yield hostile("extreme", f"a counter's key is {name}", whole(dump(pg_status=keys)), "read")
        counters = {"0": dict.fromkeys(dump()["pg_status"]["0"], number)}
        yield hostile("extreme", f"counters are {name}", whole(dump(pg_status=counters)), "read")
        lines = [{"name": "f", "filename": "g", "line": number}]
        yield hostile("extreme", f"a line is {name}", one(frames=lines, state="started"), "read")
    falling = [entry(n, time_created_ns=2**62 - n * 2**54, record_id=100 - n) for n in range(100)]
    yield hostile("extreme", "times that fall by centuries", whole(dump(falling)), "read")


def texts() -> Iterator[Hostile]:
    for name, bad in TEXT_TO_BEWARE_OF.items():
        for field in ("profiling_name", "state"):
            heavy = len(bad) > 10_000
            yield hostile("text", f"{field} is {name}", one(**{field: bad}), "read", heavy=heavy)
        everywhere = dump(
            [entry(0, process_group=(bad, bad), thread_name=bad, input_dtypes=[bad],
                   state="started",
                   frames=[{"name": bad, "filename": bad, "line": 1}])],
            version=bad, comm_lib_version=bad,
            pg_config={bad: {"name": bad, "desc": bad, "ranks": "[0, 1]"}},
            pg_status={bad: {"last_enqueued_collective": 1}},
        )  # fmt: skip
        yield hostile(
            "text", f"{name} everywhere", whole(everywhere), "read", heavy=len(bad) > 10_000
        )
        yield hostile(
            "text",
            f"a key is {name}",
            whole(dump([{**entry(), bad: 1}])),
            "read",
            heavy=len(bad) > 10_000,
        )
    for version in (
        "3.0",
        "2.99",
        "0.1",
        "2",
        "2.x",
        "9" * 400 + ".1",
        "-1.0",
        "2.10.1",
        "\u0662.1",
    ):
        yield hostile("text", f"version {version[:20]}", whole(dump(version=version)), "read")


def groups() -> Iterator[Hostile]:
    for name, ranks in RANKS.items():
        table = {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}
        yield hostile("groups", f"ranks are {name}", whole(dump(pg_config=table)), "read")

    def of_a_million() -> bytes:
        table = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(1_000_000)))}}
        return whole(dump(pg_config=table))

    def of_200_000() -> bytes:
        table = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(200_000)))}}
        return whole(dump(pg_config=table))

    def rows(count: int) -> bytes:
        row = {"desc": "default_pg", "ranks": "[0, 1]"}
        table = Pairs((str(n), {"name": str(n), **row}) for n in range(count))
        return whole(dump(pg_config=table))

    def counters(count: int) -> bytes:
        return whole(
            dump(pg_status={str(n): {"last_enqueued_collective": n} for n in range(count)})
        )

    def many_lists() -> bytes:
        text = [str(n) for n in range(250_000)]
        lists = ("[" + ",".join(text[n:] + text[:n]) + "]" for n in range(30))
        return whole(dump(pg_config={str(n): {"ranks": one} for n, one in enumerate(lists)}))

    yield hostile("groups", "a million ranks", of_a_million, says="bytes", heavy=True)
    yield hostile("groups", "200,000 ranks", of_200_000, "read", heavy=True)
    yield hostile("groups", "30 lists of 250,000 ranks", many_lists, "read", heavy=True)
    yield hostile("groups", "100,000 groups", lambda: rows(100_000), "read", heavy=True)
    yield hostile("groups", "100,000 counters", lambda: counters(100_000), "read", heavy=True)
    shared = Raw(value({"name": "a", "ranks": "[0]"}) + b"q\x00")
    again = Raw(b"h\x00")
    table = Pairs([(0, shared)] + [(0, again)] * 600_000)
    yield hostile(
        "groups", "600,000 groups", lambda: whole(dump(pg_config=table)), says="groups", heavy=True
    )
    streams = [entry(n, process_group=(str(n), "x")) for n in range(4097)]
    yield hostile(
        "groups", "entries of 4,097 groups", lambda: whole(dump(streams)), says="4,096", heavy=True
    )

    def crossing() -> bytes:
        made = [
            Raw(
                value(entry(n, process_group=(str(n), "x"), frames=[]))
                + b"r"
                + n.to_bytes(4, "little")
            )
            for n in range(4000)
        ]
        again = [Raw(b"j" + (n % 4000).to_bytes(4, "little")) for n in range(396_000)]
        return whole(dump(made + again))

    yield hostile("groups", "400,000 entries across 4,000 groups", crossing, "read", heavy=True)

    def gathers() -> bytes:
        small = {"process_group": ("0", "x"), "collective_seq_id": 1, "frames": []}
        made = [{"profiling_name": f"gloo:gather{n}", **small} for n in range(60_000)]
        return whole(dump(made, pg_config={}))

    yield hostile("groups", "60,000 kinds of gathers", gathers, "read", heavy=True)

    def block() -> bytes:
        waits = {"state": "scheduled", "retired": False, "p2p_seq_id": 1, "is_p2p": True}
        members = [entry(n, profiling_name="nccl:send 0->1", **waits) for n in range(20_000)]
        end = entry(1, profiling_name="nccl:coalesced", p2p_seq_id=1, state="started")
        return whole(dump([*members, end]))

    yield hostile("groups", "a block of 20,000 sends", block, "read", heavy=True)


def inputs() -> Iterator[Hostile]:
    for part in (types, missing, extremes, texts, groups):
        yield from part()
