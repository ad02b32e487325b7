"""What it costs to tell the format of a file, beside asking each format one after the other.

    python -m benchmarks.recognise_speed [--rounds 200] [--json FILE] [FILE ...]

The files are those that an incident holds most of: a kernel's log, a job's, the JSON of a
checker, a dump; or those that are named. Of each the first 16 KiB are looked at, as of an
upload. Both ways are measured by turns, of each the least CPU time of the rounds. The last line
says what the first file costs a process, for which the words of all formats are compiled.
"""

import argparse
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.table import aligned, machine, write_json
from triage.formats.format import Format, Head
from triage.formats.registry import FORMATS, identify
from triage.services.uploads.body import LOOK_BYTES

KERNEL = "[{s:12.6f}] mlx5_core 0000:{b:02x}:00.0: temperature {a} cable {b} poll {step}\n"
JOB = "2026-11-21 10:00:00.{a:04} [rank{b}]: step {step} loss 2.{a} tokens/s {s:.1f} mem {b}MiB\n"
CHECK = (
    '{"checkers": [{"name": "nvlink", "status": "abnormal", "level": "critical", "detail": '
    '"link 3 of GPU 5 is inactive"}], "node": "gpu-17"}\n'
)
DUMP = {"version": "2.10", "pg_config": {}, "entries": [{"record_id": k} for k in range(2000)]}


def log_of(form: str) -> bytes:
    """The beginning of a log, no line like the one before."""
    return "".join(
        form.format(step=k, s=k / 7, a=k * 7919 % 9973, b=k * 31 % 97) for k in range(400)
    ).encode()


def made() -> dict[str, bytes]:
    """The files by what they are."""
    return {
        "kernel log": log_of(KERNEL),
        "job log": log_of(JOB),
        "JSON of a checker": CHECK.encode(),
        "dump": pickle.dumps(DUMP, protocol=2),
    }


def format_of(data: bytes) -> Format | None:
    """The format of a file, as an upload is asked."""
    raw = Head(data, "file")
    return identify(raw, None) or identify(raw, Head(data, "file"))


def format_by_each(data: bytes) -> Format | None:
    """The same by asking each format."""
    head = Head(data, "file")
    return next((row for row in FORMATS if row.claims(head)), None)


def cpu_us(work: Callable[[bytes], object], data: bytes) -> float:
    """CPU microseconds of one call."""
    began = time.process_time_ns()
    work(data)
    return (time.process_time_ns() - began) / 1000


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    files = {path.name: path.read_bytes() for path in options.files} or made()
    heads = {name: data[:LOOK_BYTES] for name, data in files.items()}
    first_ms = cpu_us(format_of, log_of(JOB)) / 1000
    least_us = {name: [float("inf")] * 2 for name in heads}
    for _ in range(options.rounds):
        for name, data in heads.items():
            both = cpu_us(format_of, data), cpu_us(format_by_each, data)
            least_us[name] = [min(pair) for pair in zip(least_us[name], both, strict=True)]
    rows: list[dict[str, Any]] = []
    for name, data in heads.items():
        row, (search_us, each_us) = format_of(data), least_us[name]
        rows.append(
            {
                "file": name,
                "format": row.name if row else "none",
                "bytes": len(data),
                "us": search_us,
                "each_us": each_us,
                "ratio": each_us / search_us,
            }
        )
    head = ("file", "format", "bytes", "us", "us, each asked", "ratio")
    print(machine())
    print(
        aligned(
            head,
            [
                (
                    one["file"],
                    one["format"],
                    f"{one['bytes']:,}",
                    f"{one['us']:.0f}",
                    f"{one['each_us']:.0f}",
                    f"{one['ratio']:.1f}",
                )
                for one in rows
            ],
        )
    )
    print(f"The first text costs {first_ms:.1f} ms.")
    write_json(options.json, "recognise_speed", rows, first_ms=first_ms)


if __name__ == "__main__":
    main()
