"""``triage signatures``: signatures of a team's own, checked before anything uses them."""

from pathlib import Path
from typing import Annotated

import typer

from triage.cli.extras import open_service_context
from triage.cli.options import make_group, take
from triage.errors import Unprocessable, UsageError

HELP = """
Work with signatures of your own: lines that your team knows, without code.

A TOML file holds them. analyze, parse and explain take it with --signatures;
a service reads TRIAGE_SIGNATURES and what is uploaded here or over HTTP.
"""

app = make_group(HELP)


@app.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file, or a folder of them.")],
) -> int:
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
    out: Annotated[Path, take("MODEL", "Where the model is written.", "--out")] = Path(
        "reader.npz"
    ),
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
def upload(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file.")],
    name: Annotated[str, take("NAME", "The name it is kept under; else the file's.")] = "",
) -> int:
    """Upload a file. What comes from now on is read with it."""
    body = _read_one_file(path)
    with open_service_context() as ctx:
        from triage.services.signatures.in_force import keep_file

        try:
            found = keep_file(ctx, name or path.stem.lower(), body, "local")
        except Unprocessable as error:
            places = [place.message for place in error.places]
            raise UsageError("; ".join([error.detail, *places])) from error
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


def _read_one_file(path: Path) -> bytes:
    from triage.signatures.own.check import read_files_below

    if path.is_dir():
        raise UsageError(f"{path} is a folder; give one file")
    (data,) = read_files_below(path).values()
    return data
