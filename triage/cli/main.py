"""The command ``triage``: its first screen, its exit statuses, its one-sentence errors.

0 is an answer, 2 wrong usage or nothing readable, 130 an interrupt, 1 a fault of ours.
Nothing heavy is imported before a command runs, so that ``--help`` is there at once.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from triage.cli.analyze import HELP as ANALYZE_HELP
from triage.cli.analyze import analyze
from triage.cli.collect import HELP as COLLECT_HELP
from triage.cli.collect import collect
from triage.cli.completion import HELP as COMPLETION_HELP
from triage.cli.completion import completion
from triage.cli.doctor import HELP as DOCTOR_HELP
from triage.cli.doctor import doctor
from triage.cli.explain import HELP as EXPLAIN_HELP
from triage.cli.explain import explain
from triage.cli.incidents import HELP as INCIDENTS_HELP
from triage.cli.incidents import incidents
from triage.cli.migrate import HELP as MIGRATE_HELP
from triage.cli.migrate import migrate
from triage.cli.node import HELP as NODE_HELP
from triage.cli.node import node
from triage.cli.parse import HELP as PARSE_HELP
from triage.cli.parse import parse
from triage.cli.prune import HELP as PRUNE_HELP
from triage.cli.prune import prune
from triage.cli.serve import HELP as SERVE_HELP
from triage.cli.serve import serve
from triage.cli.show import HELP as SHOW_HELP
from triage.cli.show import show
from triage.cli.token import HELP as TOKEN_HELP
from triage.cli.token import app as token
from triage.cli.watch import HELP as WATCH_HELP
from triage.cli.watch import watch
from triage.cli.worker import SCHEDULER_HELP, WORKER_HELP, scheduler, worker
from triage.errors import TriageError
from triage.fleet.cli.commands import HELP as FLEET_HELP
from triage.fleet.cli.commands import app as fleet
from triage.render.words.clean import one_line
from triage.version import __version__

__all__ = ["app", "main"]

_HELP = """
Says which rank, node or GPU stopped a distributed training job, and why.

The command you need, on a folder of flight-recorder dumps and logs:

\b
    triage analyze incident/

\b
Any shape works: a flat folder of dumps, one log of all ranks, a .tar.gz,
.gz or .zst files. Files are known by their content, never by name alone.
"""

app = typer.Typer(
    name="triage",
    help=_HELP,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nccl-triage {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options before the command; the help of the command stands in ``_HELP``."""


app.command("analyze", help=ANALYZE_HELP)(analyze)
app.command(
    "explain", help=EXPLAIN_HELP, short_help="Say why each suspect stands where it stands."
)(explain)
app.command("parse", help=PARSE_HELP, short_help="Print what was read out of each file.")(parse)
app.command("collect", help=COLLECT_HELP, short_help="On a node: find, bundle and send.")(collect)
# A service that runs somewhere, asked.
app.command("incidents", help=INCIDENTS_HELP, short_help="List a service's incidents.")(incidents)
app.command("show", help=SHOW_HELP, short_help="Show the answer to one incident.")(show)
app.command("watch", help=WATCH_HELP, short_help="Watch one incident until its answer.")(watch)
app.command("node", help=NODE_HELP, short_help="Show the history of a node.")(node)
app.add_typer(fleet, name="fleet", help=FLEET_HELP, short_help="What the whole record says.")
# The service. Each command imports it when it runs: the ones above work without its packages.
app.command("serve", help=SERVE_HELP, short_help="Run the service.")(serve)
app.command("worker", help=WORKER_HELP, short_help="Do the work of the service.")(worker)
app.command("scheduler", help=SCHEDULER_HELP, short_help="Wake workers for rows nobody holds.")(
    scheduler
)
app.command("migrate", help=MIGRATE_HELP, short_help="Bring the database to a revision.")(migrate)
app.add_typer(token, name="token", help=TOKEN_HELP, short_help="Make, list and revoke tokens.")
app.command("prune", help=PRUNE_HELP, short_help="Remove what is older than it is kept.")(prune)
app.command("doctor", help=DOCTOR_HELP, short_help="Look at all dependencies.")(doctor)
app.command(
    "completion", help=COMPLETION_HELP, short_help="Print a script that completes commands."
)(completion)


def _add_simulate() -> None:
    """The simulator is a part that an installation may leave out."""
    try:
        from triage.cli.simulate import HELP as SIMULATE_HELP
        from triage.cli.simulate import simulate
    except ModuleNotFoundError as error:
        if error.name != "triage.cli.simulate":
            raise
    else:
        app.command("simulate", help=SIMULATE_HELP, short_help="Write a job with a known fault.")(
            simulate
        )


_add_simulate()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (the process's own when None); its exit status.

    Whatever happens is one sentence on stderr. ``TRIAGE_TRACEBACK=1`` shows where an
    error of ours came from.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(arguments or ["--help"])
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()
        return 0
    return status


def _run(arguments: list[str]) -> int:
    try:
        status = app(arguments, prog_name="triage", standalone_mode=False)
    except TriageError as error:
        return _say(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", 130)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 0
    except BrokenPipeError:
        raise
    except MemoryError:
        return _say("out of memory; give fewer files, or run it on a larger machine", 1)
    except Exception as error:  # noqa: BLE001 - the edge: a person gets a sentence
        return _explain(error)
    return status if isinstance(status, int) else 0


def _explain(error: Exception) -> int:
    # Usage errors of the option parser; its module differs between versions of typer.
    wording = getattr(error, "format_message", None)
    if callable(wording):
        context = getattr(error, "ctx", None)
        command = getattr(context, "command_path", "triage")
        return _say(f"{str(wording()).rstrip('.')}. See '{command} --help'.", 2)
    if os.environ.get("TRIAGE_TRACEBACK"):
        raise error
    if isinstance(error, OSError):
        return _say(f"{error.filename or 'cannot read or write'}: {error.strerror or error}", 2)
    what = f"{type(error).__name__}: {error}"
    return _say(f"internal error, please report it ({what}); TRIAGE_TRACEBACK=1 shows where", 1)


def _say(sentence: str, status: int) -> int:
    sys.stderr.write(f"triage: {one_line(sentence)}\n")
    return status


def _drop_stdout() -> None:
    """The reader went away: nothing more is written, not even when Python shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
