"""A first answer from a sample: whom it names, against the answer from all histories.

Jobs of all kinds of faults hang; of each the answer is made twice, from all digests whole, and
from where all ranks stand with the histories of one in a hundred. ``first`` is what a service says
while files still come: the sample's answer, and that of the whole where the sample convicts
nobody. Status 1 where the sample alone names the culprits of the whole in fewer than 95 %.

    python -m benchmarks.sample [--ranks 256 512 1024 2048] [--seeds 5 1 1 1] [--json FILE]
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.table import aligned, machine, write_json
from simulator.kinds import KINDS, kind_named
from simulator.play import Played, play
from simulator.request import request_for
from simulator.scene import Dumped
from triage.analysis.answer import Weighing, weigh_incident
from triage.analysis.first_answer import NOTHING, choose_digests, count_chosen, weigh_sample
from triage.domain.category import Role
from triage.domain.job import Job
from triage.domain.rank_digest import OpenHistory, RankDigest
from triage.formats.extractor import describe_operations
from triage.parsers.extract.extract import Extract
from triage.parsers.extract.history import pack_past
from triage.parsers.extract.wire import pack
from triage.parsers.flight_recorder.decoder import Decoder
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.shared import Shared
from triage.parsers.logs.logset import LogSet

ENTRIES, FRAMES = 512, 4
GOAL = 0.95


@dataclass(frozen=True, slots=True)
class Compared:
    """One hang: ranks named as culprits by the whole and by the sample (None: it convicts nobody,
    and the whole is the first answer), and the CPU seconds and bytes of both.
    """

    kind: str
    ranks: int
    seed: int
    culprits: tuple[int, ...]
    whole: tuple[int, ...]
    sample: tuple[int, ...] | None
    whole_s: float
    sample_s: float
    whole_bytes: int
    sample_bytes: int

    @property
    def alone(self) -> tuple[int, ...]:
        """Whom the sample convicts by itself."""
        return self.sample or ()

    @property
    def first(self) -> tuple[int, ...]:
        """Whom the first answer names."""
        return self.whole if self.sample is None else self.sample


def main() -> int:
    """Simulate, answer twice, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 1, 1, 1])
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows = [
        compared(kind, ranks, seed)
        for ranks, seeds in zip(options.ranks, options.seeds, strict=True)
        for seed in range(options.first_seed, options.first_seed + seeds)
        for kind in hanging(ranks)
    ]
    print(f"{machine()}; {ENTRIES} entries and {FRAMES} frames each\n")
    print(shown(rows))
    for row in rows:
        if row.alone != row.whole:
            print(f"{row.kind} of {row.ranks}, seed {row.seed}: {row.sample}, not {row.whole}")
    write_json(options.json, "sample", [asdict(one) for one in rows])
    same = sum(row.alone == row.whole for row in rows)
    return 0 if same >= GOAL * len(rows) else 1


def hanging(ranks: int) -> Iterator[str]:
    """The kinds whose jobs hang until the watchdog dumps."""
    for kind in KINDS:
        asked = request_for(kind_named(kind), {"ranks": ranks, "entries": 64, "frames": 0})
        if play(asked).fault.dumped is Dumped.TIMEOUT:
            yield kind


def compared(kind: str, ranks: int, seed: int) -> Compared:
    """One hang, answered twice."""
    options = {"ranks": ranks, "entries": ENTRIES, "frames": FRAMES, "seed": seed}
    played = play(request_for(kind_named(kind), options))  # type: ignore[arg-type]
    dumps = digests_of(played)
    began = time.process_time()
    whole = weigh_incident(dumps, LogSet(), Job())
    middle = time.process_time()
    sample = weigh_sample(dumps, LogSet(), Job(), None, many=0)
    ended = time.process_time()
    read = choose_digests(dumps.digests, count_chosen(len(dumps.digests)))
    sizes = [(size(one), size(without(one))) for one in dumps.digests]
    return Compared(
        kind,
        ranks,
        seed,
        tuple(sorted(played.fault.culprits)),
        named(whole),
        None if sample is None else named(sample[0]),
        middle - began,
        ended - middle,
        sum(full for full, _ in sizes),
        sum(full if index in read else table for index, (full, table) in enumerate(sizes)),
    )


def digests_of(played: Played) -> DumpSet:
    """The dumps of a simulated job, read."""
    request, shared = played.request, Shared()
    run, decoder = played.run(request.offsets()), Decoder(shared)
    desk, absent = run.desk(), {*request.missing, *played.fault.without_dump}
    digests = [
        decoder.decode(run.dump(rank, desk), f"fr/comm_lib_trace_rank_{rank}", rank)
        for rank in range(request.shape.ranks)
        if rank not in absent
    ]
    kept = [replace(one, history=pack_past(one.history.read())) for one in digests]
    return DumpSet(kept, operations=describe_operations(digests, shared))


def named(weighed: Weighing) -> tuple[int, ...]:
    """The ranks that are convicted."""
    suspects = weighed.joined.decision.suspects
    return tuple(sorted(rank for one in suspects if one.role is Role.CULPRIT for rank in one.ranks))


def without(digest: RankDigest) -> RankDigest:
    """The tables of a digest alone."""
    return replace(digest, history=OpenHistory(NOTHING))


def size(digest: RankDigest) -> int:
    """Bytes of a digest as a node sends it, but for the words of its operations."""
    return len(pack(Extract(digest.artifact, 0, (digest,), {}), compact=True))


def shown(rows: Sequence[Compared]) -> str:
    """A line for each number of ranks."""
    head = (
        "ranks", "hangs", "sample as whole", "first as whole", "others named", "whole right",
        "first right", "CPU s", "sample CPU s", "MB", "sample MB",
    )  # fmt: skip
    lines = []
    for ranks in (*sorted({row.ranks for row in rows}), 0):
        own = [row for row in rows if ranks in (row.ranks, 0)]
        guilty = [row for row in own if row.culprits]
        lines.append(
            (
                f"{ranks:,}" if ranks else "all",
                str(len(own)),
                f"{sum(row.alone == row.whole for row in own) / len(own):.1%}",
                f"{sum(row.first == row.whole for row in own) / len(own):.1%}",
                str(sum(row.first != row.whole for row in own)),
                f"{sum(row.whole == row.culprits for row in guilty)}/{len(guilty)}",
                f"{sum(row.first == row.culprits for row in guilty)}/{len(guilty)}",
                f"{sum(row.whole_s for row in own) / len(own):.3f}",
                f"{sum(row.sample_s for row in own) / len(own):.3f}",
                f"{sum(row.whole_bytes for row in own) / len(own) / 1e6:.2f}",
                f"{sum(row.sample_bytes for row in own) / len(own) / 1e6:.2f}",
            )
        )
    return aligned(head, lines)


if __name__ == "__main__":
    raise SystemExit(main())
