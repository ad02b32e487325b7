"""``triage signatures``: signatures of a team's own, checked before anything uses them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from triage.cli.extras import open_service_context
from triage.cli.options import make_group
from triage.errors import UsageError

if TYPE_CHECKING:
    from triage.services.signatures.dry_run import DryRun

HELP = """
Work with signatures of your own: lines that your team knows, without code.

A TOML file holds them. analyze, parse and explain take it with --signatures;
a service reads TRIAGE_SIGNATURES and what is uploaded here or over HTTP.
"""

app = make_group(HELP)
_File = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file, or a folder of them.")]


_OneFile = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file.")]
_Name = Annotated[
    str, typer.Option(metavar="NAME", help="The name it is kept under; else the file's.")
]
Result = TypeVar("Result")


@app.command()
def check(path: _File) -> int:
    """Check a file of signatures, or a folder of them.

    Prints for each entry the examples that it hits, the near misses that it
    misses, and which built-in signature had its lines before.

    \b
    Example:
      triage signatures check own.toml

    \b
    Exit status: 0 all is well; 2 something is wrong, each fault on a line of its
    own with its file and line.
    """
    from triage.render.words.clean import format_one_line
    from triage.signatures.own.check import check_from_files, read_files_below
    from triage.signatures.own.faults import FaultySignatures

    try:
        _, rows = check_from_files(read_files_below(path))
    except FaultySignatures as error:
        for fault in error.faults:
            typer.echo(format_one_line(str(fault)), err=True)
        return 2
    width = max((len(row.id) for row in rows), default=0)
    typer.echo(f"{'name':<{width}}  hits  missed  before")
    for row in rows:
        before = ", ".join(row.before) or "-"
        typer.echo(f"{row.id:<{width}}  {row.num_hits:>4}  {row.num_missed:>6}  {before}")
    return 0


@app.command()
def learn(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Labelled lines: label, program, line; by tabs.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="MODEL", help="Where the model is written.")
    ] = Path("reader.npz"),
) -> int:
    """Teach the reader of unknown lines what your team's lines mean.

    FILE has a line for each labelled line: what it blames (a category, "follows"
    or "harmless"), the program that prints it, and the line, with tabs between.
    The model of this version is fitted anew with them, which takes half a minute.

    \b
    Example:
      triage signatures learn ours.tsv --out reader.npz
      TRIAGE_READER=reader.npz triage analyze incident/

    \b
    Exit status: 0 the model is written; 2 a line is wrong, or a file cannot be
    read or written.
    """
    from triage.reader.corpus import read_corpus
    from triage.reader.learn import learn_lines

    lines = read_corpus(path)
    before, after = learn_lines(lines, out)
    typer.echo(
        f"{out}: of {len(lines):,} lines {before:,} were understood before, {after:,} are now;"
        f" set TRIAGE_READER={out} to read with it"
    )
    return 0


@app.command("list")
def list_all() -> int:
    """List the files that were uploaded."""
    with open_service_context() as ctx:
        from triage.store import signature_files

        with ctx.database.reading() as session:
            found = signature_files.list_files(session)
    for one in found:
        typer.echo(f"{one.name}: {one.num_signatures} entries, {one.updated_at:%Y-%m-%dT%H:%M:%SZ}")
    return 0


@app.command()
def upload(path: _OneFile, name: _Name = "") -> int:
    """Upload a file. What comes from now on is read with it."""
    body = _read_head(path)
    with open_service_context() as ctx:
        from triage.services.signatures.in_force import keep_file

        found = _with_all_faults(
            lambda: keep_file(ctx, name or _get_default_name(path), body, "local")
        )
    typer.echo(f"{found.name}: {found.num_signatures} entries are in force")
    return 0


@app.command()
def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="As list shows it.")]) -> int:
    """Remove an uploaded file. What comes from now on is read without it."""
    with open_service_context() as ctx:
        from triage.services.signatures.in_force import remove_file

        remove_file(ctx, name, "local")
    typer.echo(f"{name} is removed")
    return 0


@app.command("try")
def try_file(
    path: _OneFile,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="30d ago, or an RFC 3339 time.")
    ] = "30d",
    most: Annotated[
        int, typer.Option(min=1, max=200, metavar="N", help="Look at so many incidents at most.")
    ] = 20,
    limit_s: Annotated[
        float, typer.Option("--limit", min=1, metavar="SECONDS", help="Begin none after this.")
    ] = 60.0,
    name: _Name = "",
) -> int:
    """Try a file on past incidents, and change nothing.

    Reads the stored logs of the newest incidents again, with the signatures in
    force and with this file beside them, and says which answers would be others.

    \b
    Example:
      triage signatures try own.toml --since 30d
    """
    from triage.cli.options import parse_since_time

    begin, body = parse_since_time(since), _read_head(path)
    with open_service_context() as ctx:
        from triage.sandbox.pool import Sandbox
        from triage.services.signatures.dry_run import try_signatures

        sizes = ctx.settings.parse_memory_bytes, ctx.settings.reader_resident_bytes
        with Sandbox(*sizes, warm=False) as readers:
            run = _with_all_faults(
                lambda: try_signatures(
                    ctx, readers, body,
                    name=name or _get_default_name(path), since=begin, most=most, limit_s=limit_s,
                )
            )  # fmt: skip
    _show_run(run)
    return 0


def _show_run(run: "DryRun") -> None:
    from triage.render.words.clean import format_one_line

    answers = "answer" if len(run.changes) == 1 else "answers"
    looked = f"{run.looked_at} incidents were read again"
    left = [
        f"{number} {why}"
        for number, why in (
            (run.without_bytes, "no longer have their bytes"),
            (run.unread, "could not be read"),
            (run.not_reached, "were not reached in time"),
        )
        if number
    ]
    typer.echo(
        f"this would have changed {len(run.changes)} {answers}; {'; '.join([looked, *left])}"
    )
    for one in run.changes:
        typer.echo(f"{one.incident_id} (job {format_one_line(one.job_id)})")
        for side, answer in (("before", one.before), ("after", one.after)):
            cordon = ", ".join(answer["cordon"]) or "nobody"
            typer.echo(
                f"  {side}: {answer['category']}, {answer['action']}, cordon"
                f" {format_one_line(cordon)}:"
                f" {format_one_line(answer['summary'])}"
            )


def _get_default_name(path: Path) -> str:
    """The name under which a file is kept, unless another is given."""
    return path.stem.lower()


def _read_head(path: Path) -> bytes:
    from triage.signatures.own.check import read_files_below

    if path.is_dir():
        raise UsageError(f"{path} is a folder; give one file")
    (data,) = read_files_below(path).values()
    return data


def _with_all_faults(act: Callable[[], Result]) -> Result:
    """What ``act`` gives; a refused file is said with all its faults."""
    from triage.errors import Unprocessable

    try:
        return act()
    except Unprocessable as error:
        places = [place.message for place in error.places]
        raise UsageError("; ".join([error.detail, *places])) from error
