"""Work that is due, done in this process."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from triage.domain.answer_wire import answer_to_bytes
from triage.domain.exact_json import to_exact_json
from triage.domain.job import make_job
from triage.domain.states import WorkKind
from triage.formats.extractor import Extractor
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.report import build_study, list_evidence_rows
from triage.sandbox.child import judge_extract
from triage.sandbox.pool import NOTHING_KNOWN, Analysis, Extracted, FileToRead, KnownOfJob, Readers
from triage.server.work import make_runner
from triage.services.context import Context
from triage.signatures.own.own_signatures import own_from_bytes

# What readers gave for what they were given: a reader knows nothing else, and most tests of the
# service send the same few jobs.
GIVEN: dict[tuple[object, ...], Any] = {}
MOST_GIVEN = 1_000


def give_again(asked: tuple[object, ...], read: Callable[[], Any]) -> Any:
    """What ``read`` gives, read once for all who ask the same."""
    if asked not in GIVEN:
        found = read()
        if len(GIVEN) >= MOST_GIVEN:
            GIVEN.clear()
        GIVEN[asked] = found
    return GIVEN[asked]


class ReadersHere:
    """What :class:`SandboxPool` does, in this process: quick, and nothing to kill."""

    def extract(
        self,
        files: Sequence[FileToRead],
        facts_json: bytes = b"{}",
        *,
        own: bytes = b"",
        deadline_s: float,
    ) -> list[Extracted]:
        named = [
            (one.artifact, one.size_bytes, one.kind, one.rank, digest(one.path.read_bytes()))
            for one in files
        ]
        asked = (facts_json, own, *named)
        return list(give_again(asked, lambda: self.read(files, facts_json, own)))

    def read(self, files: Sequence[FileToRead], facts_json: bytes, own: bytes) -> list[Extracted]:
        inputs = [InputFile(one.path, one.artifact, one.size_bytes, one.kind) for one in files]
        ranks = {one.artifact: one.rank for one in files if one.rank is not None}
        facts, _ = parse_job(facts_json)
        return [
            Extracted(pack(one), to_exact_json(list_evidence_rows(one, facts)), *judge_extract(one))
            for one in Extractor(own_from_bytes(own)).extract(inputs, ranks)
        ]

    def analyse(
        self,
        packed: Iterable[bytes],
        known: KnownOfJob = NOTHING_KNOWN,
        *,
        deadline_s: float,
    ) -> Analysis:
        extracts = list(packed)
        asked = (repr(known), *map(digest, extracts))
        return give_again(asked, lambda: self.study(extracts, known))

    def study(self, packed: Sequence[bytes], known: KnownOfJob) -> Analysis:
        facts = make_job(orjson.loads(known.facts_json))
        facts = facts.with_record(known.standings, known.starts)
        study = build_study(
            map(unpack, packed),
            facts,
            list(known.refused),
            list(known.notes),
            known.at,
            own_in_force=known.own_in_force,
        )
        return Analysis(
            answer=answer_to_bytes(study.report.answer),
            dated=study.dated,
            seconds=0.0,
            peak_mib=0.0,
        )

    def close(self) -> None:
        """Nothing to end."""


def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def do_one(ctx: Context, readers: Readers, kind: WorkKind) -> bool:
    """Do the next row of this kind; whether there was one."""
    return make_runner(ctx, readers).run_once(kind)


def do_all(ctx: Context, readers: Readers, *kinds: WorkKind) -> None:
    """Do everything of these kinds that is due, and what becomes due by it."""
    runner = make_runner(ctx, readers)
    while any(runner.run_once(kind) for kind in kinds):
        pass
