"""What a command prints: bytes to stdout or a file, text in the terminal's width and colours."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from triage.cli.options import Format
from triage.errors import UsageError

if TYPE_CHECKING:
    from triage.domain.report import Answer
    from triage.render.terminal.text import Line

_Progress = Callable[[int, int], None]

_WIDTH, _WIDEST = 80, 100
_READING = "reading"
_COMPILING = "building the compiled readers, once on this machine"


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
            os.fchmod(file.fileno(), _choose_mode(target))
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _choose_mode(target: Path) -> int:
    """Permissions of the file that is replaced, else what a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


def check_folder(output: Path) -> None:
    """Raises UsageError where ``output`` cannot be written, before a long analysis begins."""
    folder = Path(os.path.realpath(output)).parent
    if output.is_dir():
        raise UsageError(f"cannot write {output}: it is a folder; name a file in it")
    if not folder.is_dir():
        raise UsageError(f"cannot write {output}: make the folder {folder} first")


def render_answer(answer: "Answer", format_: Format, top: int | None, *, to_file: bool) -> bytes:
    """``answer`` in the form asked for; colours and width are those of stdout."""
    if format_ is Format.JSON:
        from triage.render.data import wire

        return wire.render(answer, top=top)
    if format_ is Format.HTML:
        from triage.render.page import html

        return html.render(answer, top=top).encode("utf-8")
    from triage.render.terminal import text

    colour, width = should_use_colour(to_file=to_file), get_output_columns(to_file=to_file)
    return encode_output(text.render(answer, colour=colour, width=width, top=top), to_file=to_file)


def should_use_colour(*, to_file: bool = False) -> bool:
    """Whether stdout is a terminal that wants colours; a file wants none."""
    if to_file or not sys.stdout.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def get_output_columns(*, to_file: bool = False) -> int:
    """Columns to fill: the terminal's, at most 100; 80 into a file or a pipe."""
    if to_file or not sys.stdout.isatty():
        return _WIDTH
    return min(shutil.get_terminal_size((_WIDTH, 24)).columns, _WIDEST)


def encode_output(text: str, *, to_file: bool = False) -> bytes:
    """``text`` in the encoding of stdout, UTF-8 for a file; what it cannot hold is escaped."""
    encoding = "utf-8" if to_file else sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace")


def print_lines(lines: "Iterable[Line]") -> None:
    """Lines of text on stdout, in colour on a terminal that wants it."""
    from triage.render.terminal.text import paint_line

    colour = should_use_colour()
    emit(encode_output("".join(f"{paint_line(line, colour)}\n" for line in lines)))


@contextmanager
def show_reading_progress() -> Iterator[_Progress | None]:
    """A bar on stderr while files are read; None, and nothing shown, without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from triage.parsers.flight_recorder.jit import notify_of_compiling

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(_READING, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None, description=_READING)

        with notify_of_compiling(lambda: bar.update(task, description=_COMPILING)):
            yield show
