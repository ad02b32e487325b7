"""``triage signatures``: signatures of a team's own, checked before anything uses them."""

from pathlib import Path
from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.options import make_group, parse_since_time, take

HELP = """
Work with signatures of your own: lines that your team knows, without code.

A TOML file holds them. analyze, parse and explain take it with --signatures;
a service reads TRIAGE_SIGNATURES.
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


@app.command("labels")
def print_labels(
    incidents: Annotated[
        list[str] | None,
        typer.Argument(metavar="INCIDENT", help="Ids; all since a time where none is given."),
    ] = None,
    since: Annotated[str, take("TIME", "Opened since: 6h or 30d ago, or RFC 3339.")] = "90d",
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Print lines of resolved incidents for `learn`, with what they turned out to be.

    These are lines about the stop that nobody could place, or that the reader took
    for something else, of the node that was named and of no node. Read them through:
    not every line that is printed beside a fault tells it.

    \b
    Example:
      triage signatures labels --since 30d > ours.tsv

    \b
    Exit status: 0 all are printed; 2 an incident is not there or not resolved, or
    the service refuses.
    """
    from triage.client.labels import choose_label
    from triage.render.words.clean import format_one_line

    with open_client(url, token_file, ca_file) as client:
        for facts, lines in client.list_labels(incidents or (), since=parse_since_time(since)):
            said = facts["resolution"]
            on = "" if said["node"] is None else f" on {said['node']}"
            head = f"{facts['id']}: resolved as {said['category']}{on} by {said['by']}; "
            if not lines:
                is_told = choose_label(said["category"]) is not None
                why = "no line to learn from" if is_told else "no line alone tells that: skipped"
                typer.echo(format_one_line(head + why), err=True)
                continue
            typer.echo(f"# {format_one_line(head)} delete what does not tell it")
            for line in lines:
                typer.echo(f"{line.label}\t{line.program}\t{line.text}")
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
