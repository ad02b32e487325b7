"""``triage fleet simulate``: the record of a fleet with a known truth, as files to import."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triage.errors import UsageError

if TYPE_CHECKING:
    from simulator.fleet.wish import FleetWish

SHORT_HELP = "A fleet with a known truth, as files to import."
HELP = """
Write the record of a simulated fleet: runs, outages, inventory, parts, tickets.

OUT.truth.json, beside the folder, says which nodes are lemons, which repairs
took, and where bad parts went. Nothing but tests reads it.

\b
Examples:
  triage fleet simulate drill --nodes 400 --days 180 --seed 7
  triage fleet import drill/*.csv
  triage fleet report --since 2025-01-01T00:00:00Z \\
      --until 2025-06-30T00:00:00Z
"""
_RFC3339 = "%Y-%m-%dT%H:%M:%SZ"
_MOST_NODE_DAYS = 2_000_000
_BEGIN = datetime(2025, 1, 1)  # noqa: DTZ001 - typer reads dates without a zone


class FleetLikeness(StrEnum):
    """What a fleet is like."""

    REAL = "real"
    POISSON = "poisson"


def simulate(
    folder: Annotated[
        Path, typer.Argument(metavar="OUT", help="Folder to write; it must be new or empty.")
    ],
    like: Annotated[
        FleetLikeness,
        typer.Option("--like", help="real: bursts, repairs that do not take; poisson: neither."),
    ] = FleetLikeness.REAL,
    nodes: Annotated[
        int, typer.Option("--nodes", min=1, max=100_000, metavar="N", help="Nodes of 8 GPUs.")
    ] = 400,
    days: Annotated[
        float, typer.Option("--days", min=1, max=3_660, metavar="N", help="Days of the record.")
    ] = 349.0,
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="The same one gives the same files.")
    ] = 0,
    first_day: Annotated[
        datetime,
        typer.Option("--since", formats=["%Y-%m-%d"], help="The first day of the record, in UTC."),
    ] = _BEGIN,
    again_times: Annotated[
        float,
        typer.Option(
            "--again-times", min=0, max=2, metavar="N",
            help="How many times as often as measured a repair does not take; 0: all take.",
        ),
    ] = 1.0,
    drift: Annotated[
        float,
        typer.Option(
            "--drift", min=0.01, max=100, metavar="N",
            help="How many times as often faults begin on the last day as on the first.",
        ),
    ] = 1.0,
) -> int:  # fmt: skip
    """Write a fleet; the help stands in ``HELP``."""
    from simulator.fleet.wish import FaultModel, FleetWish

    if like is FleetLikeness.POISSON:
        if (again_times, drift) != (1.0, 1.0):
            raise UsageError("--again-times and --drift are of a fleet like a real one")
        wish = FleetWish(nodes=nodes, days=days, seed=seed)
    else:
        model = FaultModel(again_times=again_times, drift=drift)
        wish = FleetWish.like_real(nodes, days, seed, faults=model)
    typer.echo(simulated_files(wish, folder, first_day.replace(tzinfo=UTC)))
    return 0


def simulated_files(wish: "FleetWish", folder: Path, first_day: datetime | None = None) -> str:
    """Write the files of a fleet; what was written, and how to read it in.

    Raises :class:`UsageError` for more node-days than a simulation is meant for.
    """
    from simulator.fleet.files import truth_path, write_fleet
    from simulator.fleet.fleet import simulate_fleet

    first_day = first_day or _BEGIN.replace(tzinfo=UTC)
    if wish.nodes * wish.days > _MOST_NODE_DAYS:
        raise UsageError(
            f"{wish.nodes * wish.days:,.0f} node-days are more than {_MOST_NODE_DAYS:,}"
        )
    fleet = simulate_fleet(wish)
    written = write_fleet(fleet, wish, folder, first_day)
    last = first_day + timedelta(days=wish.days)
    num_outages, num_runs = len(fleet.record.outages.node), len(fleet.record.runs.start_ns)
    return (
        f"wrote {num_outages:,} outages of {wish.nodes:,} nodes and {num_runs:,} runs to {folder}:"
        f" {', '.join(file.name for file in written)}"
        f"\nthe truth is in {truth_path(folder)}"
        f"\ntriage fleet import {folder}/*.csv"
        f"\ntriage fleet report --since {first_day:{_RFC3339}} --until {last:{_RFC3339}}"
    )
