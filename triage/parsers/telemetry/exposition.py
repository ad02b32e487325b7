"""Prometheus text exposition: what dcgm-exporter, node_exporter and their like print.

::

    # at 2026-11-21T03:04:15Z
    # TYPE DCGM_FI_DEV_GPU_TEMP gauge
    DCGM_FI_DEV_GPU_TEMP{gpu="0",pci_bus_id="00000000:1B:00.0",Hostname="n3"} 61
    DCGM_FI_DEV_POWER_USAGE{gpu="0",Hostname="n3"} 690.1 1795143855000

A time stands behind the value (ms since the epoch), else in the last comment ``# at TIME`` or
``# scraped at TIME`` above, as a loop that appends scrape to scrape writes it. A sample
without either is of no use here and is counted.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from triage.domain.patterns import compile_re
from triage.parsers.telemetry.labels import find_source, is_read, parse_labels
from triage.parsers.telemetry.numbers import MOST_NUMBER, parse_instant
from triage.parsers.telemetry.samples import ReadBytes, Samples, Tally, iterate_lines
from triage.parsers.telemetry.series import SeriesTable, Target

UNDATED: Final = "no time: put a line `# at TIME` before each scrape"
NOT_A_SAMPLE: Final = "no sample of the text exposition format"
# A name, its labels, the value, and what stands behind: a time, an exemplar.
_SAMPLE = compile_re(
    r'(?!#)([^\s{"]*+)\s*+(?:\{((?:[^"}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+)\})?+'
    r"\s*+(\S++)\s*+(.*)"
)
_AT = compile_re(r"#\s*(?:scraped )?at (.+)")


def read_exposition(read: ReadBytes, tally: Tally, node: str | None) -> Iterator[Samples]:
    """Batches of samples; ``node`` is whose they are where no label says it."""
    table = SeriesTable(tally, node)
    scraped = None
    for line in iterate_lines(read, tally):
        found = _SAMPLE.match(line)
        if found is None:
            if (comment := _AT.match(line)) is not None:
                scraped = parse_instant(comment[1])
                tally.zoneless += scraped is not None and scraped[1]
            elif line and not line.startswith("#"):
                tally.skip(NOT_A_SAMPLE, 1, tally.lines)
            continue
        value, behind = _parse_float(found[3]), found[4]
        is_dated = bool(behind) and not behind.startswith("#")
        at = parse_instant(behind) if is_dated else scraped
        if value is None or (is_dated and at is None):
            tally.skip(NOT_A_SAMPLE, 1, tally.lines)
            continue
        targets = _find_targets(table, line, found)
        if not targets or not abs(value) < MOST_NUMBER:
            continue
        if at is None:
            tally.skip(UNDATED, 1, tally.lines)
            continue
        _, index, factor = targets[0]
        table.add(index, at[0], value * factor)
        if table.is_full():
            yield from table.take()
    yield from table.take()


def _parse_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _find_targets(table: SeriesTable, line: str, found: "re.Match[str]") -> Sequence[Target]:
    """The series of a line by its name and labels; none for a metric that is not read."""
    identity = line[: found.start(3)]
    targets = table.of.get(identity)
    if targets is not None or not is_read(found[1]):
        return targets or ()
    labels = parse_labels(found[2] or "")
    source = None if labels is None else find_source(found[1], labels)
    return table.learn(identity, [source], labels or {})
