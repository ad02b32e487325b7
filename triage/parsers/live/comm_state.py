r"""What the NCCL of Meta and of ROCm write of one rank's communicators and transfers.

NCCLX's ``nccl_comm_state`` is what its communicators did and do, with its proxy's steps; also of
ROCm's builds with NCCL_COMM_DUMP. It stands in a flight-recorder dump, as texts that are
JSON again (NCCLX and rcclx, 2026)::

    {"nccl_comm_state": {"0x1f": {"commHash": "1f", "rank": "3", "nRanks": "4",
      "commDesc": "\"default_pg\"", "CT_pastColls": "[{\"opCount\": 41, ...}]",
      "CT_currentColls": "[{\"opCount\": 42, ...}]", "PT_activeOps": "[...]"}}, "entries": []}

A rank without the operation that its peers are in has not launched it. An active receive that got
nothing names the silent sender.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from triage.domain.live.communicator import Communicator, CommunicatorRank, Waiting, WaitReason
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.patterns import compile_re
from triage.errors import ArtifactError, Corrupt
from triage.parsers.live.foreign_values import (
    convert_to_ns,
    get_finite_number,
    get_json_object,
    hash_number,
    iterate_json_objects,
    limit_text,
    parse_json_value,
    parse_whole_number,
)

_MAX_COMMUNICATORS: Final = 4096
_MAX_OPERATIONS: Final = 4096
# "ncclx_rank_2.json", "comm_lib_trace_rank_12"
_NAMED_RANK: Final = compile_re(r"rank[_-]?(\d{1,7})(?:\.[^/]*)?$", re.IGNORECASE)
# Calls of one rank alone, which do not come on every member.
_PAIRED: Final = compile_re(r"send|recv|p2p", re.IGNORECASE)
_WORLD: Final = "default_pg"
_US: Final = 1000


class _StateOfOne(NamedTuple):
    """One communicator as its process tells it: its keys, and the texts that are JSON again."""

    hash: int
    rank: int
    size: int
    name: str
    values: dict[str, Any]

    def listed(self, key: str) -> list[dict[str, Any]]:
        """The objects of a text that is JSON again. Raises :class:`Corrupt` for one that is cut."""
        text = self.values.get(key)
        value = parse_json_value(text) if isinstance(text, str) else text
        return list(iterate_json_objects(value, _MAX_OPERATIONS))


def read_comm_state(text: str, artifact: str) -> Sequence[Look]:
    """One look at one process. Raises :class:`ArtifactError` where it holds no communicator."""
    states = get_json_object(get_json_object(parse_json_value(text)).get("nccl_comm_state"))
    told = list(_iterate_identified_states(states))
    if not told:
        raise Corrupt('no communicator can be read in "nccl_comm_state"')
    # The global rank is that in the communicator of all processes, else the file's name tells it.
    named = _NAMED_RANK.search(artifact)
    ranks = (state.rank for state in told if state.name.startswith(_WORLD))
    process = Process(rank=next(ranks, int(named[1]) if named else None))
    communicators: list[Communicator] = []
    waiting: list[Waiting] = []
    partial: str | None = None
    for state in told:
        try:
            communicators.append(_build_communicator(state, process))
            waiting += _iterate_waits(state, process)
        except ArtifactError as error:
            partial = f"communicator {state.hash:x}: {error}"
    return (
        Look(
            artifact,
            Tool.COMM_STATE,
            communicators=tuple(communicators),
            waiting=tuple(waiting),
            partial=partial,
        ),
    )


def _iterate_identified_states(states: dict[str, Any]) -> Iterator[_StateOfOne]:
    """The communicators that say who they are, by their hash."""
    for key in sorted(states)[:_MAX_COMMUNICATORS]:
        one = get_json_object(states[key])
        number = hash_number(one.get("commHash") or key, 16)
        rank, size = parse_whole_number(one.get("rank")), parse_whole_number(one.get("nRanks"))
        if number is not None and rank is not None and size is not None and 0 <= rank < size:
            name = limit_text(one.get("commDesc")).strip('"')
            yield _StateOfOne(number, rank, size, name, one)


def _build_communicator(state: _StateOfOne, process: Process) -> Communicator:
    """How far the rank came: the numbers of the last operation that it launched and completed."""
    past, current, pending = (
        _list_collective_numbers(state.listed(f"CT_{which}Colls"))
        for which in ("past", "current", "pending")
    )
    recorded = "CT_pastColls" in state.values
    member = CommunicatorRank(
        state.rank,
        process,
        launched={"all": max([*past, *current, *pending], default=-1) + 1} if recorded else None,
        completed={"all": max(past, default=-1) + 1} if recorded else None,
    )
    return Communicator(state.hash, state.size, (member,), name=state.name)


def _list_collective_numbers(operations: Sequence[dict[str, Any]]) -> list[int]:
    """The numbers of collectives, from 0."""
    return [
        number
        for one in operations
        if (number := parse_whole_number(one.get("opCount", one.get("collId")))) is not None
        and number >= 0
        and not _PAIRED.search(limit_text(one.get("coll")))
    ]


def _iterate_waits(state: _StateOfOne, process: Process) -> Iterator[Waiting]:
    """What the proxy's unfinished transfers wait for."""
    for one in state.listed("PT_activeOps"):
        peer = parse_whole_number(one.get("remoteRank"))
        direction = limit_text(one.get("opType")).upper()
        reason = _find_wait_reason(one, direction)
        if reason is None or peer is None:
            continue
        number = parse_whole_number(one.get("opCount"))
        operation = (
            f"{direction} of {limit_text(one.get('coll'))} {'' if number is None else number}"
        )
        stamps = [get_finite_number(one.get("startTs"))]
        stamps += [get_finite_number(get_json_object(one.get(name)).get("ts")) for name in _STAGES]
        last_us = max((ts for ts in stamps if ts is not None and ts > 0), default=None)
        yield Waiting(
            state.hash,
            state.rank,
            process,
            reason,
            None if reason is WaitReason.OWN_DEVICE else peer,
            operation.strip(),
            convert_to_ns(last_us, _US),
        )


