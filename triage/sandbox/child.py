"""The process that reads foreign bytes, so that the service need not.

It may crash, hang or run out of memory: the parent sees that, kills it, and starts
another. It has no credentials and no connections; it knows files, frames and the core.
As soon as all is compiled it gives up what it does not need (:mod:`triage.sandbox.confinement`):
it reads code and the files in INPUTS, and writes its answers.
It ends when its parent does, however that ended, and when it cannot give its memory back.

    python -m triage.sandbox.child MEMORY_BYTES RESIDENT_BYTES PARENT_PID INPUTS
"""

import ctypes
import faulthandler
import gc
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import orjson

from triage.analysis.placement.job_excerpts import JobExcerpts
from triage.domain.answer_wire import answer_to_bytes
from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.file_kind import get_file_kind
from triage.domain.job import Job
from triage.domain.report import Refused
from triage.domain.restart import read_starts
from triage.domain.standing import Prior, read_prior
from triage.domain.states import ArtifactState
from triage.formats.extractor import Extractor
from triage.parsers.extract.digest import Interned
from triage.parsers.extract.extract import Extract
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.report import DatedRow, build_study, list_evidence_rows
from triage.sandbox.confinement.confine import confine, restrict
from triage.sandbox.confinement.seccomp import call_prctl
from triage.sandbox.errors import OUT_OF_MEMORY
from triage.sandbox.protocol import READY, SPENT, read_frame, write_frame
from triage.sandbox.warm_up import warm_up
from triage.signatures.own.own_signatures import own_from_bytes

# Looking for what can be given back takes as long as reading a small upload.
_GIVE_BACK_AFTER: Final = 4 << 20
_PR_SET_PDEATHSIG: Final = 1
# A row's values in the order of its fields; `astuple` copies each of them with care.
_DATED: Final = attrgetter(*(field.name for field in fields(DatedRow)))


def main(arguments: Sequence[str]) -> int:
    """Serve requests from standard input until it ends."""
    memory_bytes, resident_bytes, parent = (int(one) for one in arguments[:3])
    source, sink = _own_pipes()
    _end_with(parent)
    restrict(memory_bytes)
    faulthandler.enable()
    # One request makes a million objects and drops them all; looking for cycles among them
    # took as long as reading them.
    gc.disable()
    server = _Server(source, sink)
    warm_up(server.extractor)
    gc.freeze()  # what stays is not looked through after every call
    resident = _ResidentMemory()
    missing = confine([Path(arguments[3])])
    _end_with_pipe(source)  # a thread, which would escape from what is confined later
    write_frame(sink, READY + orjson.dumps(missing))
    while (request := read_frame(source)) is not None:
        if server.answer(request):
            _give_back_memory()
        # Said behind every answer, so that nobody asks one that is about to leave.
        if resident.now() > resident_bytes:
            write_frame(sink, SPENT)
            return 0
        write_frame(sink, READY)
    return 0


def _own_pipes() -> tuple[int, int]:
    """Standard input and output to ourselves: nothing that a library prints gets between."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


def _end_with(parent: int) -> None:
    """Have the kernel, where it can, end this process with its parent, even while it hangs in
    native code.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            call_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def _end_with_pipe(source: int) -> None:
    """End this process when its parent's end of the pipe is gone."""

    def watch() -> None:
        poll = select.poll()
        poll.register(source, 0)  # hanging up is told whatever one asks for
        poll.poll()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


