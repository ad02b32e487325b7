"""Who sits where: rank -> node -> GPU, from everything that says so.

Sources in the order of trust: ``job.json``, the init lines of NCCL's world communicator,
torchelastic's tables and events, prefixes of lines in files of one node, and the folders that dumps
lie in. Where two sources disagree the better one is believed and the disagreement is told.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from triage.analysis.placement.files_of_nodes import USUAL_RANKS, gathered_by_their_lines
from triage.analysis.placement.gpu_names import JOINED, infer_layout
from triage.analysis.placement.host_names import (
    map_canonical_names,
    mask_numbers,
    name_in,
    parse_plain_host,
    with_pods,
)
from triage.analysis.placement.order_of_nodes import (
    fill_by_names,
    fill_by_order,
    find_ranks_per_node,
)
from triage.analysis.placement.world_ranks import find_world_of_looks, find_world_ranks
from triage.domain.evidence import ACTOR, BY_FILE, Evidence, Kind
from triage.domain.job import Job
from triage.domain.live.look import Look
from triage.domain.patterns import compile_re

_MAX_NOTES: Final = 6
# What says only which number is to run where.
_MAP: Final = "job.json"
# How NCCL goes on behind ``host:pid:tid [device] ``, whatever it tells of.
_NCCL_WORDS: Final = "NCCL "
# More ranks than any node has.
_MOST_ON_A_NODE: Final = 16
# Lines in which an address is a GPU's; other drivers' devices have addresses too.
_OF_GPUS: Final = frozenset({"nvidia", "amdgpu", "gpu_monitor"})
# One node of a map that DeepSpeed prints.
_MAPPED = compile_re(r"'([^']{1,256})': \[([\d, ]{1,4000})\]")


_NAMES: Final = compile_re(r"[A-Za-z0-9](?:[\w.-]{0,251}\w)?")
_DOTS_OF_AN_ADDRESS: Final = 3


@dataclass(slots=True)
class JobPlacement:
    """Seats of a job. Methods give None where nothing says it."""

    node_by_rank: dict[int, str] = field(default_factory=dict)
    gpu_by_rank: dict[int, str] = field(default_factory=dict)
    local_by_rank: dict[int, int] = field(default_factory=dict)
    rank_by_pid: dict[tuple[str, int], int] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    world_size: int | None = None
    notes: tuple[str, ...] = ()
    rank_by_gpu: dict[tuple[str, str], int] = field(default_factory=dict)
    rank_by_local: dict[tuple[str, int], int] = field(default_factory=dict)
    seated: frozenset[str] = frozenset()
    """The nodes that the job's map or a rank's seat names: no other word for a node."""
    seen: frozenset[int] = frozenset()
    """Ranks whose seat is more than a number in a map: a host, a process, a dump or a log agrees
    with it, and nothing contradicts it."""
    only_node: str | None = None
    """The one node that the whole job runs on."""
    gathered: frozenset[str] = frozenset()
    """Logs in which ranks of several nodes speak, in whose folder ever they lie."""

    def node_of(self, rank: int) -> str | None:
        """The node of a rank."""
        return self.node_by_rank.get(rank)

    def gpu_of(self, rank: int) -> str | None:
        """The GPU of a rank, ``dddd:bb:dd``."""
        return self.gpu_by_rank.get(rank)

    def is_seen(self, rank: int) -> bool:
        """Whether something that was on the node agrees with the seat of a rank."""
        return rank in self.seen or len(self.seated) == 1

    def rank_of_gpu(self, node: str, gpu: str) -> int | None:
        """The rank on a GPU of a node."""
        return self.rank_by_gpu.get((node, gpu))

    def rank_of_local(self, node: str, local_rank: int) -> int | None:
        """The rank with a local rank on a node."""
        return self.rank_by_local.get((node, local_rank))

    def rank_of_pid(self, node: str, pid: int) -> int | None:
        """The rank of a process."""
        return self.rank_by_pid.get((node, pid))

    def ranks_on(self, node: str) -> list[int]:
        """The ranks of a node, ascending."""
        return sorted(rank for rank, home in self.node_by_rank.items() if home == node)

    def node_of_address(self, text: str) -> str | None:
        """The node that a host name, an alias or an address with or without port means."""
        return name_in(self.aliases, text)

    def find_named_node(self, word: str) -> str | None:
        """The node that a word of a line names; a bare number there is a count, or a device."""
        is_name = any(map(str.isalpha, word)) or word.count(".") == _DOTS_OF_AN_ADDRESS
        return self.node_of_address(word) if is_name else None

    def find_only_named_node(self, text: str) -> str | None:
        """The node of the job that a text names, where it names one."""
        named = {self.find_named_node(word) for word in _NAMES.findall(text)} - {None}
        return named.pop() if len(named) == 1 else None

    def is_called_alike(self, name: str) -> bool:
        """Whether several of the job's nodes are called as ``name`` is, whatever their numbers."""
        return mask_numbers(name) in _collect_forms(self.seated)

    def find_sister(self, text: str) -> str | None:
        """The one node that a text names and that is called as the job's are, but is none of them:
        tlc53g53 beside tlc04g33.
        """
        forms = _collect_forms(self.seated)
        sisters = {
            word.rstrip(".:")
            for word in _NAMES.findall(text)
            if mask_numbers(word.rstrip(".:")) in forms
            and _DEVICE.fullmatch(word) is None
            and self.node_of_address(word) is None
        }
        return sisters.pop() if len(sisters) == 1 else None


