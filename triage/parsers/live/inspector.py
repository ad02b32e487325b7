"""NCCL Inspector's log: the completed operations of one process, and how long their kernels ran.

``<host>-pid<pid>.log``, one object a line (NCCL 2.28 to 2.30, formats v4.0 to v5; a later one
prints the header once, before its records)::

    {"header": {"id": "0x1f", "comm_name": "default_pg", "rank": 2, "n_ranks": 4, "nnodes": 2},
     "metadata": {"dump_timestamp_us": 1790000041000000, "hostname": "gpu-7", "pid": 812, ...},
     "coll_perf": {"coll": "AllReduce", "coll_sn": 36, "coll_exec_time_us": 1494,
      "coll_timing_source": "kernel_gpu", ...}}

Kernels of the ranks that came first spin until the last one comes: the shortest kernel is the
late rank's. A number that is missing is no missing operation: small ones are left out, and the
ring overwrites what was not written yet. Times of the host (``collective_cpu``) say nothing of
kernels and are left out.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.errors import Corrupt
from triage.parsers.live.foreign_values import (
    get_finite_number,
    get_json_object,
    iterate_json_lines,
    limit_text,
    parse_whole_number,
)

_MAX_LINE: Final = 256 << 10
_MAX_SERIES: Final = 8192
# The newest operations of each function are enough to tell who is late, and since when.
_MAX_TIMES: Final = 512
_KERNEL: Final = frozenset({"kernel_gpu", "kernel_cpu"})
_WORLD: Final = "default_pg"
_US: Final = 1000
# In the year 2262 a count of ns has no room in 64 bits any more.
_MAX_US: Final = (1 << 63) // _US


@dataclass(slots=True)
class _FunctionTimes:
    """The operations of one function on one communicator: last number, and times by number."""

    header: dict[str, Any]
    process: Process
    line: int
    last: int = -1
    times: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_MAX_TIMES))


@dataclass(slots=True)
class _RecordsSoFar:
    """What the lines have said so far."""

    series: dict[tuple[int, int, str], _FunctionTimes] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    last_us: int = 0
    records: int = 0
    unread: int = 0


def read_inspector(text: str, artifact: str) -> Sequence[Look]:
    """One look at one process. Raises :class:`Corrupt` where no record can be read."""
    known = _RecordsSoFar()
    for number, value in iterate_json_lines(text, _MAX_LINE):
        if value is None:
            known.unread += 1
        else:
            _add_record(known, value, number)
    if not known.records:
        raise Corrupt("no record in what begins like a log of NCCL Inspector")
    stamp = Stamp(wall_ns=known.last_us * _US, zone_s=0) if known.last_us else NO_STAMP
    return (
        Look(
            artifact,
            Tool.INSPECTOR,
            stamp,
            communicators=tuple(
                _build_function_communicator(key, one) for key, one in known.series.items()
            ),
            partial=f"{known.unread:,} lines are no record" if known.unread else None,
        ),
    )


def _add_record(known: _RecordsSoFar, value: dict[str, Any], line: int) -> None:
    """One line: a header, a record, or both."""
    inner = get_json_object(value.get("dump_stats"))
    header, metadata = (value.get(key) or inner.get(key) for key in ("header", "metadata"))
    known.header = get_json_object(header) or known.header
    known.metadata = get_json_object(metadata) or known.metadata
    at_us = parse_whole_number(known.metadata.get("dump_timestamp_us"), most=_MAX_US)
    known.last_us = max(known.last_us, at_us or 0)
    record = get_json_object(value.get("coll_perf"))
    if record or "p2p_perf" in value:
        known.records += 1
    function = limit_text(record.get("coll"))[:40].lower()
    number = parse_whole_number(record.get("coll_sn"))
    # The hash has 64 bits without a sign.
    key_hash = parse_whole_number(known.header.get("id"), 16, 1 << 64)
    rank, size = (parse_whole_number(known.header.get(key)) for key in ("rank", "n_ranks"))
    if key_hash is None or rank is None or size is None or key_hash < 0 or not 0 <= rank < size:
        return
    if not function or number is None or number < 0:
        return
    key = (key_hash, rank, function)
    if key not in known.series and len(known.series) < _MAX_SERIES:
        # Its rank is global in the communicator of all processes alone.
        world = limit_text(known.header.get("comm_name")).startswith(_WORLD)
        host = limit_text(known.metadata.get("hostname")) or None
        pid = parse_whole_number(known.metadata.get("pid"))
        process = Process(rank=rank if world else None, host=host, pid=pid)
        known.series[key] = _FunctionTimes(known.header, process, line)
    one = known.series.get(key)
    if one is None:
        return
    one.last = max(one.last, number)
    took = get_finite_number(record.get("coll_exec_time_us"))
    if took is not None and took > 0 and record.get("coll_timing_source") in _KERNEL:
        one.times.append((number, took))


def _build_function_communicator(key: tuple[int, int, str], one: _FunctionTimes) -> Communicator:
    key_hash, rank, function = key
    times = dict(one.times)  # of a number that came twice, the later
    return Communicator(
        key_hash,
        parse_whole_number(one.header.get("n_ranks")) or 0,
        (CommunicatorRank(rank, one.process, completed={function: one.last + 1}, line=one.line),),
        name=limit_text(one.header.get("comm_name")),
        line=one.line,
        durations_us={rank: tuple(times[number] for number in sorted(times))},
        function=function,
        numbers={rank: tuple(sorted(times))},
    )
