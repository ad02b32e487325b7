"""Real dumps after an accident: cut, flipped, swapped, spliced, with pages lost."""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.hostile.inputs import Hostile, hostile

DATA = Path(__file__).parent.parent / "data"
SEED = 20_261_121


@cache
def real(folder: str = "nccl-healthy-w8", rank: int = 3) -> bytes:
    return (DATA / folder / f"comm_lib_trace_rank_{rank}").read_bytes()


def cuts() -> Iterator[Hostile]:
    dice = random.Random(SEED)
    data = real()
    for at in sorted(dice.sample(range(1, len(data)), 40)):
        yield hostile("cut", f"at byte {at}", data[:at], "any")
    for at in sorted(dice.sample(range(2000, len(data)), 10)):
        for page in (512, 4096):
            padded = data[:at] + bytes(page - at % page)
            yield hostile("cut", f"at byte {at}, zeros to a page of {page}", padded, "any")
    at = dice.randrange(10_000, len(data))
    yield hostile("cut", "and a megabyte of zeros", data[:at] + bytes(1 << 20), "any")
    yield hostile("cut", "and its end again", data[:at] + data[at // 2 :], "any")
    yield hostile("cut", "at the front", data[100:], "any")
    yield hostile(
        "cut", "a page of zeros in the middle", data[:8192] + bytes(4096) + data[12288:], "any"
    )


def mutate(data: bytes, dice: random.Random, kind: str) -> bytes:
    """``data`` after one accident of the kind."""
    changed = bytearray(data)
    if not data:
        return data
    at = dice.randrange(len(data))
    if kind == "flip":
        for _ in range(dice.choice((1, 1, 1, 2, 8, 64))):
            changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    elif kind == "byte":
        for _ in range(dice.choice((1, 1, 4))):
            changed[dice.randrange(len(data))] = dice.choice(
                (0, 0x28, 0x2E, 0x65, 0x75, 0x7F, 0x80, 0xFF)
            )
    elif kind == "swap":
        other = dice.randrange(len(data))
        changed[at], changed[other] = changed[other], changed[at]
    elif kind == "double":
        size = dice.randrange(1, 2000)
        changed[at:at] = changed[at : at + size]
    elif kind == "drop":
        del changed[at : at + dice.randrange(1, 200)]
    elif kind == "splice":
        other = dice.randrange(len(data))
        size = dice.randrange(1, 2000)
        changed[at : at + size] = data[other : other + size]
    elif kind == "noise":
        size = dice.randrange(1, 64)
        changed[at : at + size] = dice.randbytes(size)
    return bytes(changed)


KINDS = ("flip", "byte", "swap", "double", "drop", "splice", "noise")


def inputs() -> Iterator[Hostile]:
    yield from cuts()
    dice = random.Random(SEED)
    for kind in KINDS:
        for number in range(12):
            folder, rank = dice.choice(
                (("nccl-healthy-w8", 3), ("nccl-p2p-mismatch-w8", 2), ("gloo-crash-w4", 1))
            )
            yield hostile(
                "damage", f"{kind} {number}", mutate(real(folder, rank), dice, kind), "any"
            )
    two = real()[: len(real()) // 2] + real("nccl-p2p-mismatch-w8", 2)[10_000:]
    yield hostile("damage", "two dumps in one file", two, "any")
    yield hostile("damage", "noise alone", b"\x80\x02" + dice.randbytes(50_000), "any")
    yield hostile(
        "damage", "with line ends of another system", real().replace(b"\n", b"\r\n"), "any"
    )
    text = real().decode("utf-8", "replace").encode()
    yield hostile("damage", "sent as text", text, "any")
