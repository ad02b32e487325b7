"""Tables: jobs, outages, inventories and parts, a row a line, known by the names of their columns.

``csv``: runs as a plain table, for every scheduler that has no reader. ::

    job_id,started_at,ended_at,ending,num_nodes,num_gpus,nodes,cluster,cause
    4711,2026-11-21T01:00:00Z,2026-11-21T03:14:15Z,failed,2,16,gpu[001-002],a,gpu_hbm

``job_id`` and ``started_at`` are needed, the others as far as they are known. ``nodes`` is a host
list, or names with blanks between them; ``ending`` a scheduler's state or one of completed,
unexpected, planned, running, unknown; ``cause`` a category, where somebody has found it.

``sacct``: Slurm's accounting of jobs, as ``sacct --parsable2`` prints it. ::

    JobIDRaw|Cluster|State|Start|End|NNodes|AllocTRES|NodeList
    4711|a|NODE_FAIL|2026-11-21T01:00:00|2026-11-21T03:14:15|16|cpu=1,gres/gpu=128|gpu[001-016]
    4711.batch|a|CANCELLED|2026-11-21T01:00:00|2026-11-21T03:14:20|1||gpu001

Of an array ``JobIDRaw`` is the number that the job itself knows; ``JobID`` (``4700_3``) is taken
where it is all there is. With ``--duplicates`` each attempt of a requeued job is a row. Slurm
prints times without their zone unless ``SLURM_TIME_FORMAT`` says so.

``outages``: when nodes were out of service, a table of our own, and what Slurm keeps of it. ::

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

``inventory``: what is known of nodes. ``node`` is a host list, so that a rack can be one row; of
the others one is enough. The last inventory stands, for nodes move: what an earlier one said and
this one leaves empty stays. ::

    node,generation,rack,leaf_switch,cluster
    gpu001,H100,r12,leaf03,a

``hardware``: parts. A placeholder (``N/A``, ``Not Specified``) is no part. ``seen_at`` is when it
was there, or ``from`` and ``to``; without any it is there now. ::

    node,kind,identity,slot,seen_at
    n12,gpu,GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14,0000:5d:00,2026-03-04T10:00:00Z

``tickets``: what people wrote down of nodes, a ticket a row. ``tickets.toml`` says what the columns
of trackers tell. A ticket becomes outages, or repairs where it does not say from when to when a
node was out. ::

    number,opened_at,closed_at,short_description,cmdb_ci,close_notes
    INC0010023,2026-11-20 22:00:00,2026-11-21 06:00:00,GPU 3 Xid 79,gpu003,GPU 3 replaced
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.hardware import MAX_IDENTITY, HardwareKind, make_part_identity
from triage.domain.hosts import is_host_name
from triage.domain.patterns import compile_re
from triage.fleet.domain.cause import (
    OutageCause,
    RepairAction,
    classify_outage_cause,
    classify_repair_action,
)
from triage.fleet.domain.exposure import (
    FACTS,
    MAX_GPUS,
    Ending,
    JobState,
    NodeFacts,
    NodeRepair,
    Outage,
    PartSeen,
    Run,
    parse_job_state,
)
from triage.fleet.parsers.rows import (
    MAX_REASON,
    NOTHING,
    Columns,
    Get,
    Passed,
    Row,
    RowError,
    TableReader,
    cluster_in,
    count_in,
    determine_ending,
    name_in,
    normalize_column_name,
    parse_both_ends,
    parse_host_list,
    remove_names,
    shorten_foreign_text,
)
from triage.fleet.parsers.slurm import is_maintenance, is_node_state, is_out
from triage.signatures.pci import normalize_bus_id

_STEPS: Final = Passed("steps of jobs")
_NEVER_STARTED: Final = Passed("jobs that never started")
_OF_THE_CLUSTER: Final = Passed("events of the cluster as a whole")
_IN_SERVICE: Final = Passed("events of nodes that were not out of service")
# gres/gpu=16; gres/gpu:h100=16 repeats it by type.
_GPUS: Final = compile_re(r"(?:^|,)gres/gpu=(\d{1,8})(?:,|$)", re.ASCII)
_TYPED_GPUS: Final = compile_re(r"(?:^|,)gres/gpu:[^=,]{1,80}=(\d{1,8})(?=,|$)", re.ASCII)
_NO_NODE: Final = Passed("tickets that name no node")
_NOTHING_DONE: Final = Passed("tickets without begin and end that tell of no repair")
_NO_NODES: Final = ("", "None assigned", "none", "(null)")
_YES: Final = frozenset({"yes", "true", "1", "y", "planned"})
_NODES: Final = ("node", "NodeName", "NodeList")
_STARTS: Final = ("from", "TimeStart", "Timestamp", "from_at")
_IDENTITIES: Final = ("uuid", "serial", "guid", "identity")
_KINDS: Final = {
    "gpu": HardwareKind.GPU, "gpuboard": HardwareKind.GPU_BOARD, "board": HardwareKind.BOARD,
    "nic": HardwareKind.NIC, "hca": HardwareKind.NIC, "chassis": HardwareKind.CHASSIS,
    "gpuserial": HardwareKind.GPU_BOARD,
}  # fmt: skip


class RunReader(TableReader):
    """Claims a table that has ``job_id`` and ``started_at`` (or ``start``)."""

    name = "csv"
    needs = (("job_id",), ("started_at", "start"))

    def read(self, get: Get) -> Iterator[Row]:
        """The run of a row. Raises :class:`RowError`."""
        job_id = name_in(get("job_id"), "job_id")
        times = get("started_at", "start"), get("ended_at", "end")
        start, end = parse_both_ends(*times, self.options, "started_at", "ended_at")
        word = get("ending", "state")
        state = parse_job_state(word) if word.strip() else JobState(Ending.UNKNOWN)
        if state is None:
            raise RowError(f"ending {shorten_foreign_text(word)} is not known")
        if start is None or not state.started:
            yield _NEVER_STARTED
            return
        nodes = parse_host_list(get("nodes", "nodelist"))
        cause = get("cause", "category").strip()
        if cause and cause not in set(Category):
            raise RowError(f"cause {shorten_foreign_text(cause)} is no category")
        yield Run(
            job_id=job_id,
            started_at=start,
            ended_at=end,
            ending=determine_ending(state, word, end),
            num_nodes=len(nodes) or count_in(get("num_nodes"), "num_nodes") or 0,
            num_gpus=count_in(get("num_gpus"), "num_gpus", MAX_GPUS) or 0,
            nodes=nodes,
            cluster=cluster_in(get("cluster"), self.options),
            cause=Category(cause) if cause else state.cause,
            source=self.name,
        )


class SacctReader(TableReader):
    """Claims a table with bars that has a job, a state, a start and an end."""

    name = "sacct"
    delimiter = "|"
    needs = (("JobIDRaw", "JobID"), ("State",), ("Start",), ("End",))

    def read(self, get: Get) -> Iterator[Row]:
        """The run of a row. Raises :class:`RowError`."""
        job_id = name_in(get("JobIDRaw", "JobID"), "the job")
        if "." in job_id:
            yield _STEPS
            return
        state = parse_job_state(get("State"))
        if state is None:
            raise RowError(f"the state {shorten_foreign_text(get('State'))} is not known")
        start, end = parse_both_ends(get("Start"), get("End"), self.options, "Start", "End")
        named = get("NodeList").strip()
        nodes = () if named in _NO_NODES else parse_host_list(named)
        if not state.started or start is None or (start == end and not nodes):
            yield _NEVER_STARTED
            return
        yield Run(
            job_id=job_id,
            started_at=start,
            ended_at=end,
            ending=determine_ending(state, get("State"), end),
            num_nodes=len(nodes) or count_in(get("NNodes", "AllocNodes"), "NNodes") or 0,
            num_gpus=_count_gpus(get("AllocTRES", "TRES")),
            nodes=nodes,
            cluster=cluster_in(get("Cluster"), self.options),
            cause=state.cause,
            source=self.name,
        )


def _count_gpus(tres: str) -> int:
    """How many GPUs were allocated; by type where Slurm counts them by type alone."""
    found = _GPUS.search(tres)
    number = int(found[1]) if found else sum(int(n) for n in _TYPED_GPUS.findall(tres))
    return min(number, MAX_GPUS)


class OutageReader(TableReader):
    """Claims a table that has a node and since when; a job in it makes it another table."""

    name = "outages"
    free = "reason"
    needs = (_NODES, (*_STARTS, "from_day"))
    lacks = ("job_id", "JobIDRaw")

    def read(self, get: Get) -> Iterator[Row]:
        """The outages of a row. Raises :class:`RowError`."""
        days = self.columns.first(*_STARTS) is None
        told = ("from_day",), ("to_day",)
        first, last = told if days else (_STARTS, ("to", "TimeEnd", "to_at"))
        names = "the start", "the end"
        start, end = parse_both_ends(get(*first), get(*last), self.options, *names, days=days)
        nodes = parse_host_list(get(*_NODES))
        of_slurm = "State" in self.columns
        if not nodes and of_slurm:
            yield _OF_THE_CLUSTER
            return
        if not nodes:
            raise RowError("node is empty")
        if start is None:
            raise RowError("it does not say since when")
        state = get("State")
        if is_node_state(state) and not is_out(state):
            yield _IN_SERVICE
            return
        words = [get("cause"), get("detail", "description"), get("reason")]
        reason = "; ".join(dict.fromkeys(filter(None, map(str.strip, words)))) or state
        texts = tuple(remove_names(text, nodes)[:MAX_REASON] for text in words)
        done = get("action", "repair", "resolution").strip()[:MAX_REASON]
        cause, action = _classify_cause_and_action(texts, done)
        planned = get("planned").strip().lower()
        upkeep = cause is OutageCause.MAINTENANCE or is_maintenance(state)
        meant = upkeep if planned in NOTHING else planned in _YES
        name = get("Cluster")
        cluster = cluster_in(self._complete_cluster(name) if of_slurm else name, self.options)
        for node in nodes:
            yield Outage(
                node, start, end, reason.strip()[:MAX_REASON], cluster, cause, action, meant
            )

    def _complete_cluster(self, name: str) -> str:
        """The name of a cluster that ``sacctmgr`` cut to its column (``long_name+``), whole.

        Raises :class:`RowError` where the options do not say it.
        """
        if not name.endswith("+"):
            return name
        if not self.options.cluster.startswith(name[:-1]):
            raise RowError(f"the cluster {name} is cut: print with -P, or say --cluster")
        return self.options.cluster


# A year of events has some hundred reasons.
@lru_cache(maxsize=2048)
def _classify_cause_and_action(
    texts: tuple[str, ...], action: str
) -> tuple[OutageCause, RepairAction | None]:
    """What words say of why, and of what was done; ``action`` is what a column of its own says."""
    words = action or "; ".join(filter(None, texts))
    return classify_outage_cause(*texts), classify_repair_action(words)


class InventoryReader(TableReader):
    """Claims a table that has ``node`` and one of the facts."""

    name = "inventory"
    needs = (("node",), FACTS)

    @classmethod
    def claims(cls, columns: Columns, delimiter: str) -> bool:
        """By the names in the header; a column of identities is of no inventory."""
        told = not any(name.endswith(_IDENTITIES) for name in columns.place)
        return told and super().claims(columns, delimiter)

    def read(self, get: Get) -> Iterator[Row]:
        """The nodes of a row. Raises :class:`RowError`."""
        nodes = parse_host_list(get("node"))
        if not nodes:
            raise RowError("node is empty")
        facts: dict[str, Any] = {
            name: name_in(get(name), name) for name in FACTS if get(name).strip()
        }
        cluster = cluster_in(get("cluster"), self.options)
        for node in nodes:
            yield NodeFacts(node, cluster=cluster, **facts)


class HardwareReader(TableReader):
    """Claims a table that has a node, a kind of part and an identity."""

    name = "hardware"
    needs = (("node",), ("kind",), ("identity",))

    def read(self, get: Get) -> Iterator[Row]:
        """The part of a row; none for a placeholder. Raises :class:`RowError`."""
        kind = _KINDS.get(normalize_column_name(get("kind")))
        if kind is None:
            named = shorten_foreign_text(get("kind"))
            raise RowError(f"kind {named} is none of {', '.join(_KINDS)}")
        identity, slot = get("identity").strip(), get("slot", "bus_id", "index").strip()
        if len(identity) > MAX_IDENTITY:
            raise RowError(f"an identity has more than {MAX_IDENTITY} characters")
        node = name_in(get("node"), "node")
        cluster = cluster_in(get("cluster"), self.options)
        seen = get("seen_at", "at", "time", "timestamp", "date").strip()
        since = seen or get("from", "first_at", "installed_at", "since")
        until = seen or get("to", "last_at", "removed_at", "until")
        first, last = parse_both_ends(since, until, self.options, "the first time", "the last time")
        part = make_part_identity(kind, identity, normalize_bus_id(slot) or slot)
        if part is not None:
            yield PartSeen(node, part, first, last, cluster)


@cache
def _load_ticket_columns() -> Mapping[str, Sequence[str]]:
    """What columns of tickets tell, and how they are called by trackers."""
    text = files("triage.fleet.parsers").joinpath("tickets.toml").read_text("utf-8")
    return tomllib.loads(text)


# Actions that say which part it was.
_OF_A_PART: Final = frozenset(
    action for action in RepairAction if action.startswith("swap_") or action is RepairAction.RESEAT
) - {RepairAction.SWAP_NODE}


class TicketReader(TableReader):
    """Claims a table with a title, a node and a time."""

    name = "tickets"

    @classmethod
    def claims(cls, columns: Columns, delimiter: str) -> bool:
        """By the names in the header."""
        names = _load_ticket_columns()
        needed = (names["title"], names["node"], (*names["begin"], *names["end"]))
        found = all(columns.first(*group) is not None for group in needed)
        return found and delimiter not in ("", "|")

    def read(self, get: Get) -> Iterator[Row]:
        """The outages or repairs that a ticket tells of. Raises :class:`RowError`."""
        told = {
            kind: [text for name in names if (text := get(name).strip()).lower() not in NOTHING]
            for kind, names in _load_ticket_columns().items()
        }
        first = {kind: texts[0] if texts else "" for kind, texts in told.items()}
        times = first["begin"], first["end"]
        begin, end = parse_both_ends(*times, self.options, "its begin", "its end")
        nodes = parse_host_list(first["node"]) if first["node"] else ()
        if wrong := next((node for node in nodes if not is_host_name(node)), None):
            raise RowError(f"the node {shorten_foreign_text(wrong)} is no name of a host")
        if not nodes:
            yield _NO_NODE
            return
        cluster = cluster_in(first["cluster"], self.options)
        texts = (first["cause"], first["title"], "; ".join(told["done"]))
        cause_text, title, done = (remove_names(text, nodes)[:MAX_REASON] for text in texts)
        # A title says what is to be done, which a closed ticket has seen done.
        deeds = [done, *([title] if end else [])]
        actions = [one for text in deeds if (one := classify_repair_action(text))]
        # "Fixed" is what a tracker calls every end; a title beside it says more.
        clear = (one for one in actions if one not in (RepairAction.OTHER, RepairAction.NONE))
        action = next(clear, actions[0] if actions else None)
        reason = " ".join(" ".join((first["key"], *texts[1:])).split())[:MAX_REASON]
        if begin is not None and end is not None:
            sources = (cause_text, done if action in _OF_A_PART else "", title, done)
            causes = (classify_outage_cause(text) for text in sources)
            named = (one for one in causes if one is not OutageCause.UNKNOWN)
            cause = next(named, OutageCause.UNKNOWN)
            planned = cause is OutageCause.MAINTENANCE
            for node in nodes:
                yield Outage(node, begin, end, reason, cluster, cause, action, planned)
        elif action is not None and (at := end or begin) is not None:
            for node in nodes:
                yield NodeRepair(node, at, action, reason, cluster)
        else:
            yield _NOTHING_DONE
