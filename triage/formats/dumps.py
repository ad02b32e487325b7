"""Folders of dumps to digests, on all cores.

Decoding holds no interpreter lock, so threads do. A bad file is refused with its
reason and never stops the rest; the result does not depend on who was first.
"""

import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from triage.domain.file_kind import FileKind
from triage.domain.rank_digest import S_LAST, RankDigest
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.flight_recorder import (
    FLIGHT_RECORDER,
    NODE_DIGEST,
    describe_foreign_content,
    has_communicators,
)
from triage.formats.format import Head
from triage.formats.node_digest import make_node_interned, read_node_digest
from triage.parsers.extract.history import OPEN_HISTORIES, get_wide_numbers, pack_past
from triage.parsers.files.archive import (
    HEAD_BYTES,
    PEEK_BYTES,
    expand,
    is_tar,
    list_tar_members,
    peek,
)
from triage.parsers.files.compression import Expansion, detect_compression
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import JobFile, is_job_file
from triage.parsers.flight_recorder.decoder import Decoder
from triage.parsers.flight_recorder.dump_set import HOLDS_NONE, DumpOutcome, DumpSet, list_alike
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS, Limits
from triage.parsers.flight_recorder.naming import is_named_as_dump, rank_in_name
from triage.parsers.flight_recorder.shared import Shared

# Longer than any compressed file of nothing.
_EMPTY_BYTES: Final = 512
_UNKNOWN_RANK: Final = -1
FILES_PER_TASK: Final = 8
# A dump of 20,000 entries has 5 MB. What is larger takes up to 700 MB to decode, so that is
# done by one thread at a time, and the memory is given back.
_LARGE_BYTES: Final = 8 << 20
_LARGE_CELLS: Final = 1 << 22
_TASKS_AHEAD: Final = 64


class DumpReader:
    """Reads one file after the other; one decoder and one buffer per thread."""

    def __init__(self, shared: Shared, limits: Limits) -> None:
        self.shared = shared
        self.limits = limits
        self.bounds = Expansion(limits.file_bytes, limits.ratio, limits.ratio_floor_bytes)
        self.local = threading.local()
        self.large = threading.Lock()
        self.digests = 0
        self.from_nodes = threading.Lock()
        self.interned = make_node_interned()

    def decoder(self) -> Decoder:
        """The decoder of this thread. One that grew with a large dump is made again."""
        known: Decoder | None = getattr(self.local, "decoder", None)
        if known is None:
            known = self.local.decoder = Decoder(self.shared, self.limits)
            self.local.buffer = bytearray(1 << 20)
        elif len(known.scratch.cell) > _LARGE_CELLS:
            known = self.local.decoder = Decoder(self.shared, self.limits)
        return known

    def forget(self) -> None:
        """Drop what the dumps so far had in common; buffers stay. For one thread alone."""
        self.shared = Shared()
        self.digests = 0
        self.interned = make_node_interned()
        known: Decoder | None = getattr(self.local, "decoder", None)
        if known is not None:
            known.share(self.shared)

    def files(self, files: Sequence[InputFile]) -> list[DumpOutcome]:
        """Outcomes of plain files, and of tars their members'."""
        outcomes: list[DumpOutcome] = []
        for file in files:
            try:
                outcomes.extend(self.file(file))
            except ArtifactError as error:
                outcomes.append(Refused(file.artifact, str(error)))
            except OSError as error:
                outcomes.append(Refused(file.artifact, f"cannot be read: {error.strerror}"))
            except MemoryError:
                outcomes.append(Refused(file.artifact, "needs more memory than there is"))
        return outcomes

    def file(self, file: InputFile) -> Iterator[DumpOutcome]:
        """The outcomes of one file: one of a plain file, one a member of a tar."""
        decoder = self.decoder()
        with file.path.open("rb", buffering=0) as source:
            first = head = source.read(HEAD_BYTES)
            compression = detect_compression(head)
            if compression:
                source.seek(0)
                first = peek(source.read(PEEK_BYTES), compression)
                if is_tar(first):
                    yield from self.archive(file, compression)
                    return
                if is_dump(first, file.artifact, file.kind):
                    source.seek(0)
                    data = expand(source, compression, self.bounds)
                    yield from self.outcomes(decoder, data, file.artifact)
                    return
                if not first and file.size_bytes > _EMPTY_BYTES:
                    why = f"{compression} cannot be read: damaged, or cut off at the start"
                    yield Refused(file.artifact, why)
                    return
            elif is_tar(head):
                yield from self.archive(file, None)
                return
            elif is_dump(head, file.artifact, file.kind):
                if file.size_bytes > self.limits.file_bytes:
                    why = f"{file.size_bytes:,} bytes; at most {self.limits.file_bytes:,} are read"
                    yield Refused(file.artifact, why)
                    return
                source.seek(0)
                whole = self.whole(source, file.size_bytes)
                yield from self.outcomes(decoder, whole, file.artifact)
                return
        yield from _read_as_log(file.artifact, first)

    def whole(self, source: io.FileIO, size: int) -> memoryview:
        """The file's bytes in this thread's buffer."""
        if len(self.local.buffer) < size + 1:
            self.local.buffer = bytearray(size + (size >> 2) + 1)
        view = memoryview(self.local.buffer)
        filled = 0
        while filled < len(view) and (got := source.readinto(view[filled:])):
            filled += got
        return view[:filled]

    def archive(self, file: InputFile, compression: str | None) -> Iterator[DumpOutcome]:
        """The outcomes of a tar's members."""
        decoder = self.decoder()
        for member in list_tar_members(file.path, compression, self.bounds, _read_here):
            artifact = f"{file.artifact}/{member.name}" if member.name else file.artifact
            if member.why is not None:
                yield Refused(artifact, member.why)
            elif member.data is None:
                yield artifact
            elif is_job_file(member.name):
                yield JobFile(artifact, member.data)
            elif is_dump(member.data[:HEAD_BYTES], artifact):
                yield from self.outcomes(decoder, member.data, artifact)
            else:
                yield from _read_as_log(artifact, member.data[:HEAD_BYTES])

    def outcomes(
        self, decoder: Decoder, data: bytes | memoryview, artifact: str
    ) -> Iterator[DumpOutcome]:
        """The digest of a dump; an empty record beside communicators is no healthy rank."""
        outcome = self.dump(decoder, data, artifact)
        is_empty = (
            isinstance(outcome, RankDigest) and outcome.num_entries == 0 and not outcome.counters
        )
        if is_empty and has_communicators(data):
            outcome = Refused(artifact, "its recorder is empty, and NCCL's communicators are there")
        yield outcome

    def dump(self, decoder: Decoder, data: bytes | memoryview, artifact: str) -> DumpOutcome:
        """The digest of one dump, or why it is refused."""
        rank = rank_in_name(artifact)
        if rank is None:
            rank = _UNKNOWN_RANK
        try:
            if data[: len(NODE_DIGEST)] == NODE_DIGEST:
                return self.made_on_node(bytes(data), artifact, rank)
            if len(data) <= _LARGE_BYTES:
                return self.kept(decoder.decode(data, artifact, rank))
            with self.large:
                return self.kept(Decoder(self.shared, self.limits).decode(data, artifact, rank))
        except ArtifactError as error:
            return Refused(artifact, str(error))

    def made_on_node(self, data: bytes, artifact: str, rank: int) -> RankDigest:
        """The digest that a node made of a dump: the same as of the dump itself."""
        with self.from_nodes:
            try:
                digest, operations = read_node_digest(data, self.interned)
            except ArtifactError:
                if self.interned.listed <= self.interned.max_listed:
                    raise
                # Other files may have used up what all may list together: by itself, then.
                self.interned = make_node_interned()
                digest, operations = read_node_digest(data, self.interned)
        for signature, operation in operations.items():
            self.shared.operations.setdefault(signature, operation)
        return replace(digest, artifact=artifact, rank=rank)

    def kept(self, digest: RankDigest) -> RankDigest:
        """The digest as it is kept: of a large job with its history packed."""
        self.digests += 1
        if self.digests <= OPEN_HISTORIES:
            return digest
        highest = digest.streams.values[:, S_LAST]
        return replace(digest, history=pack_past(digest.history.read(), get_wide_numbers(highest)))


