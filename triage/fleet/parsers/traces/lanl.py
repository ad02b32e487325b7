"""Outages of the systems of Los Alamos National Laboratory, 1996 to 2005 (LA-UR-05-7318).

::

    System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,
      node decom,fru type,mem,cputype,memtype,num intercon,purpose,Prob Started,Prob Fixed,
      Down Time,Facilities,Hardware,Human Error,Network,Undetermined,Software,Same Event
    20,cluster,512,2048,4,12,11,2-Sep,2-Nov,current,part,16,2,2,1,compute,3/11/2004 10:54,
      3/11/2004 12:00,66,,Memory Dimm,,,,,No

A system is a cluster (``lanl-20``), a node the number that counts from 0 (``n11``), and of its
``nodes`` those that no row names never failed. The cause is the column that is filled. Times are
those of Los Alamos, of which the table says nothing: give ``--zone America/Denver``. When a node
was bought is its batch, what it is for its role. Memory, processors and ``Down Time`` (which the
two times give) are not used.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from triage.domain.hosts import MAX_HOSTS
from triage.fleet.domain.cause import OutageCause, cause_of
from triage.fleet.domain.exposure import NodeFacts, Outage
from triage.fleet.domain.repair import action_of
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import (
    MAX_REASON,
    NOTHING,
    Options,
    Row,
    RowError,
    count_in,
    name_in,
    short,
)

__all__ = ["LanlReader"]

# The second counts from 1.
NODES: Final = ("nodenumz", "nodenum")
# Their heads may go on: "Prob Started (mm/dd/yy hh:mm)".
STARTED, FIXED = "Prob Started", "Prob Fixed"
CAUSES: Final = (
    "Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software",
)  # fmt: skip
# 6/21/2005 10:54; older copies have two digits of the year.
TIME: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d\d) (\d{1,2}):(\d\d)", re.ASCII)
MOST_LISTED: Final = 200_000
FIRST_YEAR: Final = 1990
ORDINARY: Final = frozenset({"compute", "other"}) | NOTHING


class LanlReader:
    """Claims a table with its columns of causes and of times."""

    name = "lanl"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.system, self.node = columns.first("System") or 0, columns.first(*NODES) or 0
        self.start, self.end = columns.begins(STARTED) or 0, columns.begins(FIXED)
        self.causes = [(name, columns.first(name)) for name in CAUSES]
        self.install, self.purpose = columns.first("node install"), columns.first("purpose")
        self.num_nodes = columns.first("nodes")
        self.listed: set[tuple[str, str]] = set()

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        named = "System" in columns and columns.first(*NODES) is not None
        return named and None not in (columns.begins(STARTED), columns.first("Human Error"))

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The outage of a row, and once what is said of its node. Raises :class:`RowError`."""

        def at(place: int | None) -> str:
            return "" if place is None else fields[place].strip()

        cluster = f"{self.options.cluster or 'lanl'}-{name_in(at(self.system), 'System')}"
        node = f"n{name_in(at(self.node), 'nodenum')}"
        yield from self.all_nodes(cluster, at(self.num_nodes))
        if (cluster, node) not in self.listed:
            if len(self.listed) > MOST_LISTED:
                raise RowError(f"more than {MOST_LISTED:,} nodes in one table")
            self.listed.add((cluster, node))
            purpose = at(self.purpose)
            role = None if purpose.lower() in ORDINARY else name_in(purpose, "purpose")
            yield NodeFacts(node, cluster=cluster, batch=at(self.install)[:256] or None, role=role)
        start = self.time(at(self.start), STARTED)
        end = self.time(at(self.end), FIXED)
        if start is None:
            raise RowError("it does not say since when")
        if end is not None and end < start:
            raise RowError(f"{FIXED} {short(at(self.end))} is before {STARTED}")
        words = [(name, at(place)) for name, place in self.causes if at(place)]
        reason = "; ".join(f"{name}; {detail}" for name, detail in words)
        cause = cause_of(*(text for pair in words for text in pair))
        yield Outage(
            node, start, end, reason[:MAX_REASON], cluster, cause, action_of(reason),
            planned=cause is OutageCause.MAINTENANCE,
        )  # fmt: skip

    def all_nodes(self, cluster: str, number: str) -> Iterator[Row]:
        """The nodes of a system, once. Raises :class:`RowError`."""
        if (cluster, "") not in self.listed:
            self.listed.add((cluster, ""))
            for node in range(count_in(number, "nodes", MAX_HOSTS) or 0):
                yield NodeFacts(f"n{node}", cluster=cluster)

    def time(self, text: str, what: str) -> datetime | None:
        """A time of the table. Raises :class:`RowError`."""
        if text.lower() in NOTHING:
            return None
        found = TIME.fullmatch(text)
        try:
            if found is None:
                raise ValueError
            month, day, year, hour, minute = map(int, found.groups())
            year += 0 if year > 99 else 1900 if year >= FIRST_YEAR - 1900 else 2000
            at = datetime(year, month, day, hour, minute, tzinfo=self.options.zone)
        except (ValueError, OverflowError) as error:
            raise RowError(f"{what} {short(text)} is no time such as 6/21/2005 10:54") from error
        if at.year < FIRST_YEAR or (self.options.last is not None and at > self.options.last):
            raise RowError(f"{what} {short(text)} is before {FIRST_YEAR} or in the future")
        return at.astimezone(UTC)
