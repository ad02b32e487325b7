"""``triage fleet import``: what schedulers, trackers and inventories export."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from triage.cli.ask import CaFile, TokenFile
from triage.cli.options import take
from triage.errors import Refusal
from triage.fleet.cli.source import FleetUrl, open_source
from triage.render.words.clean import format_one_line

HELP = """
Take in runs, outages, repairs and an inventory: what a rate rests on.

\b
    sacct -aXPD -S now-30days -o JobIDRaw,Cluster,State,Start,End,NNodes,\\
        AllocTRES,NodeList | triage fleet import - --zone Europe/Berlin
    triage fleet import inventory.csv outages.csv --cluster a
    sacctmgr -P show event start=now-90days | triage fleet import -
    cat slurmctld.log* | triage fleet import - --zone Europe/Berlin
    triage fleet import outages.csv --day-zero 2024-03-30

Files are known by their content: tables of Slurm, its controller's log, lists
of kubectl, tickets as CSV, or a table of runs, nodes or outages
(docs/fleet.md#importing lists them); .gz, .zst, .xz and .bz2 are fine.
A file that was imported before changes nothing. Goes into the configured
database, or to a service with --url.
"""
_LISTED = 5


def import_files(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Exports; - is stdin.")],
    zone: Annotated[str, take("NAME", "Of times that name none.")] = "UTC",
    cluster: Annotated[str, take("NAME", "Of rows that name none.")] = "",
    day_zero: Annotated[str, take("DATE", "Of tables that count days.")] = "2000-01-01",
    url: FleetUrl = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> int:
    """Import; the help stands in ``HELP``."""
    refused = 0
    with open_source(url, token_file, ca_file) as client:
        for name in files:
            try:
                data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
                found = client.import_exposure(data, zone=zone, cluster=cluster, day_zero=day_zero)
            except (Refusal, OSError) as error:
                refused += 1
                why = error.strerror if isinstance(error, OSError) else str(error)
                typer.echo(f"triage: {format_one_line(f'{name}: {why}')}", err=True)
            else:
                _print_result(name, found)
    return 2 if refused == len(files) else 0


def _print_result(name: str, found: Mapping[str, Any]) -> None:
    """One line for each file on stdout; what was left out of it on stderr."""
    typer.echo(
        f"{format_one_line(name)}: {found['format']}, {found['rows']:,} rows:"
        f" {found['added']:,} added,"
        f" {found['changed']:,} changed, {found['unchanged']:,} known,"
        f" {found['num_skipped']:,} not read"
    )
    for one in found["skipped"][:_LISTED]:
        typer.echo(f"  line {one['line']}: {format_one_line(one['why'])}", err=True)
    more = found["num_skipped"] - _LISTED
    if more > 0:
        typer.echo(f"  and {more:,} more", err=True)
    for note in found["notes"]:
        typer.echo(f"  {format_one_line(note)}", err=True)