_STAGES: Final = ("POSTED", "REM_FIFO_WAIT", "RECEIVED", "TRANSMITTED", "DONE")


def _find_wait_reason(operation: dict[str, Any], direction: str) -> WaitReason | None:
    """Whose turn it is, by the stage at which the steps pile up; None for what is over."""
    step = {
        name: parse_whole_number(get_json_object(operation.get(name)).get("step")) or 0
        for name in _STAGES
    }
    steps = parse_whole_number(operation.get("nSteps")) or 0
    if limit_text(operation.get("status")).upper() == "DONE" or 0 < steps <= step["DONE"]:
        return None
    if direction == "RECV":
        if step["RECEIVED"] < step["POSTED"]:
            return WaitReason.WIRE if step["RECEIVED"] else WaitReason.PEER
        return WaitReason.OWN_DEVICE if step["RECEIVED"] > step["DONE"] else None
    if direction != "SEND":
        return None
    if step["TRANSMITTED"] > step["DONE"]:
        return WaitReason.WIRE
    if step["REM_FIFO_WAIT"] > step["TRANSMITTED"]:
        return WaitReason.PEER
    return WaitReason.OWN_DEVICE if step["POSTED"] > step["TRANSMITTED"] else None


# RCCL's proxy trace: the transfers in flight of one process, printed as communicators are dumped.
#
# ``RCCL_ENABLE_PROXY_TRACE=1`` (ROCm 7; a variant before it spells ``postT`` as ``pot``)::
#
#     gpu-7:812:899 [1] commDump.cc:22 NCCL WARN ncclCommDump() ProxyTrace:
#     createT:1790000067112, lastT:1790000067113, postT:1790000067113, sendT:1790000067114, cntNm:1,
#       <81985529216486895:42:7>, [fu,pr,pa,tb,ck]:412,2,0,64,32, 3->2(R), chan:0, status:RECEIVING,
#       ns:16, nb:32, po:8, ke:0, ..., recvT:0, connSz/h:-1, trans:0, flushed:0, recvd:0, done:0
#
# (one line each). In ``<hash:operation:transfer>`` the hash is decimal; ``3->2(R)`` is own rank,
# peer, and R for receive: own rank 3 waits for data of rank 2.

