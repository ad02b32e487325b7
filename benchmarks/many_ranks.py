"""A job of a hundred thousand ranks, and of a million: what reading its dumps and answering costs.

The dumps are simulated in memory, read by the decoder that reads files, and never lie on a disk:
those of 131,072 ranks have 150 GB, a megabyte each for the list of all ranks alone. Their digests
are kept in a file and answered from in a fresh process. SHA-256 of the same bytes, and the same
digests sent over loopback, stand beside it. Status 1 where the answer is wrong.

    python -m benchmarks.many_ranks --data DIR [--ranks 16384 131072] [--entries 1024]
    python -m benchmarks.many_ranks --data DIR --ranks 16384 --times 64

With ``--times N`` the job is N times as large: so many copies of each data-parallel replica,
groups joined, with one culprit among them all. Each digest is unpacked for each of its copies.
"""

import argparse
import hashlib
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.child import MIB, Cost, run
from benchmarks.table import aligned, machine, write_json

KIND, FRAMES, SEED = "host-stall", 8, 7
CHUNK = 1 << 20


def main() -> int:
    """Make what is absent, answer, print the table."""
    options = arguments()
    rows = [row_of(options, ranks) for ranks in options.ranks]
    print(f"{machine()}; {options.entries:,} entries and {FRAMES} frames each, one culprit\n")
    print(shown(rows))
    write_json(options.json, "many_ranks", rows)
    return 0 if all(row["right"] for row in rows) else 1


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="where digests are kept")
    parser.add_argument("--ranks", type=int, nargs="+", default=[16384, 131072])
    parser.add_argument("--entries", type=int, default=1024)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument(
        "--dumps", type=int, metavar="N", help="read N dumps of each job, and answer nothing"
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def row_of(options: argparse.Namespace, ranks: int) -> dict[str, Any]:
    """The numbers of one job."""
    options.data.mkdir(parents=True, exist_ok=True)
    file = options.data / f"{KIND}-{ranks}-{options.entries}.digests"
    if options.dumps:
        part = file.with_suffix(f".{options.dumps}-dumps")
        return {**made(part, ranks, options.entries, options.dumps), "right": True}
    facts = made(file, ranks, options.entries, ranks)
    found = {**facts, **answered(file, options.times), **beside(file)}
    if options.times > 1:
        found["ranks"] *= options.times
        found["digest_bytes"] *= options.times
        found["sha256_s"] *= options.times
        found["loopback_s"] *= options.times
        del found["read_s"]
    return found


def made(file: Path, ranks: int, entries: int, dumps: int) -> dict[str, Any]:
    """What making ``file`` found; it is not made again where it is there."""
    facts = file.with_suffix(f"{file.suffix}.json")
    if not facts.is_file():
        facts.write_text(last_line(steps("make", file, ranks, entries, dumps)))
    found: dict[str, Any] = json.loads(facts.read_text())
    return found


def answered(file: Path, times: int) -> dict[str, Any]:
    """The answer from the digests, in a process of its own."""
    done = steps("answer", file, times)
    return {
        **json.loads(last_line(done)),
        "wall_s": done.wall_s,
        "cpu_s": done.cpu_s,
        "peak_mib": done.peak_bytes / MIB,
    }


def steps(*words: object) -> Cost:
    """One step in a process of its own."""
    done = run([sys.executable, "-m", "benchmarks.many_ranks_steps", *map(str, words)])
    if done.status:
        raise SystemExit(done.output)
    return done


def last_line(done: Cost) -> str:
    """What a step says at its end."""
    return done.output.splitlines()[-1]


def beside(file: Path) -> dict[str, Any]:
    """SHA-256 of the digests, and the same bytes over loopback."""
    began = time.process_time()
    with file.open("rb", buffering=0) as data:
        hashlib.file_digest(data, "sha256")
    hashed = time.process_time() - began
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=sent, args=(file, server.getsockname()[1]))
        thread.start()
        began = time.perf_counter()
        taker, _ = server.accept()
        with taker:
            while taker.recv(CHUNK):
                pass
        thread.join()
    return {"sha256_s": hashed, "loopback_s": time.perf_counter() - began}


def sent(file: Path, port: int) -> None:
    """Send the file to a port of this machine."""
    with socket.create_connection(("127.0.0.1", port)) as giver, file.open("rb") as data:
        giver.sendfile(data)


def frames(file: Path) -> Iterator[bytes]:
    """The extracts of a file, one after the other."""
    with file.open("rb") as data:
        while head := data.read(4):
            yield data.read(struct.unpack("<I", head)[0])


def shown(rows: list[dict[str, Any]]) -> str:
    """The table: reading in CPU microseconds a dump, answering in CPU seconds, each beside
    SHA-256 of the same bytes; ``loopback`` is how long the digests take to be sent.
    """
    head = (
        "ranks", "bytes a dump", "read us", "x sha256", "a digest", "intake us", "answer CPU s",
        "us a rank", "x sha256", "loopback s", "peak MiB", "answer",
    )  # fmt: skip
    return aligned(head, [(*reading(one), *answering(one)) for one in rows])


def reading(one: dict[str, Any]) -> tuple[str, ...]:
    """What reading the dumps of one job costs; dashes where none were read."""
    if "read_s" not in one:
        return f"{one['ranks']:,}", "-", "-", "-", "-", "-"
    dumps = one["dumps"]
    return (
        f"{one['ranks']:,}",
        f"{one['raw_bytes'] / dumps:,.0f}",
        f"{1e6 * one['read_s'] / dumps:,.0f}",
        f"{one['read_s'] / one['raw_sha256_s']:.1f}",
        f"{one['digest_bytes'] / dumps:,.0f}",
        f"{1e6 * one['intake_s'] / dumps:,.0f}",
    )


def answering(one: dict[str, Any]) -> tuple[str, ...]:
    """What answering one job costs; dashes where none was answered."""
    if "cpu_s" not in one:
        return "-", "-", "-", "-", "-", "-"
    return (
        f"{one['cpu_s']:,.1f}",
        f"{1e6 * one['cpu_s'] / one['ranks']:,.0f}",
        f"{one['cpu_s'] / one['sha256_s']:,.0f}",
        f"{one['loopback_s']:.2f}",
        f"{one['peak_mib']:,.0f}",
        "right" if one["right"] else "WRONG",
    )


if __name__ == "__main__":
    raise SystemExit(main())
