"""Telemetry among the logs of an incident: read where logs are read, kept beside them."""

from typing import Final

from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream
from triage.parsers.telemetry.file import TelemetryFile
from triage.parsers.telemetry.grid import Gridded
from triage.parsers.telemetry.read import read_samples
from triage.parsers.telemetry.recognise import Form, form_of
from triage.parsers.telemetry.tally import Tally

__all__ = ["telemetry_in"]

FAR: Final = "samples carry a time far from all others and were left out"


def telemetry_in(stream: LogStream) -> Outcome | Refused | None:
    """What a file of telemetry came down to, or why it is refused; None for any other file."""
    form = form_of(stream.head)
    return None if form is None else read(stream, form)


def read(stream: LogStream, form: Form) -> Outcome | Refused:
    tally, gridded = Tally(), Gridded()
    try:
        for batch in read_samples(form, stream, stream.artifact, tally):
            gridded.add(batch)
    except ArtifactError as error:
        if not tally.samples:
            return Refused(stream.artifact, str(error))
        tally.notes.append(str(error))
    if gridded.far:
        tally.notes.append(f"{gridded.far:,} {FAR}")
    tally.notes += [f"line {first}: {why}" for why, (_, first) in sorted(tally.skipped.items())]
    file = LogFile(
        stream.artifact,
        LogKind.TELEMETRY,
        lines=tally.lines,
        not_understood={why: count for why, (count, _) in sorted(tally.skipped.items())},
        notes=(*stream.notes, *tally.notes),
    )
    kept = TelemetryFile(stream.artifact, form, tally.samples, tally.zoneless > 0, gridded.grid())
    return Outcome(file, size_bytes=stream.total, telemetry=kept)
