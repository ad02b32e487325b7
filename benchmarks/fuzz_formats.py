"""Fuzz every reader of foreign bytes, confined as the service confines it.

    python -m benchmarks.fuzz_formats --minutes 60
    python -m benchmarks.fuzz_formats --minutes 10 --target file --seed 2

A child reads, the parent watches it: an input that raises, kills the child, takes ten seconds or
two gigabytes is kept below ``--keep`` with a description. A child that tries what no reader needs
is ended by its confinement, and that input is kept too. With atheris installed (``pip install
atheris``; it needs Linux) mutation goes by the coverage of the Python code; else it is blind.
"""

import argparse
import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.fuzzing import seeds
from benchmarks.fuzzing.shared import Shared

ROOT: Final = Path(__file__).resolve().parent.parent
HANG_S: Final = 10.0
# What an unguarded loop would take; readers get more, and have more to read.
MEMORY_BYTES: Final = 2 << 30
START_S: Final = 300.0


def main() -> int:
    """The command line; status 1 when something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=seeds.TARGETS, action="append")
    parser.add_argument("--keep", type=Path, default=ROOT / "var" / "fuzz")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    targets = arguments.target or list(seeds.TARGETS)
    slice_s = arguments.minutes * 60 / len(targets)
    found = 0
    for target in targets:
        with tempfile.TemporaryDirectory(prefix="triage-fuzz-") as folder:
            for data in seeds.of(target):
                (Path(folder) / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
            found += fuzz(target, Path(folder), arguments.seed, slice_s, arguments.keep)
    return 1 if found else 0


def fuzz(target: str, folder: Path, seed: int, seconds: float, keep: Path) -> int:
    """One target for so long; how many different findings there were."""
    began, until = time.monotonic(), time.monotonic() + seconds
    findings: dict[str, int] = {}
    shared = Shared.new()
    children = 0
    while (left := until - time.monotonic()) > 0:
        for kind, why, data in one_child(target, folder, seed + children, left, shared):
            findings[why] = findings.get(why, 0) + 1
            if findings[why] == 1:
                name = f"{target}-{kind}-{hashlib.sha256(data).hexdigest()[:12]}"
                (keep / name).write_bytes(data)
                (keep / f"{name}.txt").write_text(why)
                print(f"{target}: {kind}: {why} -> {keep / name}", flush=True)
        children += 1
    took = time.monotonic() - began
    print(
        f"{target}: {took / 60:.1f} min, {shared.count:,} executions, {shared.count / took:,.0f}/s,"
        f" {children} children, peak {shared.peak_mib:,} MiB, {len(findings)} findings",
        flush=True,
    )
    return len(findings)


def one_child(
    target: str, folder: Path, seed: int, seconds: float, shared: Shared
) -> Iterator[tuple[str, str, bytes]]:
    """From the start of a child to its end: what was found, why, and over which input."""
    shared.begin()
    asked = [target, str(folder), str(seed), str(seconds), str(shared.fd), str(MEMORY_BYTES)]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fuzzing.child", *asked],
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=[shared.fd],
            cwd=ROOT,
        ) as child,
    ):
        born = time.monotonic()
        hangs = False
        assert child.stdout is not None
        os.set_blocking(child.stdout.fileno(), False)
        rest = b""
        while child.poll() is None:
            time.sleep(0.1)
            *lines, rest = (rest + (child.stdout.read() or b"")).split(b"\n")
            yield from map(reported, lines)
            late = time.monotonic() - born > START_S + (seconds if shared.count_of_child else 0)
            if late or shared.seconds_at_it() > HANG_S:
                hangs = True
                child.kill()
                child.wait()
        *lines, rest = (rest + (child.stdout.read() or b"")).split(b"\n")
        yield from map(reported, lines)
        if hangs:
            yield "hang", f"more than {HANG_S:g} s", shared.input()
        elif child.returncode:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2000))
            said = errors.read().decode("utf-8", "replace")
            yield "death", f"{how(child.returncode)}\n{said}", shared.input()


def how(code: int) -> str:
    """How a child ended that was not to end yet."""
    if code == -signal.SIGSYS:
        return "it tried what no reader needs (SIGSYS)"
    return f"exit status {code}"


def reported(line: bytes) -> tuple[str, str, bytes]:
    """What a child wrote on a line: an exception, where, and over which input."""
    one = json.loads(line)
    return "exception", one["why"], base64.b64decode(one["input"])


if __name__ == "__main__":
    sys.exit(main())
