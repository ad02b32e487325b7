"""Which boot each line of a log counts its uptime from.

A log may hold several boots of a node, and lines of several nodes. Lines of one node are of one
boot until their uptime goes back. The order of a file is that of time: what stands before a boot
was before it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.domain.evidence import Evidence, Stamp
from triage.parsers.logs.first_minutes import BANNERS
from triage.parsers.logs.stamps import DAY_NS, MINUTE_NS, SECOND_NS

# Lines that several programs print are out of order by less than this; parts of one log that were
# put together, by less than that.
_OUT_OF_ORDER_NS: Final = MINUTE_NS
_MOST_OUT_OF_ORDER_NS: Final = 60 * MINUTE_NS
# No node boots twice within this: times of its boots that are nearer are of one.
_APART_NS: Final = 2 * MINUTE_NS
# Logs of one incident are taken within so long of its stop: what says otherwise is wrong.
TAKEN_NS: Final = DAY_NS


@dataclass(slots=True)
class BootSpan:
    """Lines of one node and one boot in a log, from ``first_line`` on.

    ``anchors`` are (line, when that uptime began) of the lines with both clocks, in their order.
    ``boot`` is when uptime began and the error of that, found by other means; both in ns.
    """

    node: str | None
    first_line: int
    last_ns: int
    rows: list[Evidence] = field(default_factory=list)
    anchors: list[tuple[int, int]] = field(default_factory=list)
    boot: tuple[int, int] | None = None

    @property
    def begun_ns(self) -> int | None:
        """When its uptime began, as far as known."""
        if self.anchors:
            return self.anchors[0][1]
        return None if self.boot is None else self.boot[0]

    @property
    def ended_ns(self) -> int | None:
        """When its last line was printed, as far as known."""
        return None if self.begun_ns is None else self.begun_ns + self.last_ns

    def date(self, stamp: Stamp, line: int) -> tuple[int, int] | None:
        """(UTC ns, error ns) of a stamp of this boot that has an uptime."""
        if stamp.uptime_ns is None:
            return None
        if self.anchors:
            before = bisect_left(self.anchors, (line + 1,))
            begun = self.anchors[max(before - 1, 0)][1]
            return begun + stamp.uptime_ns, stamp.error_ns + SECOND_NS
        if self.boot is None:
            return None
        return self.boot[0] + stamp.uptime_ns, stamp.error_ns + self.boot[1]


def find_spans(
    rows: Iterable[Evidence],
    node_of: Callable[[Evidence], str | None],
    read: Callable[[Stamp], tuple[int, int] | None],
) -> list[BootSpan]:
    """The boots in one log, by node and in the order of lines; ``rows`` stand in that order."""
    spans: list[BootSpan] = []
    current: dict[str | None, BootSpan] = {}
    # By the first line of each row: the last one of a repeated row stands further down the log.
    reached: dict[str | None, int] = {}
    for row in rows:
        uptime = row.stamp.uptime_ns
        if uptime is None:
            continue
        node, line = node_of(row), row.line or 0
        span = current.get(node)
        if span is None or _is_of_a_new_boot(row, uptime, reached[node]):
            span = current[node] = BootSpan(node, line, uptime)
            spans.append(span)
            reached[node] = uptime
        reached[node] = max(reached[node], uptime)
        span.last_ns = max(span.last_ns, uptime, row.last_stamp.uptime_ns or 0)
        span.rows.append(row)
        when = read(row.stamp)
        if when is not None:
            span.anchors.append((line, when[0] - uptime))
    return spans


def _is_of_a_new_boot(row: Evidence, uptime: int, last: int) -> bool:
    """Whether a line counts from another boot than those above it, which came up to ``last``."""
    if row.signature in BANNERS:
        return uptime < last
    back = last - uptime
    return back > _MOST_OUT_OF_ORDER_NS or (back > _OUT_OF_ORDER_NS and uptime < last // 2)


def separate_boots(times: Iterable[int]) -> list[int]:
    """The boots of a node, ascending; times that tell of one boot are one, the latest of them."""
    boots: list[int] = []
    for ns in sorted(times):
        if boots and ns - boots[-1] <= _APART_NS:
            boots[-1] = ns
        else:
            boots.append(ns)
    return boots


def find_boot(
    span: BootSpan,
    boots: Sequence[int],
    earlier: int | None,
    later: int | None,
    stop_ns: int | None,
) -> int | None:
    """The boot of a node that a span counts from; None where it fits none.

    ``earlier`` is when what stands above it in its log ended, ``later`` the boot of what stands
    below. A span ends before the next boot. The first one of a log, which may have run for long, is
    of no boot behind the stop, unless all of it can have been printed when the logs were taken.
    """
    fitting = []
    for k, boot in enumerate(boots):
        behind = boots[k + 1] if k + 1 < len(boots) else None
        ends = boot + span.last_ns
        if (behind is not None and ends > behind + _APART_NS) or (
            later is not None and (boot >= later or ends > later + _APART_NS)
        ):
            continue
        if earlier is not None and boot < earlier - _APART_NS:
            continue
        if earlier is None and stop_ns is not None and boot > stop_ns and ends > stop_ns + TAKEN_NS:
            continue
        fitting.append(boot)
    if not fitting:
        return None
    if stop_ns is None:
        return fitting[-1]
    # It was taken behind the stop, as soon as anybody could.
    return min(fitting, key=lambda boot: (abs(boot + span.last_ns - stop_ns), -boot))


def group_by_node(spans: Iterable[BootSpan]) -> Mapping[str | None, list[BootSpan]]:
    """The spans of each node, in the order of lines."""
    nodes: dict[str | None, list[BootSpan]] = defaultdict(list)
    for span in spans:
        nodes[span.node].append(span)
    return nodes
