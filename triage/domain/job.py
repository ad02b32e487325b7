"""Which rank sits on which node and GPU, as far as anything says it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.domain.restart import EarlierEnd, EarlierStarts, parse_restarts, read_seconds
from triage.domain.standing import Prior

# "00000000:1B:00.0", "0000:1b:00.0", "1b:00"
_BUS_ID = compile_re(
    r"(?:(?P<domain>[0-9a-fA-F]{4,8}):)?(?P<bus>[0-9a-fA-F]{2}):(?P<device>[0-9a-fA-F]{2})"
    r"(?:\.[0-9a-fA-F])?"
)


@dataclass(frozen=True, slots=True)
class Job:
    """The contents of ``job.json``; whatever is absent or unusable is None or empty.

    ``standings`` and ``earlier_ends`` are what no ``job.json`` can say: what the service's own
    record knows of nodes beforehand, and of how earlier starts of the job ended, newest first.
    ``restarts`` is how often it was started again, ``ran_s`` how long its newest start ran.
    """

    job_id: str | None = None
    world_size: int | None = None
    gpus_per_node: int | None = None
    nodes: tuple[str, ...] = ()
    rank_to_node: dict[int, str] = field(default_factory=dict)
    gpu_bus_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    leaf_switch: dict[str, str] = field(default_factory=dict)
    failed_at: str | None = None
    exit_code: int | None = None
    problems: tuple[str, ...] = ()
    standings: dict[str, Prior] = field(default_factory=dict)
    restarts: int | None = None
    ran_s: float | None = None
    started_at: str | None = None
    earlier_ends: tuple[EarlierEnd, ...] = ()
    _mates: dict[str, dict[int, int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Node -> rank -> its place among the mapped ranks there; made when first asked for."""

    @property
    def failed_at_ns(self) -> int | None:
        """``failed_at`` in ns since the epoch; UTC where it names no zone, None for no time."""
        at_s = parse_seconds(self.failed_at)
        return None if at_s is None else int(at_s * 1e9)

    @property
    def started_at_ns(self) -> int | None:
        """``started_at`` in ns since the epoch; UTC where it names no zone, None for no time, and
        where it lies behind the end.
        """
        at_s = None if self.ran_s is None and self.failed_at_ns else parse_seconds(self.started_at)
        return None if at_s is None else int(at_s * 1e9)

    @property
    def started_in_a_zone(self) -> bool:
        """Whether ``started_at`` names its zone."""
        return _has_zone(self.started_at)

    @property
    def failed_in_a_zone(self) -> bool:
        """Whether ``failed_at`` names its zone."""
        return _has_zone(self.failed_at)

    @property
    def starts(self) -> EarlierStarts:
        """What is known of the starts of the job before this one."""
        return EarlierStarts(self.restarts, self.ran_s, self.earlier_ends)

    def with_record(self, standings: Mapping[str, Prior], starts: EarlierStarts) -> "Job":
        """The facts with what our own record knew at the first answer."""
        return replace(
            self,
            standings=dict(standings),
            restarts=self.restarts if starts.restarts is None else starts.restarts,
            ran_s=self.ran_s if starts.ran_s is None else starts.ran_s,
            earlier_ends=starts.ends,
        )

    def without_ranks(self) -> "Job":
        """The facts without what they say of ranks: of other ranks than those in question."""
        return replace(self, world_size=None, gpus_per_node=None, rank_to_node={})

    def node_of(self, rank: int) -> str | None:
        """The node of a rank: the explicit map first, then the order of nodes."""
        if rank in self.rank_to_node:
            return self.rank_to_node[rank]
        if self.nodes and self.gpus_per_node:
            index = rank // self.gpus_per_node
            return self.nodes[index] if index < len(self.nodes) else None
        return None

    def gpu_of(self, rank: int) -> str | None:
        """The GPU of a rank as ``dddd:bb:dd``, where local rank and bus ids are known."""
        node = self.node_of(rank)
        if node is None or self.gpus_per_node is None or rank in self.rank_to_node:
            local = self.local_rank(rank, node)
        else:
            local = rank % self.gpus_per_node
        buses = self.gpu_bus_ids.get(node or "", ())
        return buses[local] if local is not None and local < len(buses) else None

    def local_rank(self, rank: int, node: str | None) -> int | None:
        """The place of a rank among the mapped ranks of its node."""
        if node is None:
            return None
        if not self._mates:
            for other in sorted(self.rank_to_node):
                mates = self._mates.setdefault(self.rank_to_node[other], {})
                mates[other] = len(mates)
        return self._mates.get(node, {}).get(rank)


