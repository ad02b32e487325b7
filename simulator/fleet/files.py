"""A simulated fleet as the files that somebody would import, and its truth beside them.

``runs.csv``, ``outages.csv``, ``inventory.csv``, ``parts.csv`` and ``tickets.csv`` are as
schedulers, inventories and trackers export them. The truth is read by no answer.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from simulator.fleet.truth import SimulatedFleet
from simulator.fleet.wish import FleetWish
from triage.domain.hosts import format_host_list
from triage.errors import UsageError
from triage.fleet.domain.exposure import FACTS
from triage.fleet.record.columns import FleetRecord

FIRST_DAY: Final = datetime(2025, 1, 1, tzinfo=UTC)
FILES: Final = ("runs.csv", "outages.csv", "inventory.csv", "parts.csv", "tickets.csv")
# Words of a class and a detail are joined in a record's reason.
_BETWEEN: Final = "; "
# A tracker's ticket is opened a little after the node went out.
_TICKET_DELAY: Final = timedelta(minutes=10)

_Row = Sequence[object]


def write_fleet(
    fleet: SimulatedFleet, wish: FleetWish, folder: Path, first_day: datetime = FIRST_DAY
) -> list[Path]:
    """The files of a fleet whose record begins on ``first_day``; where they lie.

    Raises :class:`UsageError` where ``folder`` is there and not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    tables = _FleetTables(fleet, first_day)
    written = [
        _write(folder / name, head, rows)
        for name, head, rows in (
            (FILES[0], _RUN_COLUMNS, tables.runs()),
            (FILES[1], _OUTAGE_COLUMNS, tables.outages()),
            (FILES[2], ("node", *FACTS), tables.inventory()),
            (FILES[3], _PART_COLUMNS, tables.parts()),
            (FILES[4], _TICKET_COLUMNS, tables.tickets()),
        )
    ]
    truth = json.dumps(_truth_of(fleet, wish, first_day), indent=1) + "\n"
    truth_path(folder).write_text(truth, encoding="utf-8")
    return written


def truth_path(folder: Path) -> Path:
    """Beside the folder and never in it."""
    return folder.with_name(folder.name + ".truth.json")


_RUN_COLUMNS: Final = (
    "job_id", "started_at", "ended_at", "ending", "num_nodes", "num_gpus", "nodes",
)  # fmt: skip
_OUTAGE_COLUMNS: Final = ("node", "from", "to", "cause", "detail", "action", "planned")
_PART_COLUMNS: Final = ("node", "kind", "identity", "slot", "from", "to")
_TICKET_COLUMNS: Final = ("number", "node", "from", "to", "summary", "action")


class _FleetTables:
    """The rows of each file."""

    def __init__(self, fleet: SimulatedFleet, first_day: datetime) -> None:
        self.fleet, self.first_day = fleet, first_day
        self.record: FleetRecord = fleet.record

    def at(self, time_ns: int) -> str:
        """A time of the record, moved to where it begins."""
        return _text_of(
            self.first_day + timedelta(microseconds=(time_ns - self.record.since_ns) // 1000)
        )

    def end(self, time_ns: int) -> str:
        """The same; nothing where it lasts until the end of the record."""
        return "" if time_ns >= self.record.until_ns else self.at(time_ns)

    def on_day(self, day: float | None) -> str:
        """A day since the record's start; nothing for none, or for one outside of the record."""
        length = (self.record.until_ns - self.record.since_ns) / 86_400e9
        if day is None or not 0 <= day < length:
            return ""
        return _text_of(self.first_day + timedelta(days=day))

    def runs(self) -> Iterator[_Row]:
        """One row per run; a run that a node ended is said to have failed with it."""
        runs, record = self.record.runs, self.record
        stops = dict(zip(record.interruptions.run.tolist(), self.fleet.culprits, strict=True))
        for run, (start, end) in enumerate(
            zip(runs.start_ns.tolist(), runs.end_ns.tolist(), strict=True)
        ):
            nodes = runs.node[runs.node_at[run] : runs.node_at[run + 1]].tolist()
            ending = "COMPLETED"
            if runs.interrupted[run]:
                ending = "NODE_FAIL" if stops.get(run) else "FAILED"
            elif runs.planned[run]:
                ending = "CANCELLED"
            elif end >= record.until_ns:
                ending = "RUNNING"
            names = format_host_list(record.nodes[node] for node in nodes)
            number = (len(nodes), int(runs.num_gpus[run]))
            yield (run + 1, self.at(start), self.end(end), ending, *number, names)

    def outages(self) -> Iterator[_Row]:
        """One row per outage, with what the record says of it."""
        outages = self.record.outages
        for row, reason in enumerate(outages.reason):
            cause, _, detail = reason.partition(_BETWEEN)
            yield (
                self.record.nodes[outages.node[row]], self.at(int(outages.start_ns[row])),
                self.end(int(outages.end_ns[row])), cause, detail, outages.action[row] or "",
                "yes" if outages.planned[row] else "no",
            )  # fmt: skip

    def inventory(self) -> Iterator[_Row]:
        """One row per node."""
        columns = [getattr(self.record, name) for name in FACTS]
        for place, node in enumerate(self.record.nodes):
            yield (node, *((column[place] or "") if column else "" for column in columns))

    def parts(self) -> Iterator[_Row]:
        """One row per stay of a GPU in a node, its slot as a bus address."""
        for stay in self.fleet.stays:
            start, end = self.on_day(stay.from_day), self.on_day(stay.to_day)
            if not start:
                start = _text_of(self.first_day)
            yield (stay.node, "gpu_serial", stay.part, _bus_address(stay.slot), start, end)

    def tickets(self) -> Iterator[_Row]:
        """One row per repair of which somebody wrote down what was done."""
        outages = self.record.outages
        for row, action in enumerate(outages.action):
            end = self.end(int(outages.end_ns[row]))
            if action is None or outages.planned[row] or not end:
                continue
            opened = min(self.opened(row), end)
            node = self.record.nodes[outages.node[row]]
            yield (f"REP-{row + 1}", node, opened, end, outages.reason[row], action)

    def opened(self, row: int) -> str:
        start = int(self.record.outages.start_ns[row])
        return self.at(start + round(_TICKET_DELAY.total_seconds() * 1e9))


def _bus_address(slot: int) -> str:
    """Of the GPU in a slot of a node, as accusations name it."""
    return f"0000:{0x1B + 0x10 * slot:02x}:00"


def _text_of(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def _write(path: Path, head: _Row, rows: Iterable[_Row]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
    return path


def _truth_of(fleet: SimulatedFleet, wish: FleetWish, first_day: datetime) -> dict[str, Any]:
    """What is known of the fleet beside its files; outages are rows of ``outages.csv``, from 0."""
    return {
        "first_day": _text_of(first_day),
        "wish": asdict(wish),
        "lemons": sorted(fleet.lemons),
        "special": sorted(fleet.special),
        "bad_leaves": sorted(fleet.bad_leaves),
        "culprits": fleet.culprits,
        "faults": [asdict(fault) for fault in fleet.faults],
        "moves": [asdict(move) for move in fleet.moves],
        "renamed": fleet.renamed,
    }
