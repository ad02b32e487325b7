"""``triage fleet import``: what schedulers, trackers and inventories export."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from triage.cli.ask import CaFile, TokenFile, open_client
from triage.cli.extras import open_service_context, require_service_packages
from triage.cli.options import take
from triage.errors import Refusal, UsageError
from triage.fleet.cli.source import FleetUrl
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
_STDIN = "-"
_LISTED = 5

Take = Callable[[str], Mapping[str, Any]]


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
    asked = {"zone": zone, "cluster": cluster, "day_zero": day_zero}
    with open_file_ingest(asked, url, token_file, ca_file) as take:
        for name in files:
            try:
                _print_result(name, take(name))
            except (Refusal, OSError) as error:
                refused += 1
                why = error.strerror if isinstance(error, OSError) else str(error)
                typer.echo(f"triage: {format_one_line(f'{name}: {why}')}", err=True)
    return 2 if refused == len(files) else 0


@contextmanager
def open_file_ingest(
    asked: Mapping[str, str], url: str, token_file: str | None, ca_file: str | None
) -> Iterator[Take]:
    """What takes one file in: the service that is named, else the configured database."""
    if url or os.environ.get("TRIAGE_URL"):
        with open_client(url, token_file, ca_file) as client:
            yield lambda name: client.import_exposure(
                sys.stdin.buffer.read() if name == _STDIN else Path(name), **asked
            )
        return
    with require_service_packages():
        from triage.fleet.services.exposure.imports import (
            import_upload,
            parse_day_zero,
            parse_zone,
        )

        zone, day_zero = parse_zone(asked["zone"]), parse_day_zero(asked["day_zero"])
    with open_service_context() as ctx:

        def take(name: str) -> Mapping[str, Any]:
            with _open_input(name) as file:
                return import_upload(
                    ctx,
                    file.read,
                    None,
                    zone=zone,
                    cluster=asked["cluster"],
                    day_zero=day_zero,
                ).to_dict()

        yield take


@contextmanager
def _open_input(name: str) -> Iterator[IO[bytes]]:
    if name == _STDIN:
        yield sys.stdin.buffer
        return
    if Path(name).is_dir():
        raise UsageError(f"{name} is a folder: name the files in it")
    with Path(name).open("rb") as file:
        yield file


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
