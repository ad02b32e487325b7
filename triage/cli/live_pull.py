"""What ``triage live`` does: pull, write a folder, then analyse or send it; once, or for ever."""

import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from triage.cli.options import Format
from triage.cli.output import emit, render_answer, show_reading_progress
from triage.collectors.capture import end_all
from triage.collectors.live.command import fill, print_to_stderr, read_options, send_folder
from triage.collectors.live.folder import stamp_text
from triage.collectors.live.options import LiveOptions
from triage.collectors.options import Misuse
from triage.domain.report import Answer
from triage.errors import TriageError, UsageError
from triage.report import analyze

# What two polls have to say alike before an incident is opened.
_STANDS = "hang"


def pull(arguments: Namespace, format_: Format, top: int | None) -> None:
    """Do what the options of ``triage live`` say. Raises :class:`UsageError`."""
    try:
        options = read_options(arguments)
        if options.every_s:
            _serve(options)
        elif options.out == "-":
            raise UsageError("--out - is for python3 -m triage.collectors live; name a folder")
        else:
            _pull_once(options, format_, top)
    except Misuse as error:
        raise UsageError(str(error)) from error
    finally:
        end_all()


def _pull_once(options: LiveOptions, format_: Format, top: int | None) -> None:
    # In the working directory, or, where that cannot be written, in the temporary one.
    here = os.getcwd()
    folder = here if os.access(here, os.W_OK) else tempfile.gettempdir()
    root = options.out or os.path.join(folder, f"triage-live-{stamp_text(time.time())}")
    fill(options, os.environ, root)
    print_to_stderr(f"wrote {root}")
    if options.send:
        status = send_folder(options, os.environ, root, print_to_stderr)
        if status:
            raise typer.Exit(status)
        return
    emit(render_answer(_analyze_folder(root), format_, top, to_file=False))


def _analyze_folder(root: str) -> Answer:
    with show_reading_progress() as progress:
        return analyze([Path(root)], progress=progress).answer


def _serve(options: LiveOptions) -> None:
    """Poll for ever; send once for each hang that two polls in a row agree on."""
    if not options.send:
        raise UsageError("--every sends what it finds: give --send and --url")
    before, told = None, None
    while True:
        began = time.monotonic()
        with _poll_job(options) as (root, found):
            if found is None:
                told = None
            elif found == before and found != told:
                print_to_stderr(f"two polls agree: {found[0]}")
                told = (
                    found if send_folder(options, os.environ, root, print_to_stderr) == 0 else None
                )
            before = found
        time.sleep(max(1.0, options.every_s - (time.monotonic() - began)))


@contextmanager
def _poll_job(options: LiveOptions) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """A folder of this moment, and what stands in the job: None while it moves or is not there."""
    with tempfile.TemporaryDirectory(prefix="triage-live-") as root:
        try:
            fill(options, os.environ, root)
            answer = _analyze_folder(root)
        except (Misuse, TriageError, OSError) as error:
            print_to_stderr(str(error))
            yield root, None
            return
        yield root, _get_standing_hang(answer)


def _get_standing_hang(answer: Answer) -> tuple[str, ...] | None:
    """Kind, category and first suspect of a job that hangs."""
    verdict = answer.verdict
    if verdict.kind != _STANDS:
        return None
    first = answer.suspects[:1]
    names = tuple(f"{one.node} {one.ranks}" for one in first)
    return (f"{verdict.kind} {verdict.category}", *names)
