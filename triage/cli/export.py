"""``triage export``: all incidents of a store as Parquet files with a written schema."""

from pathlib import Path
from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import parse_since_time
from triage.errors import UsageError

HELP = """
Write incidents, suspects, evidence and labels as Parquet files.

The files are for studies of your own; schema.json beside them says what each column is.

\b
Examples:
  triage export out/ --since 90d
  triage export out/ --url https://triage.example --token-file token
"""


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write.", show_default=False)
    ],
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="90d, 6h, or RFC 3339; else all.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Of this cluster.")] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The newest N incidents.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", metavar="URL", help="A service, or a database; else that of the settings."
        ),
    ] = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Export; the help stands in ``HELP``."""
    import os

    from triage.collectors.credentials import read_token
    from triage.services.open_store import open_store

    token = read_token(token_file or os.environ.get("TRIAGE_TOKEN_FILE") or None, os.environ)
    if token.why:
        raise UsageError(token.why)
    begin = None if since is None else parse_since_time(since)
    with open_store(url, token=token.value or None, ca_file=ca_file) as store:
        num_rows = store.export(folder, since=begin, cluster=cluster, limit=limit)
    for name, number in num_rows.items():
        typer.echo(f"{folder / name}.parquet  {number:,} rows")
