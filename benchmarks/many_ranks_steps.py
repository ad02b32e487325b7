"""The steps of ``benchmarks.many_ranks``, each in a process of its own: its last line is JSON.

python -m benchmarks.many_ranks_steps make FILE RANKS ENTRIES DUMPS
python -m benchmarks.many_ranks_steps enlarge FILE SMALL TIMES
python -m benchmarks.many_ranks_steps answer FILE
"""

import hashlib
import json
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from benchmarks.many_ranks import FRAMES, KIND, SEED, frames
from simulator.kinds import kind_named
from simulator.play import play
from simulator.request import request_for
from triage.domain.rank_digest import GroupRow, RankDigest
from triage.formats.extractor import describe_operations
from triage.formats.node_digest import make_node_interned, read_node_digest, write_node_digest
from triage.parsers.extract.digest import Interned
from triage.parsers.extract.extract import Extract
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.job_file import parse_job
from triage.parsers.flight_recorder.decoder import Decoder
from triage.parsers.flight_recorder.shared import Shared
from triage.report import build_study

# Every so many ranks the digest is read as a service reads it.
EVERY = 8


def make(file: Path, ranks: int, entries: int, dumps: int) -> dict[str, Any]:
    """The digests of a simulated job's first ranks, and what reading these dumps costs."""
    request = request_for(
        kind_named(KIND),
        {"ranks": ranks, "entries": entries, "frames": FRAMES, "seed": SEED},
    )
    played = play(request)
    simulated, shared = played.run(request.offsets()), Shared()
    desk, decoder, interned = simulated.desk(), Decoder(shared), make_node_interned()
    facts: dict[str, Any] = dict.fromkeys(("read_s", "raw_sha256_s", "pack_s", "intake_s"), 0.0)
    facts |= {"ranks": ranks, "raw_bytes": 0, "digest_bytes": 0, "culprit": culprit_of(played)}
    facts["dumps"] = dumps
    facts["shape"] = [request.shape.tp, request.shape.dp, request.shape.pp]
    decoder.decode(simulated.dump(0, desk), "warm_0", 0)
    with file.open("wb") as out:
        for rank in range(dumps):
            data = simulated.dump(rank, desk)
            name = f"fr/comm_lib_trace_rank_{rank}"
            at = [time.process_time()]
            digest = decoder.decode(data, name, rank)
            at.append(time.process_time())
            hashlib.sha256(data)
            at.append(time.process_time())
            operations = describe_operations([digest], shared)
            facts["digest_bytes"] += put(out, pack(
                Extract(name, len(data), (digest,), operations), compact=True
            ))  # fmt: skip
            at.append(time.process_time())
            facts["raw_bytes"] += len(data)
            for key, begin, end in zip(
                ("read_s", "raw_sha256_s", "pack_s"), at, at[1:], strict=False
            ):
                facts[key] += end - begin
            if rank % EVERY == 0:
                sent = write_node_digest(name, len(data), digest, operations)
                begin = time.process_time()
                found, words = read_node_digest(sent, interned)
                pack(Extract(name, len(sent), (found,), words))
                facts["intake_s"] += EVERY * (time.process_time() - begin)
    return facts


def culprit_of(played: Any) -> int:  # noqa: ANN401 - what a simulated job is
    """The rank at fault."""
    (rank,) = played.fault.culprits
    return int(rank)


def put(out: IO[bytes], packed: bytes) -> int:
    """Write one extract; how many bytes it has."""
    out.write(struct.pack("<I", len(packed)) + packed)
    return len(packed)


def enlarged(file: Path, facts: dict[str, Any], times: int) -> Iterator[Extract]:
    """The extracts of a job with ``times`` as many data-parallel replicas, each unpacked anew.

    Each copy of the culprit's replica but the first is a copy of its neighbour.
    """
    tp, dp, pp = facts["shape"]
    packed = list(frames(file))
    larger = Larger(tp, dp, pp, times)
    bad = facts["culprit"] // tp % dp
    interned = Interned(max_listed=1 << 40)
    for copy in range(times):
        for rank in range(tp * dp * pp):
            source = rank
            if copy and rank // tp % dp == bad:
                source = rank + (tp if bad + 1 < dp else -tp)
            extract = unpack(packed[source], interned)
            digest = larger.digest(extract.digests[0], rank, copy)
            yield replace(extract, artifact=digest.artifact, digests=(digest,))


