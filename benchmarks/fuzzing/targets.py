"""What the fuzzing calls with made-up bytes, and what must hold of each call."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

import zstandard

from triage.analysis.placement.job_excerpts import JobExcerpts
from triage.domain.answer_wire import answer_from_bytes
from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.job import Job
from triage.errors import Corrupt
from triage.formats.extractor import Extractor
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.parsers.redact.redact import Redactor
from triage.report import build_study, list_evidence_rows
from triage.sandbox.warm_up import warm_up

_Read = Callable[[bytes], None]
# What readers share grows with what they have read.
_RENEW_AFTER: Final = 2000


class _MemoryPath:
    """A file that is nowhere, as readers open one: the confined child can write none."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.st_size = len(data)

    def open(self, _mode: str, buffering: int = -1) -> io.BytesIO:  # noqa: ARG002 - as a path's
        return io.BytesIO(self.data)

    def read_bytes(self) -> bytes:
        return self.data

    def stat(self) -> "_MemoryPath":
        return self


class _FileReader:
    """A file is read or refused, never raised over, and what comes of it can be kept and used."""

    def __init__(self) -> None:
        self.extractor = Extractor()
        warm_up(self.extractor)
        self.near = JobExcerpts(Job())
        self.num_read = 0

    def __call__(self, data: bytes) -> None:
        self.num_read += 1
        if self.num_read % _RENEW_AFTER == 0:
            self.extractor = Extractor()
        path = cast(Path, _MemoryPath(data))
        name = "nodes/n3/comm_lib_trace_rank_5"
        (extract,) = self.extractor.extract([InputFile(path, name, len(data))])
        packed = pack(extract)
        again = unpack(packed)
        assert pack(again) == packed, "an extract changes when it is stored"
        rows = to_exact_json(list_evidence_rows(extract, self.near.of(extract)))
        assert to_exact_json(from_exact_json(rows)) == rows, "rows change when they are stored"
        build_study([again], parse_job(b"{}")[0])


def _read_extract(data: bytes) -> None:
    """A stored extract is read, or is Corrupt; what was read can be analysed."""
    try:
        extract = unpack(data[:4] + zstandard.compress(data[4:], 1))
    except Corrupt:
        return
    pack(extract)


def _read_answer(data: bytes) -> None:
    """A stored answer is read, or is Corrupt."""
    try:
        answer_from_bytes(data[:4] + zstandard.compress(data[4:], 1))
    except Corrupt:
        return


def _read_redacted(data: bytes) -> None:
    """Secrets go; lines stay."""
    redactor = Redactor()
    out = redactor.feed(data[: len(data) // 2]) + redactor.feed(data[len(data) // 2 :])
    out += redactor.finish()
    whole = Redactor()
    assert whole.feed(data) + whole.finish() == out, "it depends on where the pieces are cut"


def _read_job(data: bytes) -> None:
    """Facts are read, or said to be none."""
    parse_job(data)


def target(name: str) -> _Read:
    """The call of this name; everything is compiled already."""
    if name in ("file", "packed"):
        return _FileReader()
    return {
        "extract": _read_extract, "answer": _read_answer, "redact": _read_redacted,
        "job": _read_job,
    }[name]  # fmt: skip
