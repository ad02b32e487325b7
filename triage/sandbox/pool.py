"""Reading and analysing in a process that can be killed.

A file may bring its reader down: a bug in native code, a loop without end, memory without
bounds. So neither the API nor a worker reads foreign bytes itself. It asks a child that
lives from call to call, and that is killed when it takes too long; when it is gone, the
next call starts another.
"""

import os
import queue
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import structlog

from triage.domain.exact_json import from_exact_json, to_exact_json
from triage.domain.file_kind import FileKind
from triage.domain.report import Refused
from triage.domain.restart import NO_STARTS, EarlierStarts
from triage.domain.standing import NO_STANDINGS, Prior
from triage.domain.states import ArtifactState
from triage.report import DatedRow
from triage.sandbox.errors import ReaderDied, ReaderFailed, ReaderNotStarted, ReaderTooSlow
from triage.sandbox.process import STOP_S, ReaderProcess
from triage.sandbox.protocol import Closed, TooLate

log = structlog.get_logger(__name__)

# Of address space, which is several times what is used; see `benchmarks/extract_speed.py`.
_MEMORY_BYTES: Final = 4 << 30
# Of memory that a child still holds after it gave back what it can.
_RESIDENT_BYTES: Final = 1 << 30
# The first start after an installation compiles.
_START_S: Final = 300.0
# Giving back the memory of the largest incident takes a second.
_REST_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class FileToRead:
    """A plain file to be read: ``artifact`` is its name in reports.

    ``rank`` is the global rank that the sender says it is of, None to go by the name.
    ``kind`` is what it was stored as, None where nobody has looked at it.
    """

    path: Path
    artifact: str
    size_bytes: int
    rank: int | None = None
    kind: FileKind | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one file came down to: its packed extract, and its rows of ``triage parse``, which
    :func:`triage.domain.exact_json.from_exact_json` reads.

    ``state`` is what became of it, ``reason`` why it is not all read.
    """

    packed: bytes
    rows: bytes
    state: ArtifactState
    reason: str | None


@dataclass(frozen=True, slots=True)
class KnownOfJob:
    """What is known of a job beside its files.

    ``facts_json`` is as in ``job.json``; ``refused`` are files without an extract; ``at`` is when
    the job stopped; ``standings`` and ``starts`` are what our own record knows of nodes and of
    earlier starts of the job, and stand in no ``job.json``. ``own_in_force`` is the label of the
    own signatures in force, None where it is not asked whether logs were read with others.
    """

    facts_json: bytes = b"{}"
    refused: Sequence[Refused] = ()
    notes: Sequence[str] = ()
    at: datetime | None = None
    standings: Mapping[str, Prior] = field(default_factory=lambda: NO_STANDINGS)
    starts: EarlierStarts = NO_STARTS
    own_in_force: str | None = None


NOTHING_KNOWN: Final = KnownOfJob()


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an analysis gives back.

    ``answer`` is for :func:`triage.domain.answer_wire.answer_from_bytes`, ``dated`` is what the
    whole incident tells of the rows of evidence, ``peak_mib`` the most memory that the child
    ever held.
    """

    answer: bytes
    dated: tuple[DatedRow, ...]
    seconds: float
    peak_mib: float


