"""Incidents in memory answered as ``triage analyze`` answers a folder, and the answer in short."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from simulator.perturb.incident import Incident, save
from tests.support.cases import Case
from triage.domain.evidence import EvidenceRole
from triage.domain.job import Job
from triage.errors import TriageError
from triage.formats.extractor import Extractor
from triage.parsers.extract.extract import Extract
from triage.parsers.files.inputs import InputFile
from triage.report import build_report


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """An answer in short; ``convicted`` are nodes, or "rank N" where no node is known, ``left_out``
    those without which the job is to start again.
    """

    kind: str
    category: str
    confidence: float
    node: str | None
    role: str | None
    convicted: tuple[str, ...]
    cordon: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        first = f"{self.role} {self.node}" if self.role else "nobody"
        return f"{self.kind} {self.category} {first} {self.confidence:.2f}"


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

    def said(self, files: Mapping[str, bytes]) -> AnswerSummary:
        """The answer to the files."""
        try:
            answer = build_report(self.extracts(files), Job()).answer
        except TriageError as error:
            return AnswerSummary("error", str(error), 0.0, None, None, (), ())
        first = answer.suspects[0] if answer.suspects else None
        convicted = tuple(
            one.node if one.node is not None else f"rank {one.ranks[0] if one.ranks else '?'}"
            for one in answer.suspects
            if one.role == "culprit"
        )
        verdict = answer.verdict
        return AnswerSummary(
            str(verdict.kind), str(verdict.category), verdict.confidence,
            None if first is None else first.node or f"rank {first.ranks[0]}",
            None if first is None else str(first.role), convicted, tuple(verdict.cordon),
            () if answer.restart is None else tuple(answer.restart.exclude),
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