def _read_as_log(artifact: str, head: bytes) -> Iterator[DumpOutcome]:
    """A file that is none of ours: read as a log, with a word where its name says otherwise.

    What stands in the place of a file that was not fetched is no log either.
    """
    instead = describe_foreign_content(head) if is_named_as_dump(artifact) else None
    if instead is not None:
        yield Refused(artifact, instead)
        return
    if is_named_as_dump(artifact):
        yield Refused(artifact, f"named like a dump, and {HOLDS_NONE}")
    yield artifact


def _read_here(head: bytes, name: str) -> bool:
    """Whether a file of an archive is read with the dumps: a log is not, however large."""
    return is_job_file(name) or is_dump(head, name)


def is_dump(head: bytes, artifact: str, stored: FileKind | None = None) -> bool:
    """Whether a file that begins so is a dump; one that is stored as something else is none."""
    if stored not in (None, FileKind.FLIGHT_RECORDER):
        return False
    return FLIGHT_RECORDER.claims(Head(head, artifact))


def read_dumps(
    files: Sequence[InputFile],
    *,
    limits: Limits = DEFAULT_LIMITS,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DumpSet:
    """Digests of every dump among ``files``.

    ``progress`` is called with (files done, files in all). ``threads`` defaults to
    the number of cores. Files that are no dumps are listed, not read on.
    """
    shared = Shared()
    reader = DumpReader(shared, limits)
    result = DumpSet(operations=shared.operations)
    batches = [files[k : k + FILES_PER_TASK] for k in range(0, len(files), FILES_PER_TASK)]
    done = 0
    for batch, outcomes in decode_in_order(reader, batches, threads or os.cpu_count() or 1):
        for outcome in outcomes:
            result.add(outcome)
        done += len(batch)
        if progress:
            progress(done, len(files))
    list_alike(result)
    return result


def decode_in_order(
    reader: DumpReader, batches: Sequence[Sequence[InputFile]], threads: int
) -> Iterable[tuple[Sequence[InputFile], list[DumpOutcome]]]:
    """Outcomes batch by batch in the given order, some batches ahead."""
    if len(batches) <= 1:
        for batch in batches:
            yield batch, reader.files(batch)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="decode") as pool:
        ahead: list[tuple[Sequence[InputFile], Future[list[DumpOutcome]]]] = []
        for batch in batches:
            ahead.append((batch, pool.submit(reader.files, batch)))
            if len(ahead) > _TASKS_AHEAD:
                first, future = ahead.pop(0)
                yield first, future.result()
        for first, future in ahead:
            yield first, future.result()
