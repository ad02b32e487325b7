"""The command ``triage``: its first screen, its exit statuses, its one-sentence errors.

0 is an answer, 2 wrong usage or nothing readable, 130 an interrupt, 1 a fault of ours.
Nothing heavy is imported before a command runs, so that ``--help`` is there at once.
"""

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Final

import typer

from triage.actions import cli as acting
from triage.cli import (
    analyze,
    collect,
    operate,
    record,
    serve,
    signatures,
    token,
    watch,
)
from triage.errors import TriageError
from triage.fleet.cli import commands as fleet
from triage.render.words.clean import format_one_line
from triage.version import __version__

_HELP = """
Say which rank, node or GPU stopped a distributed training job, and why.

Start with a folder of flight-recorder dumps and logs:

\b
    triage analyze incident/

\b
The folder may hold anything: dumps, one log of all ranks, a .tar.gz, .tar.xz,
.gz or .zst files. Files are recognised by their content, never by name alone.
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


# The first sentence of each help stands in the list of commands.
app.command()(analyze.analyze)
app.command()(analyze.explain)
app.command()(analyze.parse)
app.command()(collect.collect)
app.command()(collect.live)
app.add_typer(signatures.app, name="signatures", short_help="Signatures of your own.")
# These ask a service that runs somewhere.
app.command()(record.incidents)
app.command()(record.show)
app.command()(watch.watch)
app.command()(record.node)
app.command()(acting.launch)
app.add_typer(acting.app, name="act", short_help="Act on convicted nodes, and undo it.")
app.command()(serve.mcp)
app.add_typer(fleet.app, name="fleet", help=fleet.HELP, short_help="What the whole record says.")
# These are the service. Each imports it when it runs: those above work without its packages.
app.command()(serve.serve)
app.command()(serve.worker)
app.command()(serve.scheduler)
app.command()(operate.migrate)
app.add_typer(token.app, name="token")
app.command()(operate.audit)
app.command()(operate.prune)
app.command()(operate.retry)
app.add_typer(operate.delete_app, name="delete", short_help="Erase for good.")
app.add_typer(operate.store_app, name="store", short_help="Whose the blob store is.")
app.command()(operate.doctor)


_VARIABLE: Final = "_TRIAGE_COMPLETE"


class Shell(StrEnum):
    """For which shell."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that completes commands and options in a shell.

    \b
        source <(triage completion bash)                       # in ~/.bashrc
        source <(triage completion zsh)                        # in ~/.zshrc
        triage completion fish > ~/.config/fish/completions/triage.fish
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="triage", complete_var=_VARIABLE, shell=str(shell)))


def _prepare_completion() -> None:
    """Make Typer know the shells, where one of them asks which words may follow."""
    if _VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()


def _add_simulate() -> None:
    """The simulator stands beside the product, and an installation may leave it out."""
    try:
        simulate = import_module("simulator.cli.simulate")
        of_fleets = import_module("simulator.cli.fleet")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "simulator":
            raise
    else:
        app.command(help=simulate.HELP)(simulate.simulate)
        fleet.app.command("simulate", help=of_fleets.HELP, short_help=of_fleets.SHORT_HELP)(
            of_fleets.simulate
        )


_add_simulate()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (the process's own when None); its exit status.

    Whatever happens is one sentence on stderr. ``TRIAGE_TRACEBACK=1`` shows where an
    error of ours came from.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _prepare_completion()
    try:
        status = _run(arguments or ["--help"])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away: nothing more is written, not even when Python shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _run(arguments: list[str]) -> int:
    try:
        status = app(arguments, prog_name="triage", standalone_mode=False)
    except TriageError as error:
        text, hint = str(error), getattr(error, "hint", "")
        return _print_sentence(f"{text}: {hint}" if hint and hint not in text else text, 2)
    except (KeyboardInterrupt, typer.Abort):
        return _print_sentence("interrupted", 130)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 0
    except BrokenPipeError:
        raise
    except MemoryError:
        return _print_sentence("out of memory; give fewer files, or run it on a larger machine", 1)
    except Exception as error:  # noqa: BLE001 - the edge: a person gets a sentence
        return _explain(error)
    return status if isinstance(status, int) else 0


def _explain(error: Exception) -> int:
    # Usage errors of the option parser; its module differs between versions of typer.
    wording = getattr(error, "format_message", None)
    if callable(wording):
        context = getattr(error, "ctx", None)
        command = getattr(context, "command_path", "triage")
        return _print_sentence(f"{str(wording()).rstrip('.')}. See '{command} --help'.", 2)
    if os.environ.get("TRIAGE_TRACEBACK"):
        raise error
    if isinstance(error, OSError):
        return _print_sentence(
            f"{error.filename or 'cannot read or write'}: {error.strerror or error}", 2
        )
    what = f"{type(error).__name__}: {error}"
    return _print_sentence(
        f"internal error, please report it ({what}); TRIAGE_TRACEBACK=1 shows where", 1
    )


def _print_sentence(sentence: str, status: int) -> int:
    sys.stderr.write(f"triage: {format_one_line(sentence)}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