@lru_cache(64)
def _collect_forms(names: frozenset[str]) -> frozenset[str]:
    """How several of ``names`` are called, whatever their numbers."""
    return frozenset(form for form, num in Counter(map(mask_numbers, names)).items() if num > 1)


# What a node has several of, and what nodes are called after.
_DEVICE: Final = compile_re(
    r"(?:gpu|cuda|card|dev(?:ice)?|nvme|sd|cpu|rank|eth|ib|ibs|en\w|mlx\d_|hca|cxi|port|lane|link)\d+",
    re.IGNORECASE,
)


class _Claims:
    """What each source says, the first to say it believed."""

    def __init__(self) -> None:
        self.value: dict[int, str] = {}
        self.source: dict[int, str] = {}
        self.contradicted: Counter[tuple[str, str]] = Counter()
        self.example: dict[tuple[str, str], str] = {}
        self.doubtful: set[str] = set()
        self.seen: set[int] = set()

    def add(self, rank: int, value: str, source: str) -> None:
        believed = self.value.setdefault(rank, value)
        first = self.source.setdefault(rank, source)
        if believed != value:
            self.doubtful |= {believed, value}
        elif source != _MAP:
            self.seen.add(rank)
        if believed != value and first != source:
            self.contradicted[first, source] += 1
            self.example.setdefault(
                (first, source), f"rank {rank} is on {believed}, {source} put it on {value}"
            )

    def notes(self) -> list[str]:
        return [
            f"{first}: {self.example[first, other]} ({count} ranks; {first} is believed)"
            for (first, other), count in sorted(self.contradicted.items())
        ]


