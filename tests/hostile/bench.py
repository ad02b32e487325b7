"""Reads files one by one, each in a process of its own, and prints what it took.

``python -m tests.hostile.bench NAMES.json FOLDER``: the names of inputs, and where they
may be written. A process is a fork of one that has decoded a good dump, so that memory
and time are the input's alone. One JSON line an input.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.hostile.assembler import dump, whole
from tests.hostile.inputs import Hostile, everything
from tests.support.spent import in_idle_seconds
from triage.domain.rank_digest import RankDigest
from triage.formats.dumps import DumpReader
from triage.parsers.files.inputs import InputFile
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared

# By the clock: far more than the processor time that an input may take.
KILLED_AFTER_S = 300
# Who took more, which is the bound of `test_hostile.py`, is asked again.
ENOUGH_S = 5.0
ATTEMPTS = 3
ARTIFACT = "comm_lib_trace_rank_5"


def outcomes(path: Path) -> list[tuple[str, str]]:
    """(kind, reason) of everything that the file gives."""
    file = InputFile(path, ARTIFACT, path.stat().st_size)
    found = []
    for one in DumpReader(Shared(), DEFAULT_LIMITS).files([file]):
        if isinstance(one, RankDigest):
            found.append(("partial", one.partial) if one.partial else ("read", ""))
        elif isinstance(one, str):
            found.append(("foreign", ""))
        else:
            found.append(("refused", one.why))
    return found


def in_child(work: Any) -> tuple[int, Any]:
    """(wait status, result) of ``work()`` in a fork."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(KILLED_AFTER_S)
        os.close(ours)
        status = 1
        try:
            os.write(theirs, json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        result = pipe.read()
    _, status = os.waitpid(child, 0)
    return status, json.loads(result or "null")


def measure(one: Hostile, folder: Path) -> dict[str, Any]:
    path = folder / "input"

    def read() -> dict[str, Any]:
        started = time.process_time()
        found = outcomes(path)
        spent = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        # A crowd of one kind, as of 100,000 members, is told by its first and last.
        shown = found if len(found) < 20 else [*found[:5], *found[-5:]]
        # What the machine's other work takes is not the input's fault.
        seconds = spent if spent < ENOUGH_S else in_idle_seconds(spent)
        return {"found": shown, "seconds": seconds, "peak_mib": peak}

    in_child(lambda: path.write_bytes(one.make(str(folder / "marker"))))
    least: dict[str, Any] = {}
    for _ in range(ATTEMPTS):
        status, result = in_child(read)
        if status:
            return {"name": one.name, "status": status}
        least = min(least or result, result, key=lambda one: one["seconds"])
        if least["seconds"] < ENOUGH_S:
            break
    return {"name": one.name, "status": 0, **least}


def main(names: Path, folder: Path) -> None:
    good = folder / "good"
    for data in (whole(dump()), b'{"entries":[]}'):
        good.write_bytes(data)
        outcomes(good)
    wanted = set(json.loads(names.read_text()))
    for one in everything():
        if one.name in wanted:
            print(json.dumps(measure(one, folder)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
