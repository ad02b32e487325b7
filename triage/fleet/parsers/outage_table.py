"""When nodes were out of service: a table of our own, and what Slurm keeps of it.

::

    node,from,to,reason,cluster
    gpu003,2026-11-20T22:00:00Z,2026-11-21T06:00:00Z,HBM replaced,a

    node,from,to,cause,detail,action,planned
    gpu003,2026-11-20T22:00:00Z,2026-11-21T06:00:00Z,Hardware,GPU,GPU 3 replaced,no

    node,from_day,to_day,cause,detail
    gpu003,12.5,12.75,Hardware,GPU

    $ sacctmgr --parsable2 show event
    Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
    a|gpu003|2026-11-20T22:00:00|2026-11-21T06:00:00|DRAIN|HBM|root(0)

    $ sinfo -R -o '%E|%U|%H|%N'
    REASON|USER|TIMESTAMP|NODELIST
    HBM|root(0)|2026-11-20T22:00:00|gpu[003,007]

An end that is empty or Unknown: it lasts. ``sinfo`` never says an end; the events do. Days are
counted from the day zero of the options. A state of Slurm that takes no node out (powered down to
save power, planned for a job) is no outage, and maintenance is a planned one.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from triage.fleet.domain.cause import OutageCause, classify_outage_cause
from triage.fleet.domain.exposure import Outage
from triage.fleet.domain.repair import RepairAction, classify_repair_action
from triage.fleet.parsers.rows import (
    MAX_REASON,
    NOTHING,
    Columns,
    Options,
    Passed,
    Row,
    RowError,
    cluster_in,
    parse_both_days,
    parse_both_times,
    parse_host_list,
    remove_names,
)
from triage.fleet.parsers.slurm.node_state import is_maintenance, is_node_state, is_out

_OF_THE_CLUSTER: Final = Passed("events of the cluster as a whole")
_IN_SERVICE: Final = Passed("events of nodes that were not out of service")
_YES: Final = frozenset({"yes", "true", "1", "y", "planned"})
_NODES: Final = ("node", "NodeName", "NodeList")
_STARTS: Final = ("from", "TimeStart", "Timestamp", "from_at", "from_day")


class OutageReader:
    """Claims a table that has a node and since when; a job in it makes it another table."""

    name = "outages"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        first = columns.first
        self.node, self.start = first(*_NODES) or 0, first(*_STARTS) or 0
        self.in_days = first(*_STARTS[:-1]) is None
        self.end = first("to_day") if self.in_days else first("to", "TimeEnd", "to_at")
        self.reason = first("reason")
        self.state, self.cluster = first("State"), first("Cluster")
        self.cause, self.detail = first("cause"), first("detail", "description")
        self.action, self.planned = first("action", "repair", "resolution"), first("planned")

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        return (
            columns.first(*_NODES) is not None
            and columns.first(*_STARTS) is not None
            and columns.first("job_id", "JobIDRaw") is None
        )

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The outages of a row. Raises :class:`RowError`."""

        def at(place: int | None) -> str:
            return "" if place is None else fields[place]

        both = parse_both_days if self.in_days else parse_both_times
        start, end = both(at(self.start), at(self.end), self.options, "the start", "the end")
        nodes = parse_host_list(at(self.node))
        if not nodes and self.state is not None:
            yield _OF_THE_CLUSTER
            return
        if not nodes:
            raise RowError("node is empty")
        if start is None:
            raise RowError("it does not say since when")
        state = at(self.state)
        if is_node_state(state) and not is_out(state):
            yield _IN_SERVICE
            return
        words = [at(self.cause), at(self.detail), at(self.reason)]
        reason = "; ".join(dict.fromkeys(filter(None, map(str.strip, words)))) or state
        texts = tuple(remove_names(text, nodes)[:MAX_REASON] for text in words)
        cause, action = classify_cause_and_action(texts, at(self.action).strip()[:MAX_REASON])
        planned = at(self.planned).strip().lower()
        upkeep = cause is OutageCause.MAINTENANCE or is_maintenance(state)
        meant = upkeep if planned in NOTHING else planned in _YES
        cluster = cluster_in(self.whole_cluster(at(self.cluster)), self.options)
        for node in nodes:
            yield Outage(
                node, start, end, reason.strip()[:MAX_REASON], cluster, cause, action, meant
            )

    def whole_cluster(self, name: str) -> str:
        """The name of a cluster that ``sacctmgr`` cut to its column (``long_name+``), whole.

        Raises :class:`RowError` where the options do not say it.
        """
        if self.state is None or not name.endswith("+"):
            return name
        whole = self.options.cluster
        if not whole.startswith(name[:-1]):
            raise RowError(f"the cluster {name} is cut: print with -P, or say --cluster")
        return whole


# A year of events has some hundred reasons.
@lru_cache(maxsize=2048)
def classify_cause_and_action(
    texts: tuple[str, ...], action: str
) -> tuple[OutageCause, RepairAction | None]:
    """What words say of why, and of what was done; ``action`` is what a column of its own says."""
    return classify_outage_cause(*texts), classify_repair_action(
        action or "; ".join(filter(None, texts))
    )