class Larger:
    """Where ranks and groups of a job stand in one with more replicas.

    A rank is a pipeline stage, then a replica, then a place in the tensor group.
    """

    def __init__(self, tp: int, dp: int, pp: int, times: int) -> None:
        self.tp, self.dp, self.pp, self.times = tp, dp, pp, times
        self.lists: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.rows: dict[tuple[str, str, int], GroupRow] = {}
        self.names: dict[tuple[str | None, str | None], tuple[str | None, str | None]] = {}

    def rank(self, rank: int, copy: int) -> int:
        """The rank of a copy."""
        stage, place = divmod(rank, self.tp * self.dp)
        return stage * self.tp * self.dp * self.times + copy * self.tp * self.dp + place

    def digest(self, digest: RankDigest, rank: int, copy: int) -> RankDigest:
        """The digest of a copy."""
        at = self.rank(rank, copy)
        groups = tuple(self.group(row, rank, copy) for row in digest.groups)
        names = {old.name: new.name for old, new in zip(digest.groups, groups, strict=True)}
        pairs = [(names[str(name)], desc) for name, desc in digest.stream_names]
        return replace(
            digest,
            artifact=f"fr/comm_lib_trace_rank_{at}",
            rank=at,
            groups=groups,
            stream_names=tuple([self.names.setdefault(pair, pair) for pair in pairs]),
        )

    def group(self, row: GroupRow, rank: int, copy: int) -> GroupRow:
        """A group of a copy: over all copies where it goes over replicas."""
        tp, dp, pp, times = self.tp, self.dp, self.pp, self.times
        block, stage, place = tp * dp, rank // (tp * dp), rank % tp
        key: tuple[int, ...]
        if row.desc == "default_pg":
            key = (0, 1, block * times * pp)
        elif row.desc == "mesh_dp":
            key = (stage * block * times + place, tp, dp * times)
        elif row.desc == "mesh_tp":
            key = (self.rank(rank - place, copy), 1, tp)
        else:
            key = (self.rank(rank % block, copy), block * times, pp)
        first, step, count = key
        if key not in self.lists:
            self.lists[key] = tuple(range(first, first + step * count, step))
        # A group of its own in each copy: names of groups follow their first rank. Each row is
        # made once, as by the reader.
        if (row.key, row.desc, first) not in self.rows:
            name = f"{row.desc}{first}"
            self.rows[row.key, row.desc, first] = replace(row, name=name, ranks=self.lists[key])
        return self.rows[row.key, row.desc, first]


def answer(file: Path, times: int) -> dict[str, Any]:
    """The answer from the digests, as a service makes it, of a job ``times`` as large."""
    facts = json.loads(file.with_suffix(f"{file.suffix}.json").read_text())
    culprit, interned = facts["culprit"], Interned()
    extracts: Iterator[Extract] = (unpack(one, interned) for one in frames(file))
    if times > 1:
        extracts = enlarged(file, facts, times)
        tp, dp, pp = facts["shape"]
        culprit = Larger(tp, dp, pp, times).rank(culprit, 0)
    report = build_study(extracts, parse_job(b"{}")[0]).report
    named = [rank for one in report.answer.suspects if one.role == "culprit" for rank in one.ranks]
    return {"right": named == [culprit], "verdict": report.answer.verdict.summary}


if __name__ == "__main__":
    step, path, *given = sys.argv[1:]
    if step == "make":
        ranks, entries, dumps = map(int, given)
        facts = make(Path(path), ranks, entries, dumps)
    else:
        facts = answer(Path(path), int(given[0]))
    print(json.dumps(facts))