@dataclass(slots=True)
class _SeatClaims:
    """What all sources say of seats; ``names`` maps any name of a node to the job's own."""

    names: dict[str, str]
    nodes: _Claims = field(default_factory=_Claims)
    gpus: _Claims = field(default_factory=_Claims)
    pids: dict[tuple[str, int], int] = field(default_factory=dict)
    local_ranks: dict[int, int] = field(default_factory=dict)

    def own_name(self, node: str) -> str:
        return name_in(self.names, node) or node

    def add_job(self, job: Job, world: int | None) -> None:
        """The seats that ``job.json`` gives."""
        places = len(job.nodes) * (job.gpus_per_node or 0)
        for rank in {*range(min(places, world or places)), *job.rank_to_node}:
            node, gpu = job.node_of(rank), job.gpu_of(rank)
            if node is not None:
                self.nodes.add(rank, self.own_name(node), _MAP)
            if gpu is not None:
                self.gpus.add(rank, gpu, _MAP)

    def add_addresses(self, rows: Iterable[Evidence], sure: Iterable[str]) -> None:
        """The addresses that nodes print of themselves, as further names; ``sure`` are names of
        nodes.
        """
        names, listed = self.names, {parse_plain_host(node) for node in sure}
        for row in rows:
            address = row.fields.get("address")
            of_another = ACTOR in row.fields and BY_FILE in row.fields
            if address is not None and row.node is not None and not of_another:
                host = parse_plain_host(address)
                # A log may call its node by the address alone, which then stands for itself.
                if names.get(host, host) == host and host not in listed:
                    names[host] = self.own_name(row.node)

    def add_row(self, source: str, row: Evidence, rank: int) -> None:
        """What a line says of the seat of a rank."""
        if row.node is not None:
            node = self.own_name(row.node)
            self.nodes.add(rank, node, source)
            # Of a label that another node contradicts the process is not that rank's either.
            is_its = row.kind is Kind.IDENTITY or self.nodes.value[rank] == node
            if row.pid is not None and is_its:
                self.pids.setdefault((node, row.pid), rank)
        if row.gpu is not None and row.kind is Kind.IDENTITY:
            self.gpus.add(rank, row.gpu, source)
        if row.local_rank is not None:
            self.local_ranks.setdefault(rank, row.local_rank)
        elif row.kind is Kind.IDENTITY and row.cuda_device is not None:
            self.local_ranks.setdefault(rank, row.cuda_device)

    def add_files(self, rows: Sequence[Evidence], job: Job, world: int | None) -> frozenset[str]:
        """What files and the hosts that a writer put before their lines say of the ranks in them;
        the files in which ranks of several nodes speak, of which nothing is believed.
        """
        # The global rank of who prints it, in no line of NCCL or a launcher.
        told = [
            row
            for row in rows
            if row.rank is not None
            and row.node is not None
            and row.count < 1_000_000
            and row.signature != JOINED
            and row.kind is not Kind.ELASTIC
            and (world is None or row.rank < world)
            and not (is_about_another(row) or has_printed_host(row))
        ]
        nodes = {self.own_name(row.node) for row in rows if row.node is not None} | {*job.nodes}
        whole = range(world) if world is not None and len(nodes) > 1 else ()
        known = dict(self.nodes.value)
        gathered = gathered_by_their_lines(rows, self.own_name, job)
        speaking: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
        for row in told:
            if row.artifact not in gathered:
                speaking[row.artifact, row.node or ""].append(row)
        per_node = job.gpus_per_node or (_MOST_ON_A_NODE if world is None else None)
        for artifact, node in sorted(speaking):
            ranks = {row.rank or 0 for row in speaking[artifact, node]}
            homes = {known[rank] for rank in ranks if rank in known}
            too_many = per_node is not None and len(ranks) > per_node
            if len(homes) > 1 or too_many or (len(whole) > 1 and ranks >= set(whole)):
                gathered.add(artifact)
                continue
            for row in speaking[artifact, node]:
                by_file = BY_FILE in row.fields
                source = "the folders of logs" if by_file else "the lines' own prefixes"
                self.add_row(source, row, row.rank or 0)
        return frozenset(gathered)

    def add_looks(self, looks: Sequence[Look], world: int | None) -> None:
        """What NCCL's communicator of all processes says, where nothing above says otherwise; the
        address of a node becomes a further name of it.
        """
        known = dict(self.nodes.value)
        by_pid = {
            (name_in(self.names, node) or node, pid): r for (node, pid), r in self.pids.items()
        }

        def agrees(rank: int, host: str, pid: int) -> bool | None:
            node = name_in(self.names, host)
            if node is None:
                return None
            seated = by_pid.get((node, pid))
            if seated is not None:
                return seated == rank
            return known[rank] == node if rank in known else None

        found = find_world_ranks(looks, world, agrees)
        for host, ranks in found.by_host.items():
            homes = {known[rank] for rank in ranks if rank in known}
            if name_in(self.names, host) is None:
                self.names[parse_plain_host(host)] = homes.pop() if len(homes) == 1 else host
            pids = Counter(found.members[rank].pid for rank in ranks)
            for rank in ranks:
                process = found.members[rank]
                node = known.get(rank) or self.own_name(host)
                self.nodes.value.setdefault(rank, node)
                if node == self.own_name(host):
                    self.nodes.seen.add(rank)
                if process.pid is not None and pids[process.pid] == 1:
                    self.pids.setdefault((node, process.pid), rank)
                gpu = process.gpu if process.nvml_gpu is None else process.nvml_gpu
                if gpu is not None:
                    self.local_ranks.setdefault(rank, gpu)


