"""Flips: how many answers move when an incident is changed in ways that should move none.

Each incident is answered once as it is, once by its dumps alone, and once after each
transformation of ``triage.perturb``. A flip is another node, role or category in the first
place; "to wrong" are flips of what was right. Innocents are nodes that are convicted after
a change and were not before. Broken are the answers that did not keep what the law says.

    python -m benchmarks.flips --generator own|recorded|DIR [--count 40] [--seed 1]
        [--only NAME,...] [--ids ID,...] [--show] [--jobs 2] [--out FILE]
"""

import argparse
import hashlib
import multiprocessing
import random
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.flip_cases import Case, Source, cases_of
from benchmarks.table import aligned, machine, write_json
from triage.domain.evidence import EvidenceRole
from triage.domain.fleet import Job
from triage.errors import TriageError
from triage.parsers.extract import Extract, Extractor
from triage.parsers.inputs import InputFile
from triage.perturb.incident import Incident, is_dump, save
from triage.perturb.registry import ALL, named
from triage.perturb.transformation import Keep
from triage.report import report_of

__all__ = ["Answerer", "Flip", "Said", "broken", "flips_of", "main"]

BASE, DUMPS = "as it is", "dumps alone"
NEAR = 0.05


@dataclass(frozen=True, slots=True)
class Said:
    """An answer in short; ``convicted`` are nodes, or "rank N" where no node is known."""

    kind: str
    category: str
    confidence: float
    node: str | None
    role: str | None
    convicted: tuple[str, ...]
    cordon: tuple[str, ...]

    def __str__(self) -> str:
        first = f"{self.role} {self.node}" if self.role else "nobody"
        return f"{self.kind} {self.category} {first} {self.confidence:.2f}"


@dataclass(frozen=True, slots=True)
class Flip:
    """One incident, answered before and after one change."""

    id: str
    what: str
    change: str
    before: Said
    after: Said
    right_before: bool
    right_after: bool
    category_before: bool
    category_after: bool
    innocents: tuple[str, ...]
    broken: tuple[str, ...]