class Readers(ABC):
    """One child that reads and analyses, or several; in tests, readers in the same process."""

    @abstractmethod
    def call(
        self,
        asked: dict[str, Any],
        frames: Iterable[bytes],
        deadline_s: float,
        paths: Sequence[Path] = (),
    ) -> tuple[dict[str, Any], list[bytes]]:
        """One request, with the files that it is about, and its answer."""

    @abstractmethod
    def close(self) -> None:
        """End the children."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def extract(
        self,
        files: Sequence[FileToRead],
        facts_json: bytes = b"{}",
        *,
        own: bytes = b"",
        deadline_s: float,
    ) -> list[Extracted]:
        """The extracts of ``files``, in their order; ``facts_json`` is as in ``job.json``.

        ``own`` are own signatures as bytes, empty for none.

        Bad bytes are refused inside their extract. Raises :class:`ReaderDied`,
        :class:`ReaderTooSlow` and :class:`ReaderFailed`.
        """
        listed = [[file.artifact, file.size_bytes, file.rank, file.kind] for file in files]
        asked = {"do": "extract", "files": listed}
        paths = [file.path for file in files]
        told, parts = self.call(
            asked, _iterate_frames(facts_json, (own,) if own else ()), deadline_s, paths
        )
        return [
            Extracted(packed, rows, ArtifactState(state), reason)
            for packed, rows, (state, reason) in zip(
                parts[::2], parts[1::2], told["states"], strict=True
            )
        ]

    def analyse(
        self,
        packed: Iterable[bytes],
        known: KnownOfJob = NOTHING_KNOWN,
        *,
        deadline_s: float,
    ) -> Analysis:
        """The answer that follows from packed extracts, which may come from a generator.

        Raises as :meth:`extract` does; an extract that is damaged is a :class:`ReaderFailed`.
        """
        asked = {
            "do": "analyse",
            "refused": [[file.artifact, file.why] for file in known.refused],
            "notes": list(known.notes),
            "at": None if known.at is None else known.at.isoformat(),
            "own_in_force": known.own_in_force,
            "standings": {node: prior.to_dict() for node, prior in known.standings.items()},
            "starts": known.starts.to_dict(),
        }
        told, parts = self.call(asked, _iterate_frames(known.facts_json, packed), deadline_s)
        answer, dated = parts
        rows = tuple(DatedRow(*values) for values in from_exact_json(dated))
        return Analysis(answer, rows, told["seconds"], told["peak_mib"])


class Sandbox(Readers):
    """A child that reads and analyses. Threads may share it: one call is made at a time.

    ``memory_bytes`` is of address space. A child that holds more than ``resident_bytes`` when it
    has answered ends, and another takes its place. ``warm`` starts the child at once; else the
    first call does, and waits for it. What starting takes is on no call's deadline.
    """

    def __init__(
        self,
        memory_bytes: int = _MEMORY_BYTES,
        resident_bytes: int = _RESIDENT_BYTES,
        *,
        warm: bool = True,
    ) -> None:
        self.memory_bytes = memory_bytes
        self.resident_bytes = resident_bytes
        self.lock = threading.Lock()
        self.child: ReaderProcess | None = self.new_child() if warm else None

    @property
    def pid(self) -> int | None:
        """The child's process id, None where none was started."""
        child = self.child
        return None if child is None else child.pid

    def call(
        self,
        asked: dict[str, Any],
        frames: Iterable[bytes],
        deadline_s: float,
        paths: Sequence[Path] = (),
    ) -> tuple[dict[str, Any], list[bytes]]:
        """One request, with the files that it is about, and its answer."""
        with self.lock:
            child = self.ready_child()
            began = time.monotonic()
            done = False
            try:
                with child.inputs.lent(paths) as asked["paths"]:
                    told, parts = child.ask(to_exact_json(asked), frames, began + deadline_s)
                # Who cannot open what it was lent may have been confined to a folder that is gone.
                done = told.get("stays", True)
            except TooLate as error:
                _, peak_mib = child.end()
                raise ReaderTooSlow(deadline_s, time.monotonic() - began, peak_mib) from error
            except Closed as error:
                raise self.death(child, time.monotonic() - began) from error
            finally:
                if not done:  # in the middle of a frame, nothing more can be said to it
                    child.end()
                    self.child = None
        if "error" in told:
            raise ReaderFailed(told["error"], told["why"])
        return told, parts

    def ready_child(self) -> ReaderProcess:
        """A child that waits for a request."""
        child = self.child
        if child is not None and child.owner != os.getpid():
            child.hang_up()  # this process was forked; the other one goes on with it
            child = None
        if child is not None and not self.goes_on(child):
            child.end()  # between two calls: no file is to blame
            child = None
        self.child = child = child or self.new_child()
        try:
            child.wait_ready(time.monotonic() + _START_S)
        except (Closed, TooLate) as error:
            self.child = None
            raise ReaderNotStarted(f"no reader: {self.death(child, child.age_s)}") from error
        if child.missing:
            _warn_once(child.missing)
        return child

    def goes_on(self, child: ReaderProcess) -> bool:
        """Whether a child that answered before takes another request."""
        if child.has_ended():
            return False
        if child.has_answered:
            try:
                child.wait_ready(time.monotonic() + _REST_S)
            except (Closed, TooLate):
                return False
        return True

    def new_child(self) -> ReaderProcess:
        """A child that was just started."""
        return ReaderProcess(self.memory_bytes, self.resident_bytes)

    def death(self, child: ReaderProcess, seconds: float) -> ReaderDied:
        """The error that says how ``child`` ended."""
        code, peak_mib = child.end()
        return ReaderDied(code, seconds, peak_mib, self.memory_bytes)

    def close(self) -> None:
        """End the child; a later call would start another. A call that goes on for longer than a
        moment is broken off, and raises :class:`ReaderDied`.
        """
        if not self.lock.acquire(timeout=STOP_S):
            child = self.child
            if child is not None and child.owner == os.getpid() and child.ended is None:
                os.kill(child.pid, signal.SIGKILL)
            self.lock.acquire()
        try:
            child, self.child = self.child, None
            if child is not None and child.owner == os.getpid():
                child.stop()
        finally:
            self.lock.release()


@cache
def _warn_once(missing: tuple[str, ...]) -> None:
    """Once for each process: every reader of a machine lacks the same."""
    log.warning("readers are not wholly confined", missing=missing, see="triage doctor")


def _iterate_frames(facts_json: bytes, packed: Iterable[bytes]) -> Iterator[bytes]:
    yield facts_json or b"{}"
    yield from packed


class SandboxPool(Readers):
    """``size`` children, each lent to one caller at a time; the one used last is lent first.

    They are started when first needed, or at once with ``warm``. Calls wait for a free one
    without a deadline.
    """

    def __init__(
        self,
        size: int,
        memory_bytes: int = _MEMORY_BYTES,
        resident_bytes: int = _RESIDENT_BYTES,
        *,
        warm: bool = False,
    ) -> None:
        self.members = [
            Sandbox(memory_bytes, resident_bytes, warm=warm) for _ in range(max(1, size))
        ]
        self.free: queue.LifoQueue[Sandbox] = queue.LifoQueue()
        for one in reversed(self.members):
            self.free.put(one)

    @contextmanager
    def lease(self) -> Iterator[Sandbox]:
        """A child for several calls."""
        one = self.free.get()
        try:
            yield one
        finally:
            self.free.put(one)

    def call(
        self,
        asked: dict[str, Any],
        frames: Iterable[bytes],
        deadline_s: float,
        paths: Sequence[Path] = (),
    ) -> tuple[dict[str, Any], list[bytes]]:
        """As :meth:`Sandbox.call`, by the next free child."""
        with self.lease() as one:
            return one.call(asked, frames, deadline_s, paths)

    def close(self) -> None:
        """End all children; see :meth:`Sandbox.close`."""
        for one in self.members:
            one.close()