def resolve(
    evidence: Iterable[Evidence],
    job: Job,
    dump_node_of: Mapping[int, str],
    looks: Sequence[Look] = (),
) -> JobPlacement:
    """The seats, from all sources. ``dump_node_of`` is what folders and names of dumps say;
    ``looks`` are those at the running job.
    """
    everything = list(evidence)
    rows = [
        with_worker_fields(row)
        for row in everything
        if row.node is not None or row.kind in (Kind.IDENTITY, Kind.ELASTIC)
    ]
    sure = [*job.nodes, *job.rank_to_node.values(), *dump_node_of.values()]
    names = map_canonical_names(sure, rows)
    with_pods(names, sure, rows)
    world = job.world_size or find_world_size(rows, dump_node_of) or find_world_of_looks(looks)
    claims = _SeatClaims(names)
    claims.add_job(job, world)
    claims.add_addresses(rows, sure)
    for source, row, rank in _order_claims_by_trust(rows, world):
        if world is None or rank < world:
            claims.add_row(source, row, rank)
    for rank, node in dump_node_of.items():
        claims.nodes.add(rank, claims.own_name(node), "the dumps' folders")
    gathered = claims.add_files(rows, job, world)
    node_by_rank = claims.nodes.value
    fill_by_order(node_by_rank, job, world)
    claims.add_looks(looks, world)
    # A node that others speak of may be any machine.
    speakers = {
        name_in(names, row.node) or row.node
        for row in rows
        if row.node is not None and "said_of" not in row.fields
    }
    notes = fill_by_names(node_by_rank, job, world, speakers)
    # What lost a part of the addresses gives one to several ranks of a node, and maps nobody.
    gpus = claims.gpus.value
    taken = Counter((node_by_rank.get(rank), gpu) for rank, gpu in gpus.items())
    shared = {node for (node, _), count in taken.items() if count > 1 and node is not None}
    claims.gpus.value = {
        rank: gpu for rank, gpu in gpus.items() if node_by_rank.get(rank) not in shared
    }
    per_node = find_ranks_per_node(node_by_rank, job, world)
    layout: tuple[str, ...] = ()
    if per_node:
        layout = _find_common_layout(rows, claims.gpus.value, claims.local_ranks, per_node)
    fleet = _build_placement(claims, job, world, layout)
    fleet.notes = (*fleet.notes, *notes[:_MAX_NOTES])
    # Where one rank is said to sit on two nodes, who sits on either is not sure.
    fleet.seen = frozenset(
        rank
        for rank in claims.nodes.seen
        if fleet.node_by_rank.get(rank) not in claims.nodes.doubtful
    )
    fleet.gathered = gathered
    fleet.only_node = _find_only_node(fleet, job, everything)
    return fleet


def _find_only_node(fleet: JobPlacement, job: Job, everything: Collection[Evidence]) -> str | None:
    """The node of a job of one node: by ``job.json``, else where lines name one host alone, and no
    rank that another node would need.
    """
    named = set(job.nodes) | set(job.rank_to_node.values())
    if len(named) == 1:
        (node,) = named
        # A list of nodes may be cut.
        per_node = job.gpus_per_node or (_MOST_ON_A_NODE if job.nodes else USUAL_RANKS)
        more = (fleet.world_size or 0) > max(len(job.rank_to_node), per_node)
        return None if more else node
    told = [row for row in everything if row.node is not None]
    hosts = {name_in(fleet.aliases, row.node or "") or row.node or "" for row in told}
    if named or len(hosts) != 1 or fleet.seated - hosts:
        return None
    spoken = any(has_printed_host(row) and row.pid is not None for row in told)
    highest = max((row.rank for row in everything if row.rank is not None), default=0)
    world = max(fleet.world_size or 0, highest + 1)
    (host,) = hosts
    seated = len(fleet.ranks_on(host))
    return host if spoken and world <= max(seated, job.gpus_per_node or USUAL_RANKS) else None


def _order_claims_by_trust(
    rows: Sequence[Evidence], world: int | None
) -> list[tuple[str, Evidence, int]]:
    """(source, row, global rank), the more trusted sources first."""
    by_source: dict[str, list[tuple[str, Evidence, int]]] = defaultdict(list)
    for row in rows:
        nranks = row.fields.get("nranks", "")
        for mapped in _expand_rank_map(row):
            by_source["launcher"].append(("the launcher's map", mapped, mapped.rank or 0))
        if row.signature == JOINED:
            if world is not None and nranks == str(world) and row.rank is not None:
                by_source["NCCL"].append(("NCCL's init lines", row, row.rank))
        elif row.rank is not None and row.kind is Kind.ELASTIC:
            by_source["elastic"].append(("torchelastic", row, row.rank))
        elif row.rank is not None and row.count < 1_000_000 and has_printed_host(row):
            by_source["prefix"].append(("the lines' own prefixes", row, row.rank))
    return [*by_source["NCCL"], *by_source["elastic"], *by_source["launcher"], *by_source["prefix"]]


def is_about_another(row: Evidence) -> bool:
    """Whether a line speaks of another node or rank than the one that prints it."""
    return bool({"said_of", "of_rank", "nodes"} & row.fields.keys())


def has_printed_host(row: Evidence) -> bool:
    """Whether the node of a row is the host that the process itself printed: NCCL's, or Ray's."""
    of_nccl = row.kind is Kind.IDENTITY or row.text.startswith(_NCCL_WORDS)
    own = row.kind is Kind.NCCL or (of_nccl and row.pid is not None)
    own = own and row.fields.get("printed_by") != row.node
    return own and BY_FILE not in row.fields and not is_about_another(row)


