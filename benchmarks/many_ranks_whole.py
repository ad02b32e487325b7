"""A job of a hundred thousand ranks from its raw dumps, whole: all are made, read and answered.

    python -m benchmarks.many_ranks_whole [--ranks 131072] [--folder /dev/shm] [--dumps N]

Two processes simulate the dumps, some at a time, into files in memory, and wait while a process of
its own reads these files on both cores as ``triage analyze`` does, and drops them: 150 GB would
lie on no disk of ours. Then that process answers. Told are its seconds, its CPU seconds and its
peak, and what SHA-256 of the same bytes takes. Status 1 where the answer is wrong; of the first N
dumps alone it is not judged.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.child import MIB
from benchmarks.many_ranks import FRAMES, KIND, SEED
from benchmarks.table import aligned, machine, write_json
from simulator.kinds import kind_named
from simulator.play import play
from simulator.request import request_for
from triage.domain.rank_digest import RankDigest
from triage.formats.dumps import FILES_PER_TASK, DumpReader, decode_in_order
from triage.parsers.extract.extract import Extract
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared
from triage.report import build_study

MAKERS = READERS = 2
# Files of one turn: some gigabyte at 131,072 ranks.
TURN = 1024


def main() -> int:
    """Make, read, answer, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=131_072)
    parser.add_argument("--entries", type=int, default=1024)
    parser.add_argument("--dumps", type=int, metavar="N")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--read", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(options.read)
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="dumps-") as folder:
        row = whole(options, Path(folder))
    print(f"{machine()}; {options.entries:,} entries and {FRAMES} frames each, one culprit\n")
    print(shown(row))
    write_json(options.json, "many_ranks_whole", [row])
    return 0 if row["right"] else 1


def whole(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The numbers of one job."""
    # First of all: a child's peak begins at what its parent held.
    reader = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.many_ranks_whole", "--read", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    request = request_for(
        kind_named(KIND),
        {"ranks": options.ranks, "entries": options.entries, "frames": FRAMES, "seed": SEED},
    )
    played = play(request)
    simulated = played.run(request.offsets())
    # Forked behind the simulation, so that it is made once.
    fork = multiprocessing.get_context("fork")
    pipes = [fork.Pipe() for _ in range(MAKERS)]
    for number, (_, theirs) in enumerate(pipes):
        maker = fork.Process(target=make, args=(simulated, folder, number, theirs), daemon=True)
        maker.start()
    assert reader.stdin
    assert reader.stdout
    num_dumps = options.dumps or options.ranks
    for first in range(0, num_dumps, TURN):
        end = min(first + TURN, num_dumps)
        for pipe, _ in pipes:
            pipe.send((first, end))
        for pipe, _ in pipes:
            pipe.recv()
        print(first, end, file=reader.stdin, flush=True)
        reader.stdout.readline()
    # The makers hold this pipe too: closing it here would end nothing.
    print(file=reader.stdin, flush=True)
    row: dict[str, Any] = json.loads(reader.stdout.readline())
    for pipe, _ in pipes:
        pipe.send(None)
    reader.wait()
    (culprit,) = played.fault.culprits
    right = row.pop("named") == [int(culprit)] or num_dumps < options.ranks
    return row | {"ranks": options.ranks, "dumps": num_dumps, "right": right}


def make(simulated: Any, folder: Path, number: int, pipe: Connection) -> None:  # noqa: ANN401
    """Write every second dump of each turn."""
    desk = simulated.desk()
    while turn := pipe.recv():
        for rank in range(*turn)[number::MAKERS]:
            (folder / str(rank)).write_bytes(simulated.dump(rank, desk))
        pipe.send(None)


def read(folder: Path) -> None:
    """Read what comes, and answer; times are of this process alone."""
    shared = Shared()
    reader = DumpReader(shared, DEFAULT_LIMITS)
    digests: list[RankDigest] = []
    found: dict[str, Any] = dict.fromkeys(("read_s", "read_cpu_s", "sha256_s", "bytes"), 0)
    for line in iter(sys.stdin.readline, "\n"):
        paths = [folder / str(rank) for rank in range(*map(int, line.split()))]
        files = [
            InputFile(path, f"fr/comm_lib_trace_rank_{path.name}", path.stat().st_size)
            for path in paths
        ]
        batches = [files[k : k + FILES_PER_TASK] for k in range(0, len(files), FILES_PER_TASK)]
        began, used = time.perf_counter(), time.process_time()
        for _, outcomes in decode_in_order(reader, batches, READERS):
            digests += [one for one in outcomes if isinstance(one, RankDigest)]
        found["read_s"] += time.perf_counter() - began
        found["read_cpu_s"] += time.process_time() - used
        data = paths[0].read_bytes()
        used = time.process_time()
        hashlib.sha256(data)
        found["sha256_s"] += (time.process_time() - used) * len(files)
        found["bytes"] += sum(file.size_bytes for file in files)
        for path in paths:
            os.unlink(path)
        print(flush=True)
    began, used = time.perf_counter(), time.process_time()
    extract = Extract("dumps", 0, tuple(digests), shared.operations)
    answer = build_study([extract], parse_job(b"{}")[0]).report.answer
    found["answer_s"] = time.perf_counter() - began
    found["answer_cpu_s"] = time.process_time() - used
    found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB
    found["named"] = [
        rank for one in answer.suspects if one.role == "culprit" for rank in one.ranks
    ]
    print(json.dumps(found), flush=True)


def shown(one: dict[str, Any]) -> str:
    """The table: seconds on this machine's cores, and CPU seconds."""
    head = (
        "ranks", "dumps", "GB", "read s", "read CPU s", "us a dump", "x sha256", "answer s",
        "answer CPU s", "CPU s / 2", "peak MiB", "answer",
    )  # fmt: skip
    cells = (
        f"{one['ranks']:,}",
        f"{one['dumps']:,}",
        f"{one['bytes'] / 1e9:.1f}",
        f"{one['read_s']:.1f}",
        f"{one['read_cpu_s']:.1f}",
        f"{1e6 * one['read_cpu_s'] / one['dumps']:,.0f}",
        f"{one['read_cpu_s'] / one['sha256_s']:.1f}",
        f"{one['answer_s']:.1f}",
        f"{one['answer_cpu_s']:.1f}",
        f"{one['read_cpu_s'] / READERS + one['answer_cpu_s']:.1f}",
        f"{one['peak_mib']:,.0f}",
        "right" if one["right"] else "WRONG",
    )
    return aligned(head, [cells])


if __name__ == "__main__":
    raise SystemExit(main())
