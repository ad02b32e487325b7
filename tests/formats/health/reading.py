"""What the table of formats makes of a report, for tests of its readers."""

from pathlib import Path

from triage.domain.evidence import Evidence
from triage.formats.format import Head
from triage.formats.health.reading import Checks
from triage.formats.registry import identify_checks, identify_stream
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs.logset import LogSet


def checks_of(text: str) -> Checks | None:
    """The results in a report; None where it is none."""
    row = identify_checks(text.encode())
    return None if row is None else row.checks(text.encode(), "report")


def verdicts(text: str) -> set[tuple[str, str | None, str, str | None]]:
    """(check, part, outcome, category) of each result."""
    checks = checks_of(text)
    assert checks is not None
    return {
        (one.check, one.part, str(one.outcome), one.category and str(one.category))
        for one in checks.results
    }


def format_of(text: str) -> str | None:
    """The name of the format that a file with this text is read as."""
    head = Head(text.encode(), "file")
    row = identify_stream(head)
    return None if row is None else row.name


def logs_of(folder: Path, **files: str) -> LogSet:
    """What is read of a folder; ``n3__dmesg="..."`` becomes ``nodes/n3/dmesg``."""
    for name, text in files.items():
        path = folder / "nodes" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_logs(find_inputs([folder]).files)


def rows_of(folder: Path, **files: str) -> list[Evidence]:
    """The rows of evidence of a folder."""
    return logs_of(folder, **files).evidence
