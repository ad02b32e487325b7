"""Fuzz the readers of dumps: mutated bytes must be read or refused, and nothing else.

    python -m benchmarks.fuzz_decoder --minutes 10 --seed 1

A child process decodes; the parent watches it: an input that takes five seconds, a gigabyte
or the process is kept below ``--keep`` with a description. The same seed gives the same
inputs. Corpora: the real dumps of the tests, and the hostile set.
"""

import argparse
import hashlib
import mmap
import os
import pickletools
import random
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.hostile import damage, fields, json_texts, packed, payloads
from tests.hostile.assembler import dump, entry, whole
from tests.hostile.inputs import everything
from triage.errors import ArtifactError
from triage.formats.dumps import DumpReader
from triage.parsers.files.inputs import InputFile
from triage.parsers.flight_recorder.decoder import Decoder
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared

ROOT = Path(__file__).resolve().parent.parent

HANG_S = 5.0
PEAK_MIB = 1024
RESTART_AFTER = 50_000
LARGEST = 1 << 20

# Slots of the memory that parent and child share, then the input itself.
STARTED, COUNT, SIZE, REFUSED, READ, PEAK, PACKED, SLOTS = range(8)
HEAD = 8 * 8

# Opcodes with how many bytes of operand they take; -1: a length of one byte, -4: of four.
OPCODES = [
    (0x80, 1), (0x95, 8), (0x5D, 0), (0x7D, 0), (0x29, 0), (0x28, 0), (0x65, 0), (0x75, 0),
    (0x61, 0), (0x73, 0), (0x85, 0), (0x86, 0), (0x87, 0), (0x74, 0), (0x4E, 0), (0x88, 0),
    (0x89, 0), (0x4A, 4), (0x4B, 1), (0x4D, 2), (0x8A, -1), (0x8B, -4), (0x47, 8), (0x58, -4),
    (0x8C, -1), (0x8D, 8), (0x71, 1), (0x72, 4), (0x94, 0), (0x68, 1), (0x6A, 4), (0x2E, 0),
    (0x30, 0), (0x32, 0), (0x63, 0), (0x52, 0), (0x8F, 0),
]  # fmt: skip
EDGES = [
    0,
    1,
    2,
    7,
    8,
    9,
    127,
    128,
    255,
    256,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
]
WORDS = [
    name.encode() for name in [*entry(), *dump(), "name", "desc", "ranks", "seq_id", "completed"]
]


def opcode(dice: random.Random) -> bytes:
    """One opcode with an operand, often at the edge of its range."""
    code, operand = dice.choice(OPCODES)
    if operand >= 0:
        number = dice.choice(EDGES) if dice.random() < 0.5 else dice.getrandbits(8)
        return bytes([code]) + struct.pack("<Q", number)[:operand]
    body = dice.choice(WORDS) if dice.random() < 0.6 else dice.randbytes(dice.randrange(12))
    length = len(body) if dice.random() < 0.8 else dice.choice(EDGES)
    return bytes([code]) + struct.pack("<Q", length)[:-operand] + body


def pieces(data: bytes) -> list[bytes] | None:
    """The opcodes of a pickle, None when it is none."""
    try:
        places = [place for _, _, place in pickletools.genops(data)]
    except Exception:  # noqa: BLE001 - the disassembler raises many kinds
        return None
    return [data[a:b] for a, b in zip(places, [*places[1:], len(data)], strict=True)]


def edit_opcodes(parts: list[bytes], dice: random.Random) -> bytes:
    """Opcodes taken out, doubled, exchanged, added, or with another operand."""
    parts = list(parts)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        at = dice.randrange(len(parts))
        kind = dice.randrange(7)
        if kind == 0:
            del parts[at : at + dice.choice((1, 1, 3))]
        elif kind == 1:
            parts.insert(at, dice.choice(parts))
        elif kind == 2:
            other = dice.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        elif kind == 3:
            parts.insert(at, opcode(dice))
        elif kind == 4:
            parts[at] = opcode(dice)
        elif kind == 5:
            end = at + dice.randrange(1, 60)
            parts[at:at] = parts[at:end] * dice.choice((1, 2, 8))
        else:
            code, operand = parts[at][:1], parts[at][1:]
            changed = bytearray(operand)
            if changed:
                changed[dice.randrange(min(len(changed), 8))] = dice.choice((0, 1, 127, 128, 255))
            parts[at] = code + bytes(changed)
        if not parts:
            return b""
    return b"".join(parts)


def splice(one: bytes, other: bytes, dice: random.Random) -> bytes:
    """The head of one with a part of another."""
    return one[: dice.randrange(len(one) + 1)] + other[dice.randrange(len(other) + 1) :]


