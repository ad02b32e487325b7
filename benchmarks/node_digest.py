"""Digests made on the node against the dumps themselves: the same answers, and how many bytes.

Every incident is answered twice, from its files and with each dump replaced by what
``triage collect --digest`` sends. Status 1 where an answer differs.

    python -m benchmarks.node_digest [--count 100] [--folders field=DIR other=DIR] [--plain DIR ...]
    python -m benchmarks.node_digest --count 0 --entries 2000 20000

``--folders`` are campaigns (``DIR/cases/ID``), ``--plain`` folders of which each is an incident.
``--entries`` are rings of this size in jobs of all kinds of faults, for the bytes of a digest.
"""

import argparse
import multiprocessing
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.campaign_cases import Setting, folder_cases, simulated_cases
from benchmarks.table import aligned, machine, write_json
from simulator.incident import simulate
from simulator.kinds import KINDS
from triage import analyze
from triage.errors import ArtifactError, TriageError
from triage.formats.dumps import DumpReader
from triage.formats.extractor import make_digest_file
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared
from triage.render.data import wire

RANKS, FRAMES = 64, 8


@dataclass(frozen=True, slots=True)
class Compared:
    """One incident: ``raw`` and ``digest`` are bytes of each of its dumps, ``whole`` how many
    files that are called dumps are sent as they are.
    """

    source: str
    id: str
    same: bool
    raw: tuple[int, ...]
    digest: tuple[int, ...]
    whole: int


def main() -> int:
    """Answer twice, compare, print."""
    options = arguments()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        shares = [(options, turn) for turn in range(options.jobs)]
        found = [one for share in pool.map(worked, shares) for one in share]
    print(machine())
    print(shown(found))
    different = [f"{one.source} {one.id}" for one in found if not one.same]
    print(f"\nanswers that differ: {', '.join(different) or 'none'} of {len(found):,}")
    write_json(options.out, "node_digest", [asdict(one) for one in found])
    return 1 if different else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="simulated incidents")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folders", nargs="+", default=[], metavar="[NAME=]DIR")
    parser.add_argument("--plain", nargs="+", type=Path, default=[], metavar="DIR")
    parser.add_argument("--entries", nargs="+", type=int, default=[], metavar="N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="FILE", help="the numbers as JSON")
    return parser.parse_args()


def worked(share: tuple[argparse.Namespace, int]) -> list[Compared]:
    """The incidents of one process."""
    options, turn = share
    with tempfile.TemporaryDirectory() as scratch:
        return [
            compared(source, path, Path(scratch) / "digests")
            for source, path in incidents(options, turn, Path(scratch) / "made")
        ]


def incidents(options: argparse.Namespace, turn: int, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Where each incident came from, and its files."""
    share = (turn, options.jobs)
    scratch.mkdir()
    setting = Setting(options.seed, options.count, evenly=True, missing=0.1)
    for path, _ in simulated_cases(setting, scratch, share=share):
        yield "simulate", path
    for given in options.folders:
        name, _, folder = given.rpartition("=")
        for path, _ in folder_cases(Path(folder), name, share):
            yield name or Path(folder).name, path
    for folder in options.plain[turn :: options.jobs]:
        yield "plain", folder
    for entries in options.entries:
        for kind in sorted(KINDS)[turn :: options.jobs]:
            out = scratch / kind
            simulate(kind, out, ranks=RANKS, entries=entries, frames=FRAMES)
            yield f"ring of {entries:,}", out
            shutil.rmtree(out)


def compared(source: str, files: Path, copy: Path) -> Compared:
    """One incident, answered both ways."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(files, copy)
    before = answered(copy)
    reader = DumpReader(Shared(), DEFAULT_LIMITS)
    raw, small, whole = [], [], 0
    for path in sorted(path for path in copy.rglob("*") if path.is_file()):
        data = path.read_bytes()
        try:
            made = make_digest_file(reader, data, path.name)
        except ArtifactError as error:
            whole += "no plain dump" not in str(error)
            continue
        path.write_bytes(made)
        raw.append(len(data))
        small.append(len(made))
    return Compared(source, files.name, answered(copy) == before, tuple(raw), tuple(small), whole)


def answered(folder: Path) -> bytes:
    """The report as its bytes, or why there is none."""
    try:
        return wire.render(analyze(folder).answer)
    except TriageError as error:
        return str(error).encode()


def shown(found: Sequence[Compared]) -> str:
    """A line for each source of incidents."""
    rows = []
    for source in dict.fromkeys(one.source for one in found):
        own = [one for one in found if one.source == source]
        raw = [size for one in own for size in one.raw]
        small = sorted(size for one in own for size in one.digest)
        if not small:
            continue
        rows.append(
            (
                source,
                f"{len(own):,}",
                f"{sum(one.same for one in own):,}",
                f"{len(small):,}",
                f"{sum(one.whole for one in own):,}",
                f"{sum(raw) / len(raw):,.0f}",
                f"{median(small):,.0f}",
                f"{small[int(0.99 * (len(small) - 1))]:,}",
                f"{small[-1]:,}",
                f"{sum(raw) / sum(small):,.0f}",
            )
        )
    head = ("incidents of", "incidents", "same answer", "digests", "sent whole", "bytes a dump",
            "a digest", "p99", "most", "times less")  # fmt: skip
    return aligned(head, rows)


if __name__ == "__main__":
    raise SystemExit(main())
