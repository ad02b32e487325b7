"""``triage live``: ask the processes of a running job, write a folder, answer."""

import os
import tempfile
import time
from argparse import Namespace
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from triage.cli.options import Format, ReportFormat, Top
from triage.cli.output import emit, reading, rendered
from triage.collectors.capture import end_all
from triage.collectors.live.command import fill, options_of, say
from triage.collectors.live.folder import stamp_text
from triage.collectors.live.options import LIVE_OPTIONS, LiveOptions
from triage.collectors.live.send import send_folder
from triage.collectors.options import Misuse
from triage.errors import TriageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triage.domain.report import Answer

__all__ = ["HELP", "live"]

HELP = """
Say which rank, node and line of code a running job waits for.

Run it on a node of a job that hangs or crawls. It asks the job's processes
twice (stacks by py-spy, PyTorch's debug server, the recorder's pipe, NCCL RAS,
the kernel, GPU states), writes an incident folder and analyses it. It stops,
kills and changes nothing.

\b
Examples:
  triage live
  triage live --job 4711 --all-nodes
  triage live --pid 20640 --out incident/
  triage live --job 4711 --send --url https://triage.example --token-file F
  triage live --every 60 --send --url https://triage.example --token-file F

\b
Exit status: 0 analysed or sent, whatever was found; 1 not sent;
2 wrong usage, or no job found here.
"""

# What two polls have to say alike before an incident is opened.
STANDS = "hang"


def _option(name: str, *, flag: bool = False) -> Any:  # noqa: ANN401 - typer's own type
    option = LIVE_OPTIONS[name]
    sentence = f"{option.help[:1].upper()}{option.help[1:]}."
    return typer.Option(name, metavar=None if flag else option.metavar, help=sentence)


def live(
    job: Annotated[str | None, _option("--job")] = None,
    pid: Annotated[int | None, _option("--pid")] = None,
    all_nodes: Annotated[bool, _option("--all-nodes", flag=True)] = False,
    nodes: Annotated[str | None, _option("--nodes")] = None,
    via: Annotated[str, _option("--via")] = "auto",
    out: Annotated[str | None, _option("--out")] = None,
    looks: Annotated[int, _option("--looks")] = 2,
    budget: Annotated[float, _option("--budget")] = 30.0,
    max_bytes: Annotated[str, _option("--max-bytes")] = "256M",
    without: Annotated[list[str] | None, _option("--without")] = None,
    node: Annotated[str | None, _option("--node")] = None,
    cluster: Annotated[str | None, _option("--cluster")] = None,
    send: Annotated[bool, _option("--send", flag=True)] = False,
    url: Annotated[str, _option("--url")] = "",
    token_file: Annotated[str | None, _option("--token-file")] = None,
    ca_file: Annotated[str | None, _option("--ca-file")] = None,
    every: Annotated[float, _option("--every")] = 0.0,
    format_: ReportFormat = Format.TEXT,
    top: Top = None,
) -> None:
    """Pull, then analyse or send; ``HELP`` is what people read of it."""
    # The parameters are named as the options of the collectors' own command are.
    arguments = Namespace(**locals())
    try:
        options = options_of(arguments)
        if options.every_s:
            _serve(options)
        elif options.out == "-":
            raise UsageError("--out - is for python3 -m triage.collectors live; name a folder")
        else:
            _once(options, format_, top)
    except Misuse as error:
        raise UsageError(str(error)) from error
    finally:
        end_all()


def _once(options: LiveOptions, format_: Format, top: int | None) -> None:
    root = options.out or _new_folder()
    fill(options, os.environ, root)
    say(f"wrote {root}")
    if options.send:
        status = send_folder(options, os.environ, root, say)
        if status:
            raise typer.Exit(status)
        return
    emit(rendered(_answer(root), format_, top, to_file=False))


def _new_folder() -> str:
    """A folder in the working directory, or, where that cannot be written, in the temporary one."""
    name = f"triage-live-{stamp_text(time.time())}"
    here = os.getcwd()
    return os.path.join(here if os.access(here, os.W_OK) else tempfile.gettempdir(), name)


def _answer(root: str) -> "Answer":
    from triage.report import analyze

    with reading() as progress:
        return analyze([Path(root)], progress=progress).answer


def _serve(options: LiveOptions) -> None:
    """Poll for ever; send once for each hang that two polls in a row agree on."""
    if not options.send:
        raise UsageError("--every sends what it finds: give --send and --url")
    before, told = None, None
    while True:
        began = time.monotonic()
        with _polled(options) as (root, found):
            if found is None:
                told = None
            elif found == before and found != told:
                say(f"two polls agree: {found[0]}")
                told = found if send_folder(options, os.environ, root, say) == 0 else None
            before = found
        time.sleep(max(1.0, options.every_s - (time.monotonic() - began)))


@contextmanager
def _polled(options: LiveOptions) -> "Iterator[tuple[str, tuple[str, ...] | None]]":
    """A folder of this moment, and what stands in the job: None while it moves or is not there."""
    with tempfile.TemporaryDirectory(prefix="triage-live-") as root:
        try:
            fill(options, os.environ, root)
            answer = _answer(root)
        except (Misuse, TriageError, OSError) as error:
            say(str(error))
            yield root, None
            return
        yield root, _standing(answer)


def _standing(answer: "Answer") -> tuple[str, ...] | None:
    """Kind, category and first suspect of a job that hangs."""
    verdict = answer.verdict
    if verdict.kind != STANDS:
        return None
    first = answer.suspects[:1]
    names = tuple(f"{one.node} {one.ranks}" for one in first)
    return (f"{verdict.kind} {verdict.category}", *names)
