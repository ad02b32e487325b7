"""A child process and what it cost: wall, CPU, peak memory, bytes read from disk.

Assumes that the parent is small: on Linux a child's peak starts at what its
parent held when it was forked. So this module imports the standard library alone.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20
# rusage counts memory in KiB on Linux and in bytes on macOS.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """One run of a command; ``disk_bytes`` are those that no page cache had."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    disk_bytes: int
    status: int
    output: str


def triage_command(*arguments: str) -> list[str]:
    """The command as a user runs it, in this interpreter."""
    return [sys.executable, "-m", "triage.cli.main", *arguments]


def run(command: Sequence[str], env: Mapping[str, str] | None = None) -> Cost:
    """Run ``command`` in the checkout; standard output and error come back as one text."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read().decode("utf-8", "replace")
    return Cost(
        wall_s,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * _RSS_UNIT,
        used.ru_inblock * 512,
        child.returncode,
        output,
    )


def costs(runs: Sequence[Cost]) -> Cost:
    """The median of each number over ``runs``; status and output are the last one's."""
    return Cost(
        median(one.wall_s for one in runs),
        median(one.cpu_s for one in runs),
        int(median(one.peak_bytes for one in runs)),
        int(median(one.disk_bytes for one in runs)),
        runs[-1].status,
        runs[-1].output,
    )