class _Server:
    """Answers one request after the other."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.extractor = Extractor()
        self.facts, self.job = b"", JobExcerpts(Job())
        self.own = b""
        self.since_given_back = 0

    def answer(self, request: bytes) -> bool:
        """One request. An error is an answer too; only lack of memory ends the process.

        Whether there may be much memory to give back.
        """
        began = time.perf_counter()
        told: dict[str, Any] = {}
        parts: list[bytes] = []
        frames = _Frames(self.source)
        try:
            asked = from_exact_json(request)
            work = self.extract if asked["do"] == "extract" else self.analyse
            parts = work(asked, frames, told)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except Exception as error:  # noqa: BLE001 the edge of the process: the parent decides
            traceback.print_exc()
            told = {"error": type(error).__name__, "why": str(error)[:2000]}
            told["stays"] = not isinstance(error, OSError)
        frames.rest()
        told |= {
            "parts": len(parts),
            "seconds": time.perf_counter() - began,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        write_frame(self.sink, orjson.dumps(told))
        for part in parts:
            write_frame(self.sink, part)
        self.since_given_back += sum(map(len, parts))
        much = "states" not in told or self.since_given_back > _GIVE_BACK_AFTER
        if much:
            self.since_given_back = 0
        return much

    def extract(
        self, asked: dict[str, Any], frames: "_Frames", told: dict[str, Any]
    ) -> list[bytes]:
        """For each file its packed extract, and its rows of evidence as a JSON list."""
        near = self.near(next(frames, b""))
        own = next(frames, b"")
        if own != self.own:
            self.extractor.use(own_from_bytes(own))
            self.own = own
        files = [
            InputFile(Path(path), name, size, get_file_kind(kind))
            for path, (name, size, _, kind) in zip(asked["paths"], asked["files"], strict=True)
        ]
        for file in files:
            # What a reader cannot open is no fault of the file, as its bytes might be.
            os.close(os.open(file.path, os.O_RDONLY | os.O_CLOEXEC))
        ranks = {name: rank for name, _, rank, _ in asked["files"] if rank is not None}
        parts = []
        told["states"] = states = []
        for extract in self.extractor.extract(files, ranks):
            parts += [pack(extract), to_exact_json(list_evidence_rows(extract, near.of(extract)))]
            states.append(judge_extract(extract))
        return parts

    def near(self, facts: bytes) -> JobExcerpts:
        """The job that these facts describe; mostly it is the one of the request before."""
        if facts != self.facts:
            self.facts, self.job = facts, JobExcerpts(parse_job(facts)[0])
        return self.job

    def analyse(
        self, asked: dict[str, Any], frames: "_Frames", _told: dict[str, Any]
    ) -> list[bytes]:
        """The packed answer, and the dated evidence."""
        job = next(frames, b"")
        interned = Interned()
        extracts: Iterator[Extract] = (unpack(one, interned) for one in frames)
        facts, problem = parse_job(job)
        notes = [*asked["notes"], *facts.problems]
        if problem:
            notes.append(f"what is known of the job {problem}; it is not used")
        study = build_study(
            extracts,
            facts.with_record(_decode_standings(asked["standings"]), read_starts(asked["starts"])),
            [Refused(artifact, why) for artifact, why in asked["refused"]],
            notes,
            None if asked["at"] is None else datetime.fromisoformat(asked["at"]),
            own_in_force=asked["own_in_force"],
        )
        dated = to_exact_json([_DATED(row) for row in study.dated])
        return [answer_to_bytes(study.report.answer), dated]


class _Frames(Iterator[bytes]):
    """The frames behind a request, up to an empty one."""

    def __init__(self, source: int) -> None:
        self.source = source
        self.ended = False

    def __next__(self) -> bytes:
        found = None if self.ended else read_frame(self.source)
        if not found:
            self.ended = True
            raise StopIteration
        return found

    def rest(self) -> None:
        """Read what an error left unread, so that the next request is found."""
        for _ in self:
            pass


def judge_extract(extract: Extract) -> tuple[str, str | None]:
    """What became of a file as a whole, and why it is not all read."""
    refused = [*extract.refused, *extract.refused_logs]
    if not extract.digests and not extract.logs and refused:
        return ArtifactState.QUARANTINED, refused[0].why
    partial = next((one.partial for one in extract.digests if one.partial is not None), None)
    if partial is not None:
        return ArtifactState.PARTIAL, partial
    if refused:
        return ArtifactState.PARTIAL, f"{refused[0].artifact}: {refused[0].why}"
    return ArtifactState.ANALYSED, None


def _decode_standings(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, Prior]:
    """The priors as the parent sent them."""
    return {node: prior for node, one in raw.items() if (prior := read_prior(one)) is not None}


def _give_back_memory() -> None:
    """Of what a large incident took, all that can be, to the system."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return


class _ResidentMemory:
    """How much memory this process holds; opened while files may be opened."""

    def __init__(self) -> None:
        try:
            self.pages: int | None = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self.pages = None

    def now(self) -> int:
        """Bytes; 0 where the system does not say."""
        if self.pages is None:
            return 0
        return int(os.pread(self.pages, 256, 0).split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
