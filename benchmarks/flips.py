"""Flips: how many answers move when an incident is changed in ways that should move none.

Each incident is answered once as it is, once by its dumps alone, and once after each
transformation of ``simulator.perturb``. A flip is another node, role or category in the first
place; "to wrong" are flips of what was right. Innocents are nodes that are convicted after
a change and were not before. Broken are the answers that did not keep what the law says.

    python -m benchmarks.flips --generator own|recorded|DIR [--count 40] [--seed 1]
        [--only NAME,...] [--draws 1] [--ids ID,...] [--show] [--jobs 2] [--out FILE]

Wrong maps of ranks and logs in other nodes' folders, 10,000 of them, act upon no sound node:

    python -m benchmarks.flips --count 100 --draws 20
        --only other-map,moved-log,copied-log,exchanged-logs,other-spelling
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.table import aligned, machine, write_json
from simulator.perturb.registry import ALL
from tests.support.answering import Answerer
from tests.support.cases import Source, cases_of
from tests.support.flip import DUMPS, Flip, flips_of


def main() -> int:
    """Draw, change, answer, print."""
    options = _arguments()
    began = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        shares = [(options, turn) for turn in range(options.jobs)]
        flips = [one for share in pool.map(_worked, shares) for one in share]
    flips.sort(key=lambda one: one.id)
    num = len({one.id for one in flips})
    print(f"{machine()}; {options.generator}: {num} incidents, seed {options.seed}\n")
    print(aligned(_HEAD, [_row(name, [one for one in flips if one.change == name])
                         for name in options.only]))  # fmt: skip
    spoilt = [
        one for one in flips if one.change == DUMPS and one.right_after and not one.right_before
    ]
    of = sum(one.change == DUMPS and one.right_after for one in flips)
    print(f"\nright on dumps alone: {of}; of these wrong with logs added: {len(spoilt)} "
          f"{' '.join(one.id for one in spoilt)}")  # fmt: skip
    if options.show:
        for one in [*spoilt, *(one for one in flips if _shown(one))]:
            print(f"{one.id} {one.what:16.16} {one.change:15} {one.before}  ->  {one.after}"
                  f"  [{' '.join((*one.broken, *one.innocents))}]")  # fmt: skip
    write_json(options.out, "flips", [asdict(one) for one in flips])
    print(f"{time.perf_counter() - began:.0f} s in all")
    return 0


def _arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--generator", default="own", help="own, recorded, or a campaign's folder")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of transformations, by commas")
    parser.add_argument("--draws", type=int, default=1, help="times that each change is drawn")
    parser.add_argument("--ids", default="", help="incidents, by commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="what flipped, before and after")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all of it as JSON")
    options = parser.parse_args()
    options.only = [one for one in options.only.split(",") if one] or [one.name for one in ALL]
    return options


def _worked(share: tuple[argparse.Namespace, int]) -> list[Flip]:
    """The incidents of one process."""
    options, turn = share
    ids = frozenset(one for one in options.ids.split(",") if one)
    source = Source(options.generator, options.count, options.seed, (turn, options.jobs), ids)
    with tempfile.TemporaryDirectory() as scratch:
        answerer = Answerer(Path(scratch))
        return [
            one
            for case in cases_of(source)
            for one in flips_of(case, answerer, options.only, options.seed, options.draws)
        ]


_HEAD = (
    "change", "incidents", "node %", "to wrong", "role %", "category %", "to wrong", "innocents",
    "confidence", "broken",
)  # fmt: skip


def _row(name: str, flips: Sequence[Flip]) -> tuple[str, ...]:
    """One line of the table."""

    def percent(moved: int) -> str:
        return f"{100 * moved / len(flips):.1f}" if flips else "-"

    change = sum(one.after.confidence - one.before.confidence for one in flips)
    return (
        name, str(len(flips)),
        percent(sum(one.after.node != one.before.node for one in flips)),
        str(sum(one.right_before and not one.right_after for one in flips)),
        percent(sum(one.after.role != one.before.role for one in flips)),
        percent(sum(one.after.category != one.before.category for one in flips)),
        str(sum(one.category_before and not one.category_after for one in flips)),
        str(sum(bool(one.innocents) for one in flips)),
        f"{change / max(len(flips), 1):+.3f}",
        str(sum(bool(one.broken) for one in flips)),
    )  # fmt: skip


def _shown(one: Flip) -> bool:
    return bool(one.broken or one.innocents) and one.change != DUMPS


if __name__ == "__main__":
    raise SystemExit(main())
