"""``triage analyze``: files in, the answer out."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triage.errors import UsageError

if TYPE_CHECKING:
    from triage.domain.report import Answer

__all__ = [
    "HELP",
    "Format",
    "JobFile",
    "Output",
    "Paths",
    "ReportFormat",
    "StoppedAt",
    "Top",
    "analyze",
    "colours",
    "emit",
    "existing",
    "parse_at",
    "reading",
    "rendered",
    "width",
]

HELP = """
Say which rank, node or GPU stopped the job, and why.

Reads dumps, kernel logs and job logs; needs no server and no configuration.
The same inputs give the same bytes, in whatever order they come.

\b
Examples:
  triage analyze incident/
  triage analyze dumps/ kern.log.gz job.out --top 3
  triage analyze incident.tar.zst --format html --output report.html
  triage analyze incident/ --format json | jq .verdict

\b
Exit status: 0 analysed, whatever was found;
2 wrong usage or nothing readable.
"""

Progress = Callable[[int, int], None]

_WIDTH, _WIDEST = 80, 100
# 2026-11-21T03:14:15Z, with an offset or none at all (UTC), seconds and fraction optional.
_RFC_3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)


class Format(StrEnum):
    """How the answer is printed."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


ReportFormat = Annotated[
    Format, typer.Option("--format", "-f", help="text for people, json, or one html page.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there, not to stdout.")
]
Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH", help="Folders, files or tar archives of one incident.", show_default=False
    ),
]
JobFile = Annotated[
    Path | None,
    typer.Option("--job", metavar="FILE", help="Facts of the job, as in a job.json."),
]
StoppedAt = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help="When it stopped, RFC 3339; UTC without offset."),
]
Top = Annotated[int | None, typer.Option("--top", metavar="N", help="Show the best N suspects.")]


def analyze(
    paths: Paths,
    format_: ReportFormat = Format.TEXT,
    output: Output = None,
    top: Top = None,
    job: JobFile = None,
    at: StoppedAt = None,
) -> None:
    """Analyse ``paths`` and print the answer; ``HELP`` is what people read of it."""
    if top is not None and top < 1:
        raise UsageError(f"--top {top} shows nothing; give 1 or more")
    stopped_at = None if at is None else parse_at(at)
    inputs = existing(paths)
    known = None if job is None else existing([job])[0]
    if output is not None:
        _check_folder(output)

    from triage.report import analyze as run

    with reading() as progress:
        report = run(inputs, job=known, at=stopped_at, progress=progress)
    emit(rendered(report.answer, format_, top, to_file=output is not None), output)


def existing(paths: Sequence[Path]) -> list[Path]:
    """``paths`` as they are; raises UsageError for one that is not there."""
    for path in paths:
        try:
            found = path.exists()
        except OSError as error:
            raise UsageError(f"cannot look at {path}: {error.strerror}") from error
        if not found:
            raise UsageError(f"cannot find {path}; give a folder, a file or a tar archive")
    return list(paths)


def parse_at(text: str) -> datetime:
    """An RFC 3339 time; without an offset it is UTC. Raises UsageError."""
    try:
        if _RFC_3339.fullmatch(text) is None:
            raise ValueError
        at = datetime.fromisoformat(text.upper())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        example = "2026-11-21T03:14:15Z"
        raise UsageError(f"--at {text!r} is no RFC 3339 time; give one like {example}") from None


def emit(data: bytes, output: Path | None = None) -> None:
    """Write to ``output`` whole or not at all, or to stdout; a closed pipe ends quietly."""
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        _write(Path(os.path.realpath(output)), data)
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror or error}") from error


def _write(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():  # a pipe or a device: nothing to rename over
        target.write_bytes(data)
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), _mode(target))
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, else what a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


def _check_folder(output: Path) -> None:
    """Say at once, and not after a long analysis, that the answer has no place."""
    folder = Path(os.path.realpath(output)).parent
    if output.is_dir():
        raise UsageError(f"cannot write {output}: it is a folder; name a file in it")
    if not folder.is_dir():
        raise UsageError(f"cannot write {output}: make the folder {folder} first")


def rendered(answer: "Answer", format_: Format, top: int | None, *, to_file: bool) -> bytes:
    """``answer`` in the form asked for; colours and width are those of stdout."""
    if format_ is Format.JSON:
        from triage.render.data import wire

        return wire.render(answer, top=top)
    if format_ is Format.HTML:
        from triage.render.page import html

        return html.render(answer, top=top).encode("utf-8")
    from triage.render.terminal import text

    terminal = sys.stdout.isatty() and not to_file
    shown = text.render(answer, colour=terminal and colours(), width=width(terminal), top=top)
    encoding = "utf-8" if to_file else sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace")


def colours() -> bool:
    """Whether a terminal wants colours."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width(terminal: bool) -> int:
    """Columns to fill: the terminal's, within reason; 80 into a file or a pipe."""
    return min(shutil.get_terminal_size((_WIDTH, 24)).columns, _WIDEST) if terminal else _WIDTH


@contextmanager
def reading() -> Iterator[Progress | None]:
    """A bar on stderr while files are read; None, and nothing shown, without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
