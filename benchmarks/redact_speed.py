"""Speed of the search for secrets in logs, on one core, beside SHA-256 of the same bytes.

    python -m benchmarks.redact_speed [--rounds 9]

Most lines of a log name no secret and meet no pattern. Those that have a word like `password`,
`key` or `token` before a sign meet some, whether a secret stands behind it or not. So the logs
differ in how many such lines they hold, and how long those are. CPU seconds; least of the rounds,
which go over all logs by turns.
"""

import argparse
import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.table import aligned, machine, write_json
from triage.parsers.redact.redact import Redactor

LOG_BYTES = 4 << 20
ORDINARY = (
    "2026-11-21 10:00:00.{a:04} [rank{b}]: step {step} loss 2.{a} tokens/s {s:.1f} mem {b}MiB\n"
)
# As programs print their arguments: names that could be those of secrets, and no secret.
NAMING = (
    "2026-11-21 10:00:00.{a:04} [rank{b}]: config: max_position={b} tie_embeddings=False"
    " db_password=None hidden_size={a} tokenizer_key: llama num_layers={step} cache_key=shard-{a}\n"
)
LONG = NAMING[:-1] + "".join(f" optimizer.group_{k}.betas=(0.9, 0.95)" for k in range(48)) + "\n"
SECRET = "2026-11-21 10:00:00.{a:04} [rank{b}]: export DB_PASSWORD=hunter{step}x{a}\n"
# The name of a log, the line that is mixed in, and how many lines there are to each of them.
LOGS = (
    ("ordinary", ORDINARY, 1),
    ("1 line of 100 names one", NAMING, 100),
    ("1 line of 10 names one", NAMING, 10),
    ("each line names one", NAMING, 1),
    ("each of 2 KB names one", LONG, 1),
    ("1 line of 100 holds one", SECRET, 100),
)


def log_of(naming: str, every: int) -> bytes:
    """An ordinary log in which one line of ``every`` is of the form ``naming``."""
    lines: list[str] = []
    size = step = 0
    while size < LOG_BYTES:
        form = ORDINARY if step % every else naming
        lines.append(form.format(step=step, s=step / 7, a=step * 7919 % 9973, b=step * 31 % 977))
        size += len(lines[-1])
        step += 1
    return "".join(lines).encode()


def redact(log: bytes) -> int:
    """How many secrets were replaced."""
    redactor = Redactor()
    redactor.feed(log)
    redactor.finish()
    return sum(redactor.counts.values())


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    logs = {name: log_of(form, every) for name, form, every in LOGS}
    taken = {name: [float("inf")] * 2 for name in logs}
    for _ in range(options.rounds):
        for name, log in logs.items():
            both = cpu_s(lambda log=log: redact(log)), cpu_s(lambda log=log: hashlib.sha256(log))  # type: ignore[misc]
            taken[name] = [min(pair) for pair in zip(taken[name], both, strict=True)]
    rows: list[dict[str, Any]] = [
        {
            "log": name,
            "found": redact(log),
            "ns_per_byte": taken[name][0] / len(log) * 1e9,
            "mb_per_s": len(log) / taken[name][0] / 1e6,
            "x_sha256": taken[name][0] / taken[name][1],
            "x_ordinary": taken[name][0]
            / len(log)
            / (taken["ordinary"][0] / len(logs["ordinary"])),
        }
        for name, log in logs.items()
    ]
    print(f"{LOG_BYTES >> 20} MiB a log; {machine()}\n")
    print(
        aligned(
            ["log", "replaced", "ns a byte", "MB/s", "x sha256", "x ordinary"],
            [
                [
                    str(row["log"]),
                    f"{row['found']:,}",
                    f"{row['ns_per_byte']:.2f}",
                    f"{row['mb_per_s']:.0f}",
                    f"{row['x_sha256']:.1f}",
                    f"{row['x_ordinary']:.1f}",
                ]
                for row in rows
            ],
        )
    )
    write_json(options.json, "redact_speed", rows)


if __name__ == "__main__":
    main()
