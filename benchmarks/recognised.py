"""Which format each file below a folder is read as, and what comes out of it.

One line a file: the format that claims it, rows of evidence by role, looks with what they hold,
and what the file alone is answered. For collections of samples, such as those of tools that
look at running jobs.

    python -m benchmarks.recognised FOLDER [--answer]
"""

import argparse
from collections import Counter
from pathlib import Path

from benchmarks.table import aligned
from triage import analyze
from triage.domain.live.look import Look
from triage.domain.report import Refused
from triage.errors import TriageError
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Head
from triage.formats.registry import identify_stream
from triage.formats.streams import StreamReader
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader
from triage.parsers.logs.source import log_streams


def main() -> int:
    """Read every file, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--answer", action="store_true", help="analyse each file alone as well")
    options = parser.parse_args()
    reader = StreamReader(LineReader(get_standard(), DEFAULT_BOUNDS, False))
    rows = []
    for file in find_inputs([options.folder]).files:
        for stream in log_streams(file, None):
            if isinstance(stream, Refused):
                rows.append((stream.artifact, "refused", stream.why, ""))
                continue
            head = Head(stream.raw, stream.artifact)
            if FLIGHT_RECORDER.claims(head):
                name, said = FLIGHT_RECORDER.name, ""
            else:
                decoded = Head(stream.head, stream.artifact)
                found = identify_stream(decoded) if stream.not_text is None else None
                name, said = found.name if found else "unknown", _told_by(reader.read(stream))
            answer = _answer_to(file.path) if options.answer else ""
            rows.append((str(file.artifact), name, said, answer))
    print(aligned(("file", "format", "holds", "alone"), rows))
    return 0


def _told_by(outcome: Outcome | Refused) -> str:
    """What came out of one file, in a few words."""
    if isinstance(outcome, Refused):
        return f"refused: {outcome.why}"
    roles = Counter(str(row.role) for row in outcome.rows)
    parts = [f"{count} {role}" for role, count in sorted(roles.items())]
    return ", ".join([*parts, *map(_held_by, outcome.looks)])


def _held_by(look: Look) -> str:
    """The sizes of a look."""
    sizes = {
        "stacks": len(look.stacks),
        "replies": len(look.replies),
        "communicators": len(look.communicators),
        "gpus": len(look.gpus),
    }
    held = " ".join(f"{size} {name}" for name, size in sizes.items() if size)
    return f"{look.tool} look ({held or 'empty'}{', cut' if look.partial else ''})"


def _answer_to(path: Path) -> str:
    """The verdict on a file by itself."""
    try:
        answer = analyze(path).answer
    except TriageError as error:
        return f"refused: {error}"
    named = ", ".join(
        f"{one.role} {one.node or ''} {list(one.ranks)} {one.category}" for one in answer.suspects
    )
    verdict = answer.verdict
    return f"{verdict.kind} {verdict.category} {verdict.confidence:.2f} {named}"


if __name__ == "__main__":
    raise SystemExit(main())