class Corpus:
    """Seeds, and what is made of them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        real = [damage.real(folder, rank) for folder, rank in (
            ("nccl-healthy-w8", 0), ("nccl-p2p-mismatch-w8", 4), ("gloo-crash-w4", 2),
        )]  # fmt: skip
        light = [one.make("/nonexistent/marker") for one in everything() if not one.heavy]
        small = [data for data in light if 2 < len(data) <= 65_536]
        head = [data[:n] for data in real for n in (3000, 8000)]
        self.pickles = [*(d for d in small if d[:1] == b"\x80"), *head, *real]
        self.texts = [d for d in small if d[:1] in (b"{", b"[")]
        self.packs = [d for d in small if d[:1] not in (b"\x80", b"{", b"[")]
        self.parts = [p for d in self.pickles if (p := pieces(d)) and len(p) > 3]
        self.sources = (payloads, fields, json_texts, packed)

    def next(self) -> tuple[bytes, bool]:
        """(bytes, whether they are a file to be opened: packed, or an archive)."""
        dice = self.dice
        draw = dice.random()
        if draw < 0.5:
            data = edit_opcodes(dice.choice(self.parts), dice)
        elif draw < 0.7:
            data = damage.mutate(dice.choice(self.pickles), dice, dice.choice(damage.KINDS))
        elif draw < 0.78:
            data = splice(dice.choice(self.pickles), dice.choice(self.pickles), dice)
        elif draw < 0.9:
            data = damage.mutate(dice.choice(self.texts), dice, dice.choice(damage.KINDS))
        else:
            data = damage.mutate(dice.choice(self.packs), dice, dice.choice(damage.KINDS))
            if dice.random() < 0.7:
                data = with_checksums(data)
            return data[:LARGEST], True
        return data[:LARGEST], False


def with_checksums(data: bytes) -> bytes:
    """Headers of a tar given the checksum that they need to be looked into."""
    made = bytearray(data)
    for at in range(0, len(made) - 511, 512):
        if made[at + 257 : at + 262] == b"ustar":
            made[at + 148 : at + 156] = b" " * 8
            made[at + 148 : at + 156] = b"%06o\0 " % int(
                np.sum(np.frombuffer(made, np.uint8, 512, at))
            )
    return bytes(made)


def child(seed: int, shared: mmap.mmap, folder: Path, found: int, until: float) -> None:
    """Decode until the time is over; one line for every exception that is no refusal."""
    slots = np.frombuffer(shared, np.int64, SLOTS)
    corpus = Corpus(seed)
    reader = DumpReader(Shared(), DEFAULT_LIMITS)
    decoder = Decoder(Shared())
    path = folder / f"input-{os.getpid()}_trace_rank_5"
    decoder.decode(whole(dump()), "dump", 0)
    decoder.decode(b'{"entries":[]}', "dump", 0)
    for number in range(RESTART_AFTER):
        if time.time() > until:
            break
        if number % 2000 == 0:  # what dumps share grows with them
            reader, decoder = DumpReader(Shared(), DEFAULT_LIMITS), Decoder(Shared())
        data, is_file = corpus.next()
        shared[HEAD : HEAD + len(data)] = data
        slots[SIZE] = len(data)
        slots[PACKED] = is_file
        slots[STARTED] = time.time_ns()
        try:
            if is_file:
                path.write_bytes(data)
                reader.files([InputFile(path, path.name, len(data))])
            else:
                decoder.decode(bytearray(data), "dump", 0)
            slots[READ] += 1
        except ArtifactError:
            slots[REFUSED] += 1
        except Exception as error:  # noqa: BLE001 - exactly what is looked for
            last = traceback.extract_tb(error.__traceback__)[-1]
            line = f"{type(error).__name__}: {error} at {Path(last.filename).name}:{last.lineno}\n"
            os.write(found, line.encode())
            keep(folder, data, "exception", line)
        slots[STARTED] = 0
        slots[COUNT] += 1
        slots[PEAK] = max(slots[PEAK], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
    path.unlink(missing_ok=True)


def keep(folder: Path, data: bytes, kind: str, why: str) -> None:
    """Store an input that was found, under its content."""
    name = f"{kind}-{hashlib.sha256(data).hexdigest()[:12]}"
    (folder / name).write_bytes(data)
    (folder / f"{name}.txt").write_text(why)


def watch(pid: int, shared: mmap.mmap, folder: Path) -> tuple[str | None, int]:
    """Wait for the child; what went wrong with it, if anything."""
    slots = np.frombuffer(shared, np.int64, SLOTS)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        started = int(slots[STARTED])
        if started and time.time_ns() - started > HANG_S * 1e9:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            keep(folder, shared[HEAD : HEAD + int(slots[SIZE])], "hang", f"more than {HANG_S} s")
            return "hang", 0
        time.sleep(0.05)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status):
        why = f"wait status {status}"
        keep(folder, shared[HEAD : HEAD + int(slots[SIZE])], "crash", why)
        return "crash", status
    return None, 0


def run(minutes: float, seed: int, folder: Path, say: Callable[[str], None]) -> int:
    """Fuzz for so long; the number of findings."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = mmap.mmap(-1, HEAD + LARGEST + 4096)
    slots = np.frombuffer(shared, np.int64, SLOTS)
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    began = time.time()
    until = began + minutes * 60
    hangs = crashes = children = 0
    exceptions: dict[str, int] = {}
    while time.time() < until:
        slots[STARTED] = 0
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                child(seed + children, shared, folder, theirs, until)
                status = 0
            except BaseException:  # noqa: BLE001 - the parent counts it as a crash
                traceback.print_exc()
            finally:
                os._exit(status)
        children += 1
        what, _ = watch(pid, shared, folder)
        hangs += what == "hang"
        crashes += what == "crash"
        try:
            lines = os.read(ours, 1 << 20).decode().splitlines()
        except BlockingIOError:
            lines = []
        for line in lines:
            exceptions[line] = exceptions.get(line, 0) + 1
        took = time.time() - began
        say(
            f"{took / 60:5.1f} min  {int(slots[COUNT]):,} executions, {slots[COUNT] / took:,.0f}/s"
            f"  read {int(slots[READ]):,}, refused {int(slots[REFUSED]):,}"
            f"  crashes {crashes}, hangs {hangs}, exceptions {sum(exceptions.values())}"
            f"  peak {int(slots[PEAK])} MiB"
        )
    for line, count in sorted(exceptions.items(), key=lambda one: -one[1])[:20]:
        say(f"{count} x {line}")
    return crashes + hangs + len(exceptions) + int(slots[PEAK] > PEAK_MIB)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=ROOT / "var" / "fuzz")
    arguments = parser.parse_args()
    found = run(
        arguments.minutes, arguments.seed, arguments.keep, lambda line: print(line, flush=True)
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