def normalize_bus_id(text: str) -> str | None:
    """A PCI bus id as ``dddd:bb:dd`` in lower case; None when it is none."""
    match = _BUS_ID.fullmatch(text.strip())
    if match is None:
        return None
    domain = int(match["domain"] or "0", 16) & 0xFFFF
    return f"{domain:04x}:{match['bus'].lower()}:{match['device'].lower()}"


def parse_seconds(text: object) -> float | None:
    """A time in seconds since the epoch; UTC where it names no zone, None for what is no time."""
    try:
        moment = datetime.fromisoformat(text.strip() if isinstance(text, str) else "")
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (OverflowError, ValueError):
        return None


def _has_zone(text: str | None) -> bool:
    """Whether a time says of which zone it is."""
    try:
        return datetime.fromisoformat((text or "").strip()).tzinfo is not None
    except ValueError:
        return False


# How often the job was started again before: our name, a plain one, Slurm's, torchrun's.
_RESTART_COUNTS: Final = (
    "attempt", "restart_count", "SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT",
)  # fmt: skip


def _get_positive(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 10_000_000:
        return value
    return None


def _list_names(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(one for one in value if isinstance(one, str) and 0 < len(one) <= 256)
    return ()


def list_unreadable(raw: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a ``job.json`` that cannot be read as they are: field -> why, as a clause."""
    readable: dict[str, tuple[bool, str]] = {
        **{
            key: (_get_positive(raw.get(key)) is not None, "is no positive integer")
            for key in ("world_size", "gpus_per_node")
        },
        "nodes": (isinstance(raw.get("nodes"), list), "is no list of names"),
        **{
            key: (isinstance(raw.get(key), dict), "is no object")
            for key in ("rank_to_node", "gpu_bus_ids", "leaf_switch")
        },
    }
    return {
        key: why
        for key, (can_be_read, why) in readable.items()
        if raw.get(key) is not None and not can_be_read
    }


def make_job(raw: dict[str, Any]) -> Job:
    """``job.json`` as a :class:`Job`. Unusable values are named in ``problems``, never fatal."""
    problems = [
        f'job.json: "{key}" {why} and is not used' for key, why in list_unreadable(raw).items()
    ]
    rank_to_node: dict[int, str] = {}
    table = raw.get("rank_to_node")
    for key, node in table.items() if isinstance(table, dict) else ():
        if re.fullmatch("[0-9]{1,7}", str(key)) and isinstance(node, str) and node:
            rank_to_node[int(key)] = node[:256]
        else:
            problems.append('job.json: "rank_to_node" holds a row that is no rank and node')
    buses = raw.get("gpu_bus_ids")
    gpu_bus_ids = {
        node: tuple(normalize_bus_id(one) or one[:40] for one in _list_names(listed))
        for node, listed in (buses.items() if isinstance(buses, dict) else ())
    }
    leaves = raw.get("leaf_switch")
    job_id = raw.get("job_id")
    exit_code = raw.get("exit_code")
    failed_at, started_at = raw.get("failed_at"), raw.get("started_at")
    start, end = parse_seconds(started_at), parse_seconds(failed_at)
    # A name of an attempt is no count of restarts.
    counts = [parse_restarts(raw.get(key)) for key in _RESTART_COUNTS]
    return Job(
        job_id=str(job_id)[:256] if isinstance(job_id, str | int) else None,
        world_size=_get_positive(raw.get("world_size")),
        gpus_per_node=_get_positive(raw.get("gpus_per_node")),
        nodes=_list_names(raw.get("nodes")),
        rank_to_node=rank_to_node,
        gpu_bus_ids=gpu_bus_ids,
        leaf_switch={
            node: leaf
            for node, leaf in (leaves.items() if isinstance(leaves, dict) else ())
            if isinstance(leaf, str)
        },
        failed_at=failed_at if isinstance(failed_at, str) else None,
        exit_code=exit_code if type(exit_code) is int else None,
        restarts=max((count for count in counts if count is not None), default=None),
        # Nothing where clocks contradict each other.
        ran_s=None if start is None or end is None else read_seconds(end - start),
        started_at=started_at if isinstance(started_at, str) else None,
        problems=tuple(dict.fromkeys(problems)),
    )
