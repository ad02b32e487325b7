"""When nodes were out of service: a table of our own, and what Slurm keeps of it.

::

    node,from,to,reason,cluster
    gpu003,2026-11-20T22:00:00Z,2026-11-21T06:00:00Z,HBM replaced,a

    $ sacctmgr --parsable2 show event format=Cluster,NodeName,TimeStart,TimeEnd,State,Reason
    Cluster|NodeName|TimeStart|TimeEnd|State|Reason
    a|gpu003|2026-11-20T22:00:00|2026-11-21T06:00:00|DRAIN|HBM

    $ sinfo -R -o '%E|%U|%H|%N'
    REASON|USER|TIMESTAMP|NODELIST
    HBM|root(0)|2026-11-20T22:00:00|gpu[003,007]

An end that is empty or Unknown: it lasts. ``sinfo`` never says an end; the events do.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.fleet.domain.exposure import Outage
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import Options, Passed, Row, RowError, both_times, cluster_in
from triage.fleet.parsers.run_table import hosts_in

__all__ = ["OutageReader"]

OF_THE_CLUSTER: Final = Passed("events of the cluster as a whole")
MAX_REASON: Final = 500
NODES: Final = ("node", "NodeName", "NodeList")
STARTS: Final = ("from", "TimeStart", "Timestamp", "from_at")


class OutageReader:
    """Claims a table that has a node and since when; a job in it makes it another table."""

    name = "outages"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        first = columns.first
        self.node, self.start = first(*NODES) or 0, first(*STARTS) or 0
        self.end, self.reason = first("to", "TimeEnd", "to_at"), first("reason")
        self.state, self.cluster = first("State"), first("Cluster")

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        return (
            columns.first(*NODES) is not None
            and columns.first(*STARTS) is not None
            and columns.first("job_id", "JobIDRaw") is None
        )

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The outages of a row. Raises :class:`RowError`."""

        def at(place: int | None) -> str:
            return "" if place is None else fields[place]

        start, end = both_times(at(self.start), at(self.end), self.options, "the start", "the end")
        nodes = hosts_in(at(self.node))
        if not nodes and self.state is not None:
            yield OF_THE_CLUSTER
            return
        if not nodes:
            raise RowError("node is empty")
        if start is None:
            raise RowError("it does not say since when")
        reason = (at(self.reason) or at(self.state)).strip()[:MAX_REASON]
        cluster = cluster_in(at(self.cluster), self.options)
        for node in nodes:
            yield Outage(node, start, end, reason, cluster)
