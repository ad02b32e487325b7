"""Goldens: which of some 500 answers have changed since they were last accepted, as a table.

Read each row before you accept: a place, a category or a confidence that moves is a change
of an answer. Rows of "words" are changes of sentences alone. Status 1 where something differs.

    python -m benchmarks.goldens [--only recorded,campaign2] [--accept]
"""

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from tests.support.goldens import PARTS, Golden, Part, compare, load, record, save, table


def main() -> int:
    """Record, compare, print; write the file where that is asked."""
    options = _arguments()
    parts = [part for part in PARTS if not options.only or part.source in options.only]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        recorded = [one for found in pool.map(_collect, parts) for one in found]
    before = load()
    rows = compare(before, recorded)
    sources = {part.source for part in parts}
    kept = {name: one for name, one in before.items() if name.partition("/")[0] not in sources}
    gone = [name for name in before if name not in kept and name not in
            {one.incident for one in recorded}]  # fmt: skip
    rows += [(name, "gone", "-", "-") for name in gone]
    print(table(rows) if rows else f"{len(recorded)} answers are as they were")
    if options.accept:
        save(kept | {one.incident: one for one in recorded})
        return 0
    return 1 if rows else 0


def _arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=[], metavar="SOURCE,...",
        help=", ".join(dict.fromkeys(part.source for part in PARTS)),
    )  # fmt: skip
    parser.add_argument("--accept", action="store_true", help="keep what is said now")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def _collect(part: Part) -> list[Golden]:
    """The goldens of one part; a generator cannot cross processes."""
    return list(record(part))


if __name__ == "__main__":
    raise SystemExit(main())
