"""The process that reads what the fuzzing makes up: confined, guided by coverage where it can be.

python -m benchmarks.fuzzing.child TARGET SEEDS SEED SECONDS SHARED_FD MEMORY_BYTES
"""

import base64
import contextlib
import importlib
import json
import os
import random
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.fuzzing.shared import LARGEST, Shared

ROOT: Final = Path(__file__).resolve().parents[2]
# Guided mutation keeps memory of its own: another child begins anew.
LEAVE_MIB: Final = 1200
Read = Callable[[bytes], None]
Mutate = Callable[[bytes, random.Random], bytes]
Guide = Any  # an optional package without types


def main() -> None:
    """Read until the time is over; a line on stdout for each exception."""
    target, folder, seed, seconds, fd, memory_bytes = sys.argv[1:]
    shared = Shared(int(fd))
    sink = os.dup(1)
    os.dup2(2, 1)
    guide = guide_of()
    with (
        guide.instrument_imports(include=["triage"], exclude=compiled())
        if guide
        else contextlib.nullcontext()
    ):
        targets = importlib.import_module("benchmarks.fuzzing.targets")
        confine = importlib.import_module("triage.sandbox.confinement.confine").confine
        restrict = importlib.import_module("triage.sandbox.confinement.confine").restrict
    read = watched(targets.target(target), shared, sink)
    known = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    mutate = mutator(known)
    restrict(int(memory_bytes))
    missing = confine([Path(folder)])
    if missing:
        sys.stderr.write(f"not confined: {missing}\n")
    if guide:
        options = [f"-seed={seed}", f"-max_total_time={int(float(seconds)) + 1}", "-timeout=0",
                   f"-max_len={LARGEST}", "-rss_limit_mb=0", "-detect_leaks=0"]  # fmt: skip
        mixed = mixed_with(guide, mutate)
        guide.Setup([sys.argv[0], *options, folder], read, custom_mutator=mixed)
        guide.Fuzz()
    dice, until = random.Random(int(seed)), time.monotonic() + float(seconds)
    while time.monotonic() < until:
        read(mutate(dice.choice(known), dice)[:LARGEST])


def guide_of() -> Guide | None:
    """Atheris, where it is installed."""
    try:
        return importlib.import_module("atheris")
    except ImportError:
        return None


def compiled() -> list[str]:
    """Modules whose functions numba compiles, from bytecode that must be as it was written."""
    found = [
        path
        for path in (ROOT / "triage").rglob("*.py")
        if "flight_recorder.jit" in path.read_text()
    ]
    jit = "triage.parsers.flight_recorder.jit"
    return [jit, *(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found)]


def watched(read: Read, shared: Shared, sink: int) -> Read:
    """``read`` with its input in shared memory and its exceptions, each place once, on ``sink``."""
    seen: set[str] = set()

    def run(data: bytes) -> None:
        shared.take(data)
        try:
            read(data)
        except MemoryError:
            pass
        except Exception as error:  # noqa: BLE001 - exactly what is looked for
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            if where not in seen:
                seen.add(where)
                line = {"why": f"{where}: {error}"[:300], "input": base64.b64encode(data).decode()}
                os.write(sink, json.dumps(line).encode() + b"\n")
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        shared.done(peak_mib)
        if peak_mib > LEAVE_MIB:
            os._exit(0)

    return run


def mutator(known: list[bytes]) -> Mutate:
    """Accidents of ``tests.hostile.damage``, and heads and tails of two inputs."""
    from benchmarks.fuzz_decoder import edit_opcodes, pieces, with_checksums
    from tests.hostile import damage

    def mutate(data: bytes, dice: random.Random) -> bytes:
        for _ in range(dice.choice((1, 1, 2, 4))):
            draw = dice.random()
            other = dice.choice(known)
            if draw < 0.2:
                data = (
                    data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]
                )
            elif draw < 0.3 and (lines := data.split(b"\n")):
                at = dice.randrange(len(lines))
                lines[at:at] = [dice.choice(other.split(b"\n"))] * dice.choice((1, 1, 9))
                data = b"\n".join(lines)
            elif draw < 0.5 and data[:1] == b"\x80" and (parts := pieces(data)):
                data = edit_opcodes(parts, dice)
            else:
                data = damage.mutate(data, dice, dice.choice(damage.KINDS))
        return with_checksums(data) if data[257:262] == b"ustar" else data

    return mutate


def mixed_with(guide: Guide, mutate: Mutate) -> Callable[[bytes, int, int], bytes]:
    """Half by what the guide knows of compared values, half by what we know of the formats."""

    def mixed(data: bytes, most: int, seed: int) -> bytes:
        dice = random.Random(seed)
        if dice.random() < 0.5:
            return bytes(guide.Mutate(data, most))
        return mutate(data, dice)[:most]

    return mixed


if __name__ == "__main__":
    main()
