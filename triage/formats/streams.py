"""Files that are no dumps to evidence and telemetry, on all cores: each by its own format."""

import os
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from triage.domain.file_kind import FileKind
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Head, StreamFormat
from triage.formats.registry import identify_stream
from triage.parsers.files.inputs import InputFile
from triage.parsers.logs.catalogue import Catalogue, get_standard
from triage.parsers.logs.join import Outcome, join_logs
from triage.parsers.logs.logset import LogSet
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader, LogBounds
from triage.parsers.logs.source import LogStream, log_streams

_FILES_PER_TASK: Final = 16


class StreamReader:
    """Reads one file after the other, from any thread."""

    def __init__(self, lines: LineReader) -> None:
        self.lines = lines

    def files(
        self, files: Sequence[InputFile], wanted: Container[str] | None
    ) -> list[Outcome | Refused]:
        """The outcomes of some files, and of archives their members'.

        ``wanted`` are the artifacts to look at; by default all that are no dump.
        """
        outcomes: list[Outcome | Refused] = []
        for file in files:
            try:
                for stream in log_streams(file, wanted):
                    if isinstance(stream, Refused):
                        outcomes.append(stream)
                    elif wanted is not None or not FLIGHT_RECORDER.claims(
                        Head(stream.raw, stream.artifact)
                    ):  # where nobody has looked for dumps before
                        outcomes.append(self.read(stream, file.kind))
            except ArtifactError as error:
                outcomes.append(Refused(file.artifact, str(error)))
            except MemoryError:
                outcomes.append(Refused(file.artifact, "needs more memory than there is"))
        return outcomes

    def split(
        self, files: Sequence[InputFile], wanted: Container[str] | None
    ) -> tuple[list[Outcome], list[Refused]]:
        """The same, what was read apart from what was refused."""
        found = self.files(files, wanted)
        refused = [one for one in found if isinstance(one, Refused)]
        return [one for one in found if not isinstance(one, Refused)], refused

    def read(self, stream: LogStream, stored: FileKind | None = None) -> Outcome | Refused:
        """What a stream holds, or why it is refused; ``stored`` is the kind it is kept as."""
        row: StreamFormat | None = None
        if stream.not_text is None:
            row = identify_stream(Head(stream.head, stream.artifact), stored)
        if row is None:
            return Refused(stream.artifact, stream.not_text or "of no format that is known")
        return row.read(stream, self.lines.read)


def read_logs(
    files: Sequence[InputFile],
    wanted: Container[str] | None = None,
    *,
    templates: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    catalogue: Catalogue | None = None,
    bounds: LogBounds = DEFAULT_BOUNDS,
) -> LogSet:
    """Evidence of every log among ``files``, undated, and telemetry.

    ``wanted`` are the artifacts (members of archives too) to look at; by default
    all that are no dump. ``templates`` counts every line under its template as
    well, where the logs are not too large for it. ``progress`` is called with (files
    done, files in all).
    """
    reader = StreamReader(LineReader(catalogue or get_standard(), bounds, templates))
    batches = [files[k : k + _FILES_PER_TASK] for k in range(0, len(files), _FILES_PER_TASK)]
    outcomes: list[Outcome] = []
    refused: list[Refused] = []
    done = 0
    workers = min(len(batches), threads or os.cpu_count() or 1)
    with ThreadPoolExecutor(max(1, workers), thread_name_prefix="scan") as pool:
        tasks = [pool.submit(reader.split, batch, wanted) for batch in batches]
        for batch, task in zip(batches, tasks, strict=True):
            read, missed = task.result()
            outcomes += read
            refused += missed
            done += len(batch)
            if progress:
                progress(done, len(files))
    return join_logs(outcomes, refused)
