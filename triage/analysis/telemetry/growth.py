"""Counters of errors that stood still and begin to grow before a stop.

A counter says that something happened, not when: it is dated to the first scrape that shows
it. One that grows all day long is how its part lives, and says nothing of this stop.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import numpy as np

from triage.analysis.placement.topology import Placement
from triage.analysis.telemetry.panels import (
    SECOND,
    Panel,
    Panels,
    Signal,
    find_seat,
    format_clock_time,
)
from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.parsers.telemetry.metrics import Metric

# Growth that began earlier than this before the stop is of another trouble ...
_WITHIN_S: Final = 3600
# ... and before it, the counter has to have stood still for this long.
_QUIET_S: Final = 600
# More parts than this at once follow from something that they share.
_MOST_SHARE: Final = 0.25
# A scrape before, one of standing still, and one that shows it.
_MIN_KNOWN: Final = 3


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What growth of a counter means; ``least`` is how much of it is more than noise."""

    metric: Metric
    what: str
    kind: Kind
    category: Category
    least: float
    also: tuple[Category, ...] = ()
    firm: bool = False
    severity: str = ""


def _load_watched() -> Iterator[_Meaning]:
    text = files(__package__).joinpath("growth.toml").read_text("utf-8")
    for row in tomllib.loads(text)["counter"]:
        metric, kind, part = Metric(row["metric"]), Kind(row["kind"]), Category(row["category"])
        also = tuple(map(Category, row.get("also", ())))
        yield _Meaning(**{**row, "metric": metric, "kind": kind, "category": part, "also": also})


WATCHED: Final = tuple(_load_watched())


def find_growth(panels: Panels, placement: Placement) -> Iterator[Signal]:
    """Error counters that begin to grow within an hour before the stop.

    Reads:  ECC, remapped rows, NVLink and InfiniBand counters, one series a part.
    Yields: ``telemetry.METRIC`` for each part; what the hardware mended is mild.
    Silent: where the counter was not seen to stand still for ten minutes before (since it was
            reset), and where a quarter of all parts grow at once.
    """
    for watched in WATCHED:
        panel = panels.get(watched.metric)
        if panel is None:
            continue
        growing = [
            (part, grown)
            for row, part in enumerate(panel.parts)
            if (grown := _measure_growth(panel, row, watched)) is not None
        ]
        if len(growing) > max(1, _MOST_SHARE * len(panel.parts)):
            continue
        for part, (first, last, low, high) in growing:
            seat, since = find_seat(placement, part), panel.at_ns(first)
            where = f"GPU {seat.gpu} {part.part}" if seat.gpu else part.part
            at = f" of {where.strip()}" if where else ""
            yield Signal(
                name=f"telemetry.{watched.metric}",
                kind=watched.kind,
                category=watched.category,
                also=watched.also,
                seat=seat,
                since_ns=since,
                until_ns=panel.at_ns(last + 1),
                error_ns=panel.width_ns,
                text=(
                    f"{watched.what}{at} grow from {low:.0f} to {high:.0f} since"
                    f" {format_clock_time(since)} UTC; they stood still before"
                ),
                artifact=panels.artifact(part, watched.metric),
                firm=watched.firm,
                severity=watched.severity,
            )


def _measure_growth(
    panel: Panel, row: int, watched: _Meaning
) -> tuple[int, int, float, float] | None:
    """The (first, last) stretch in which a row's counter grows, and its values before and after;
    None where it does not, or where that is no news.
    """
    # What breaks a GPU shows in the first scrape behind the stop that it makes.
    late = panel.late[row : row + 1] if watched.firm else np.empty(0, np.float32)
    value = np.concatenate([panel.value[row], late])
    columns = np.flatnonzero(~np.isnan(value))
    resets = np.flatnonzero(np.diff(value[columns]) < 0)
    columns = columns[resets[-1] + 1 :] if len(resets) else columns
    if len(columns) < _MIN_KNOWN:
        return None
    grows = columns[1:][np.diff(value[columns]) > 0]
    if not len(grows):
        return None
    recent = len(panel.value[row]) - _WITHIN_S * SECOND // panel.width_ns
    quiet = max(1, _QUIET_S * SECOND // panel.width_ns)
    first, last = int(grows[0]), int(grows[-1])
    low, high = float(value[columns[0]]), float(value[columns[-1]])
    if first < recent or first - int(columns[0]) < quiet or high - low < watched.least:
        return None
    return first, last, low, high