_MAX_TRANSFERS: Final = 65_536
_MAX_LINE: Final = 4096
TRANSFER_LINE: Final = compile_re(r"createT:\d{1,16}, ?lastT:\d{1,16}, ")
_OPERATION: Final = compile_re(r"<(\d{1,20}):(\d{1,20}):\d{1,20}>")
_ENDS: Final = compile_re(r" (\d{1,7})->(\d{1,7})\(([SR])\)")
_FIELD: Final = compile_re(r"\b(status|lastT|recvT):(\w{1,24})")
# "gpu-7:812:899 [1] commDump.cc:22 NCCL WARN ..."
_SPEAKER: Final = compile_re(r"([\w.-]{1,253}):(\d{1,10}):\d{1,10} \[(\d{1,4})\] .{0,200}NCCL WARN")
_MS: Final = 1_000_000


def read_proxy_trace(text: str, artifact: str) -> Sequence[Look]:
    """One look. Raises :class:`Corrupt` where no transfer can be read."""
    waiting: list[Waiting] = []
    process = Process()
    transfers = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:_MAX_LINE]
        if (speaker := _SPEAKER.search(line)) is not None:
            process = Process(
                host=speaker[1].lstrip("[").rstrip(":"), pid=int(speaker[2]), gpu=int(speaker[3])
            )
        if "createT:" not in line or TRANSFER_LINE.search(line) is None:
            continue
        transfers += 1
        if transfers > _MAX_TRANSFERS:
            break
        found = _parse_waiting(line, number, process)
        if found is not None:
            waiting.append(found)
    if not transfers:
        raise Corrupt("no transfer in what begins like a proxy trace")
    partial = f"more than {_MAX_TRANSFERS:,} transfers" if transfers > _MAX_TRANSFERS else None
    return (Look(artifact, Tool.PROXY_TRACE, waiting=tuple(waiting), partial=partial),)


def _parse_waiting(line: str, number: int, process: Process) -> Waiting | None:
    """What one transfer waits for; None for one that is done or cut."""
    operation, ends = _OPERATION.search(line), _ENDS.search(line)
    fields = dict(_FIELD.findall(line))
    if operation is None or ends is None:
        return None
    received = (parse_whole_number(fields.get("recvT")) or 0) > 0
    # Whose turn it is. A receive that got nothing waits for the sender, whatever the wire does.
    reason = {
        "RECEIVING": WaitReason.WIRE if received else WaitReason.PEER,
        "SENDING": WaitReason.WIRE,
        "POSTING": WaitReason.PEER if ends[3] == "S" else None,
        "WAITING_GPU": WaitReason.OWN_DEVICE,
        "FLUSHING": WaitReason.OWN_DEVICE,
    }.get(fields.get("status", ""))
    if reason is None:
        return None
    return Waiting(
        hash=int(operation[1]) & ((1 << 64) - 1),
        rank=int(ends[1]),
        process=process,
        reason=reason,
        peer=None if reason is WaitReason.OWN_DEVICE else int(ends[2]),
        operation=f"{'RECV' if ends[3] == 'R' else 'SEND'} of operation {int(operation[2])}",
        since_ns=convert_to_ns(parse_whole_number(fields.get("lastT")), _MS),
        line=number,
    )