class Answerer:
    """Answers incidents in memory; a file that was read before is not read again."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.extractor = Extractor()
        self.known: dict[tuple[str, bytes], Extract] = {}

    def forget(self) -> None:
        """Another incident comes next."""
        self.known.clear()

    def extracts(self, files: Mapping[str, bytes]) -> list[Extract]:
        """What was read out of the files."""
        return [self.extract(name, data) for name, data in files.items()]

    def extract(self, name: str, data: bytes) -> Extract:
        """What was read out of one file."""
        key = name, hashlib.blake2b(data, digest_size=16).digest()
        if key not in self.known:
            save({name: data}, self.scratch)
            path = self.scratch / name
            self.known[key] = self.extractor.extract([InputFile(path, name, len(data))])[0]
            path.unlink()
        return self.known[key]

    def said(self, files: Mapping[str, bytes]) -> Said:
        """The answer to the files."""
        try:
            answer = report_of(self.extracts(files), Job()).answer
        except TriageError as error:
            return Said("error", str(error), 0.0, None, None, (), ())
        first = answer.suspects[0] if answer.suspects else None
        convicted = tuple(
            one.node if one.node is not None else f"rank {one.ranks[0] if one.ranks else '?'}"
            for one in answer.suspects
            if one.role == "culprit"
        )
        verdict = answer.verdict
        return Said(
            str(verdict.kind), str(verdict.category), verdict.confidence,
            None if first is None else first.node or f"rank {first.ranks[0]}",
            None if first is None else str(first.role), convicted, tuple(verdict.cordon),
        )  # fmt: skip

    def with_rows(self, case: Case) -> Incident:
        """The incident with the lines that were evidence, and those that tell the cause."""
        roots, told = set(), set()
        for extract in self.extracts(case.incident.files):
            for row in (row for log in extract.logs for row in log.rows):
                if row.line is None or row.role is EvidenceRole.NOISE:
                    continue
                told.add((row.artifact, row.line))
                node = row.node or case.incident.node_of.get(row.artifact)
                if row.role is EvidenceRole.ROOT and node not in case.incident.innocent:
                    roots.add((row.artifact, row.line))
        return replace(case.incident, roots=frozenset(roots), told=frozenset(told))


def is_guilty(case: Case, who: str) -> bool:
    """Whether a node, or a "rank N", may be convicted."""
    rank = who.removeprefix("rank ")
    return who in case.guilty or (who != rank and int(rank) in case.guilty_ranks)


def right(case: Case, said: Said) -> bool:
    """The node is right; nobody is convicted where nobody is guilty."""
    if case.guilty or case.guilty_ranks:
        return said.node is not None and is_guilty(case, said.node)
    return not said.convicted


def flips_of(case: Case, answerer: Answerer, names: Sequence[str], seed: int) -> Iterator[Flip]:
    """The dumps alone first, then one flip per transformation that applies."""
    answerer.forget()
    incident = answerer.with_rows(case)
    before = answerer.said(incident.files)
    dumps = {name: data for name, data in incident.files.items() if is_dump(data)}
    by_dumps = None
    if dumps and len(dumps) < len(incident.files):
        facts = {name: data for name, data in incident.files.items() if name == "job.json"}
        by_dumps = answerer.said({**dumps, **facts})
        yield flip(case, DUMPS, before, by_dumps, ())
    for name in names:
        change = named(name)
        changed = change.apply(incident, random.Random(f"{seed}/{case.id}/{name}"))
        if changed is not None:
            after = answerer.said(changed.files)
            lost = broken(change.keeps, before, after, by_dumps, case)
            yield flip(case, name, before, after, lost)


def flip(case: Case, change: str, before: Said, after: Said, lost: tuple[str, ...]) -> Flip:
    return Flip(
        case.id, case.what, change, before, after, right(case, before), right(case, after),
        before.category in case.categories, after.category in case.categories,
        new_innocents(case, before, after), lost,
    )  # fmt: skip


def new_innocents(case: Case, before: Said, after: Said) -> tuple[str, ...]:
    return tuple(
        who for who in after.convicted if who not in before.convicted and not is_guilty(case, who)
    )


def broken(
    keeps: Collection[Keep], before: Said, after: Said, by_dumps: Said | None,
    case: Case,
) -> tuple[str, ...]:  # fmt: skip
    """What of ``keeps`` did not stay."""
    proved = by_dumps is not None and by_dumps.role == "culprit" and by_dumps.node == before.node
    lost = {
        Keep.NODE: after.node != before.node,
        Keep.ROLE: after.role != before.role,
        Keep.CATEGORY: after.category != before.category,
        Keep.CONFIDENCE: abs(after.confidence - before.confidence) > NEAR + 1e-9,
        Keep.NO_INNOCENT: bool(new_innocents(case, before, after)),
        Keep.PROVED_NODE: proved and after.node != before.node,
    }
    return tuple(str(one) for one in Keep if one in keeps and lost[one])


def main() -> int:
    """Draw, change, answer, print."""
    options = arguments()
    began = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        shares = [(options, turn) for turn in range(options.jobs)]
        flips = [one for share in pool.map(worked, shares) for one in share]
    flips.sort(key=lambda one: one.id)
    num = len({one.id for one in flips})
    print(f"{machine()}; {options.generator}: {num} incidents, seed {options.seed}\n")
    print(aligned(HEAD, [row(name, [one for one in flips if one.change == name])
                         for name in options.only]))  # fmt: skip
    spoilt = [
        one for one in flips if one.change == DUMPS and one.right_after and not one.right_before
    ]
    of = sum(one.change == DUMPS and one.right_after for one in flips)
    print(f"\nright on dumps alone: {of}; of these wrong with logs added: {len(spoilt)} "
          f"{' '.join(one.id for one in spoilt)}")  # fmt: skip
    if options.show:
        for one in [*spoilt, *(one for one in flips if shown(one))]:
            print(f"{one.id} {one.what:16.16} {one.change:15} {one.before}  ->  {one.after}"
                  f"  [{' '.join((*one.broken, *one.innocents))}]")  # fmt: skip
    write_json(options.out, "flips", [asdict(one) for one in flips])
    print(f"{time.perf_counter() - began:.0f} s in all")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--generator", default="own", help="own, recorded, or a campaign's folder")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of transformations, by commas")
    parser.add_argument("--ids", default="", help="incidents, by commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="what flipped, before and after")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all of it as JSON")
    options = parser.parse_args()
    options.only = [one for one in options.only.split(",") if one] or [one.name for one in ALL]
    return options


def worked(share: tuple[argparse.Namespace, int]) -> list[Flip]:
    """The incidents of one process."""
    options, turn = share
    ids = frozenset(one for one in options.ids.split(",") if one)
    source = Source(options.generator, options.count, options.seed, (turn, options.jobs), ids)
    with tempfile.TemporaryDirectory() as scratch:
        answerer = Answerer(Path(scratch))
        return [
            one
            for case in cases_of(source)
            for one in flips_of(case, answerer, options.only, options.seed)
        ]


HEAD = (
    "change", "incidents", "node %", "to wrong", "role %", "category %", "to wrong", "innocents",
    "confidence", "broken",
)  # fmt: skip


def row(name: str, flips: Sequence[Flip]) -> tuple[str, ...]:
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


def shown(one: Flip) -> bool:
    return bool(one.broken or one.innocents) and one.change != DUMPS


if __name__ == "__main__":
    raise SystemExit(main())