def with_worker_fields(row: Evidence) -> Evidence:
    """A row of torchelastic or a framework with what its fields say of the failed worker.

    The prefix of such a line is the agent's own, so that the fields count more; a task's label
    before it is never the worker's rank.
    """
    if row.kind not in (Kind.ELASTIC, Kind.IDENTITY) or "nranks" in row.fields:
        return row
    numbers = {
        name: parse_small_number(row.fields.get(name)) for name in ("rank", "local_rank", "pid")
    }
    if numbers["pid"] is None:
        numbers["pid"] = parse_small_number(row.fields.get("worker_pid"))
    given = {name: value for name, value in numbers.items() if value is not None}
    node = row.fields.get("node")
    label = parse_small_number(row.fields.get("task"))
    if row.kind is Kind.ELASTIC and label is not None and row.rank == label:
        row = replace(row, rank=None)
    if not given and node is None:
        return row
    return replace(row, node=node or row.node, **given)  # type: ignore[arg-type]


def parse_small_number(text: str | None) -> int | None:
    """The number that a field is; None for any other text, and for numbers of many digits."""
    return int(text) if text and len(text) <= 10 and text.isascii() and text.isdecimal() else None


def _expand_rank_map(row: Evidence) -> list[Evidence]:
    """One row per rank of a map that a launcher prints."""
    if row.signature == "identity.elastic_ranks" and row.node is not None:
        parts = [(row.node, row.fields.get("global_ranks", ""))]
    elif row.signature == "identity.deepspeed_map":
        parts = _MAPPED.findall(row.fields.get("mapping", ""))
    else:
        return []
    rows = []
    for node, listed in parts:
        ranks = [parse_small_number(word.strip()) for word in listed.split(",")]
        for local_rank, rank in enumerate(ranks):
            if rank is not None:
                rows.append(replace(row, node=node, rank=rank, local_rank=local_rank, pid=None))
    return rows


def find_world_size(rows: Iterable[Evidence], dumps: Iterable[int]) -> int | None:
    """The largest communicator is the world's, unless more ranks than its are known."""
    sizes = [
        int(nranks)
        for row in rows
        if (nranks := row.fields.get("nranks", "")).isdecimal() and len(nranks) <= 7
    ]
    largest = max(sizes, default=None)
    return largest if largest is not None and largest > max(dumps, default=-1) else None


def _find_common_layout(
    rows: Iterable[Evidence],
    gpus: Mapping[int, str],
    local_ranks: Mapping[int, int],
    per_node: int,
) -> tuple[str, ...]:
    """The addresses of a node's GPUs by local rank; empty where that is not known, or where a
    rank that is told sits elsewhere.
    """
    seen = {row.gpu for row in rows if row.gpu is not None and row.family in _OF_GPUS}
    layout = infer_layout(seen | set(gpus.values()), per_node)
    by_local = (
        (local_ranks.get(rank, rank % per_node), gpu) for rank, gpu in gpus.items() if layout
    )
    if any(place >= per_node or layout[place] != gpu for place, gpu in by_local):
        return ()
    return layout


def _build_placement(
    claims: _SeatClaims, job: Job, world: int | None, layout: Sequence[str]
) -> JobPlacement:
    """The seats that were believed; ``layout`` is :func:`common_layout`."""
    fleet = JobPlacement(
        node_by_rank=dict(sorted(claims.nodes.value.items())),
        rank_by_pid=claims.pids,
        aliases=dict(claims.names),
        world_size=world,
    )
    on_node: dict[str, list[int]] = defaultdict(list)
    for rank, node in fleet.node_by_rank.items():
        on_node[node].append(rank)
    for node, ranks in on_node.items():
        # The order of addresses is that of ranks where none of the node's is missing.
        buses = job.gpu_bus_ids.get(node, layout if len(ranks) == len(layout) else ())
        for place, rank in enumerate(ranks):
            local = claims.local_ranks.get(rank, place)
            fleet.local_by_rank[rank] = local
            fleet.rank_by_local.setdefault((node, local), rank)
            gpu = claims.gpus.value.get(rank) or (buses[local] if local < len(buses) else None)
            if gpu is not None:
                fleet.gpu_by_rank[rank] = gpu
                fleet.rank_by_gpu.setdefault((node, gpu), rank)
    fleet.nodes = tuple(sorted({*job.nodes, *on_node, *filter(None, claims.names.values())}))
    fleet.seated = frozenset({*job.nodes, *on_node})
    notes = [*claims.nodes.notes(), *claims.gpus.notes()]
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"and {len(notes) - _MAX_NOTES} more disagreements about seats"]
    fleet.notes = tuple(notes)
    return fleet