# RCCL's replay log: every call of one process, written before it runs.
#
# ``RCCL_REPLAY_FILE=run.json`` (ROCm 7) writes ``run.<pid>.<host>.json``, which is no JSON::
#
#   {
#     version : 1,
#     CommInitDev : [comm : 0x7f20, size : 4, uniqueID : 1027, rank : 3, dev : 1, context : [...]],
#     AllReduce : [opCount : 2a, sendbuff : [...], ..., comm : 0x7f20, nranks : 4, stream : 0x55,
#       task : 0, globalrank : 3, context : [time : 1790000042.5, thread : 7, device : 1, ...]]
#
# (one line each). ``opCount`` is hexadecimal and ``uniqueID`` the same on all ranks. The last call
# of a communicator is how far this rank's host came; nothing says what completed.

_CALL: Final = compile_re(r"[\s{},]{0,20}([A-Za-z]{3,40}) : \[")
_CALL_FIELD: Final = compile_re(
    r"\b(opCount|comm|size|uniqueID|rank|nranks|globalrank|device|dev) : (\w+)"
)
_NAMED: Final = compile_re(r"\.(\d{1,10})\.([^/]{1,253})\.json(?:\.(?:gz|zst|xz|bz2))?$")
_PAIRED_CALLS: Final = frozenset({"send", "recv"})


@dataclass(slots=True)
class _CallsOfOne:
    """One communicator of this process, and the last call on it."""

    unique: int | None = None
    rank: int | None = None
    size: int = 0
    launched: int = 0
    line: int = 0


@dataclass(slots=True)
class _CallsSoFar:
    """What the lines have said: communicators by their pointer, and who this is."""

    by_pointer: dict[str, _CallsOfOne] = field(default_factory=dict)
    rank: int | None = None
    device: int | None = None
    calls: int = 0
    truncated: bool = False


def read_replay(text: str, artifact: str) -> Sequence[Look]:
    """One look at one process. Raises :class:`Corrupt` where no call can be read."""
    known = _CallsSoFar()
    for number, line in enumerate(text.split("\n"), 1):
        call = _CALL.match(line[:_MAX_LINE])
        if call is not None:
            _add_call(known, call[1], dict(_CALL_FIELD.findall(line[:_MAX_LINE])), number)
    if not known.calls:
        raise Corrupt("no call in what begins like RCCL's replay log")
    named = _NAMED.search(artifact)
    process = Process(
        rank=known.rank,
        host=named[2] if named else None,
        pid=int(named[1]) if named else None,
        gpu=known.device,
    )
    communicators = [
        Communicator(
            one.unique,
            one.size,
            (CommunicatorRank(one.rank, process, launched={"all": one.launched}, line=one.line),),
        )
        for one in known.by_pointer.values()
        if one.unique is not None and one.rank is not None and one.rank < one.size
    ]
    partial = f"more than {_MAX_COMMUNICATORS:,} communicators" if known.truncated else None
    return (Look(artifact, Tool.REPLAY, communicators=tuple(communicators), partial=partial),)


def _add_call(known: _CallsSoFar, name: str, fields: dict[str, str], line: int) -> None:
    """One call of the process."""
    known.calls += 1
    pointer = fields.get("comm")
    if name.startswith("CommInit"):
        # A communicator is made by the call that prints its pointer, behind the one with its rank.
        if pointer is None or (unique := hash_number(fields.get("uniqueID"))) is None:
            return
        if pointer not in known.by_pointer and len(known.by_pointer) >= _MAX_COMMUNICATORS:
            known.truncated = True
            return
        known.by_pointer[pointer] = _CallsOfOne(
            unique, _number(fields.get("rank")), _number(fields.get("size")) or 0, line=line
        )
        return
    rank = _number(fields.get("globalrank"))
    known.rank = known.rank if rank is None else rank
    device = _number(fields.get("device"))
    known.device = known.device if device is None else device
    one = known.by_pointer.get(pointer or "")
    count = _number(fields.get("opCount"), 16)
    if one is not None and count is not None and name.lower() not in _PAIRED_CALLS:
        one.launched = max(one.launched, count + 1)
        one.line = line


def _number(text: str | None, base: int = 10) -> int | None:
    """The number that a field is; None for any other text."""
    value = parse_whole_number(text, base)
    return value if value is not None and value >= 0 else None
