"""``triage collect`` and ``triage live``: the options of the collectors' own commands, as Typer
shows and completes them.
"""

import os
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from triage.cli.interrupt import TIDY_S, stop_at_once
from triage.cli.options import Format, ReportFormat, Top, take
from triage.collectors.live.options import LIVE_OPTIONS
from triage.collectors.options import OPTIONS, Misuse, Option
from triage.errors import UsageError

Run = Callable[..., None]


def _iterate_parameters(table: Mapping[str, Option]) -> Iterator[Parameter]:
    """Each option of the table as a parameter that Typer reads."""
    for name, option in table.items():
        kind: Any = option.kind if option.default is not None else option.kind | None
        default: Any = option.default
        if not option.metavar:
            kind, default = bool, False
        elif option.repeatable:
            kind = list[str] | None
        sentence = f"{option.help[:1].upper()}{option.help[1:]}."
        shown = take(option.metavar or None, sentence, name)
        yield Parameter(
            name[2:].replace("-", "_"),
            Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, shown],
        )


def _take_options(table: Mapping[str, Option], *more: Parameter) -> Callable[[Run], Run]:
    """Make a command take the options of the table, and ``more``."""

    def decorate(run: Run) -> Run:
        parameters = [*_iterate_parameters(table), *more]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


@_take_options(OPTIONS)
def collect(**given: Any) -> None:  # noqa: ANN401 - by the table
    """Send this node's dumps, kernel log and job logs to a service.

    It finds the files of one job, puts them into a spool on disk, and sends them.
    What cannot be sent now is sent by the next run. A node without this package
    runs the same command as: python3 -m triage.collectors

    SIZE is in bytes, or has a unit: 64M, 1G. S is in seconds.

    \b
    Examples:
      triage collect --url https://triage.example --token-file /etc/triage/token
      triage collect --url URL --job-id 4711 --fr '/shared/4711/fr/trace_rank_*'
      triage collect --url URL --job-id 4711 --dry-run
      triage collect --url URL --flush-spool

    \b
    Exit status: 0 sent, or safe in the spool; 1 with --strict when the
    service does not have everything; 2 wrong usage; 130 interrupted by Ctrl-C.
    """
    from triage.collectors.command import list_options, run

    try:
        options = list_options(Namespace(**given))
    except Misuse as error:
        raise UsageError(str(error)) from error
    with stop_at_once(TIDY_S):
        status = run(options, os.environ)
    if status:
        raise typer.Exit(status)


@_take_options(
    LIVE_OPTIONS,
    Parameter("format_", Parameter.KEYWORD_ONLY, default=Format.TEXT, annotation=ReportFormat),
    Parameter("top", Parameter.KEYWORD_ONLY, default=None, annotation=Top),
)
def live(format_: Format, top: int | None, **given: Any) -> None:  # noqa: ANN401 - by the table
    """Say which rank, node and line of code a running job waits for.

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
    2 wrong usage, or no job found here; 130 interrupted by Ctrl-C.
    """
    from triage.cli.live_pull import pull

    with stop_at_once(TIDY_S):
        pull(Namespace(**given), format_, top)
