r"""NCCLX's ``nccl_comm_state``: what one rank's communicators did and do, with its proxy's steps.

Also of ROCm's builds with NCCL_COMM_DUMP. It stands in a flight-recorder dump, as texts that are
JSON again (NCCLX and rcclx, 2026)::

    {"nccl_comm_state": {"0x1f": {"commHash": "1f", "rank": "3", "nRanks": "4",
      "commDesc": "\"default_pg\"", "CT_pastColls": "[{\"opCount\": 41, ...}]",
      "CT_currentColls": "[{\"opCount\": 42, ...}]", "PT_activeOps": "[...]"}}, "entries": []}

A rank without the operation that its peers are in has not launched it. An active receive that got
nothing names the silent sender.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from triage.domain.live.communicator import Communicator, CommunicatorRank, Waiting, WaitReason
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.errors import ArtifactError, Corrupt
from triage.parsers.live.foreign_values import (
    bounded_text,
    hash_number,
    json_value,
    nanoseconds,
    number_of,
    rows_of,
    table_of,
    whole_number,
)

_MAX_COMMUNICATORS: Final = 4096
_MAX_OPERATIONS: Final = 4096
# "ncclx_rank_2.json", "comm_lib_trace_rank_12"
_NAMED_RANK: Final = re.compile(r"rank[_-]?(\d{1,7})(?:\.[^/]*)?$", re.IGNORECASE)
# Calls of one rank alone, which do not come on every member.
_PAIRED: Final = re.compile(r"send|recv|p2p", re.IGNORECASE)
_WORLD: Final = "default_pg"
_US: Final = 1000


@dataclass(frozen=True, slots=True)
class _StateOfOne:
    """One communicator as its process tells it: its keys, and the texts that are JSON again."""

    hash: int
    rank: int
    size: int
    name: str
    values: dict[str, Any]

    def listed(self, key: str) -> list[dict[str, Any]]:
        """The objects of a text that is JSON again. Raises :class:`Corrupt` for one that is cut."""
        text = self.values.get(key)
        value = json_value(text) if isinstance(text, str) else text
        return list(rows_of(value, _MAX_OPERATIONS))


def looks_of_comm_state(text: str, artifact: str) -> Sequence[Look]:
    """One look at one process. Raises :class:`ArtifactError` where it holds no communicator."""
    states = table_of(table_of(json_value(text)).get("nccl_comm_state"))
    told = list(_told_states(states))
    if not told:
        raise Corrupt('no communicator can be read in "nccl_comm_state"')
    process = Process(rank=_world_rank(told, artifact))
    communicators: list[Communicator] = []
    waiting: list[Waiting] = []
    partial: str | None = None
    for state in told:
        try:
            communicators.append(_communicator_of(state, process))
            waiting += _waits_of(state, process)
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


def _told_states(states: dict[str, Any]) -> Iterator[_StateOfOne]:
    """The communicators that say who they are, by their hash."""
    for key in sorted(states)[:_MAX_COMMUNICATORS]:
        one = table_of(states[key])
        number = hash_number(one.get("commHash") or key, 16)
        rank, size = whole_number(one.get("rank")), whole_number(one.get("nRanks"))
        if number is not None and rank is not None and size is not None and 0 <= rank < size:
            name = bounded_text(one.get("commDesc")).strip('"')
            yield _StateOfOne(number, rank, size, name, one)


def _world_rank(states: Sequence[_StateOfOne], artifact: str) -> int | None:
    """The global rank: that in the communicator of all processes, else the file's name."""
    world = next((one.rank for one in states if one.name.startswith(_WORLD)), None)
    if world is not None:
        return world
    named = _NAMED_RANK.search(artifact)
    return int(named[1]) if named else None


def _communicator_of(state: _StateOfOne, process: Process) -> Communicator:
    """How far the rank came: the numbers of the last operation that it launched and completed."""
    past = _numbers_of(state.listed("CT_pastColls"))
    begun = _numbers_of([*state.listed("CT_currentColls"), *state.listed("CT_pendingColls")])
    recorded = "CT_pastColls" in state.values
    member = CommunicatorRank(
        state.rank,
        process,
        launched={"all": max([*past, *begun], default=-1) + 1} if recorded else None,
        completed={"all": max(past, default=-1) + 1} if recorded else None,
    )
    return Communicator(state.hash, state.size, (member,), name=state.name)


def _numbers_of(operations: Sequence[dict[str, Any]]) -> list[int]:
    """The numbers of collectives, from 0."""
    found = []
    for one in operations:
        number = whole_number(one.get("opCount", one.get("collId")))
        if number is not None and number >= 0 and not _PAIRED.search(bounded_text(one.get("coll"))):
            found.append(number)
    return found


def _waits_of(state: _StateOfOne, process: Process) -> Iterator[Waiting]:
    """What the proxy's unfinished transfers wait for."""
    for one in state.listed("PT_activeOps"):
        peer = whole_number(one.get("remoteRank"))
        direction = bounded_text(one.get("opType")).upper()
        reason = _reason_of(one, direction)
        if reason is None or peer is None:
            continue
        operation = f"{direction} of {bounded_text(one.get('coll'))} {_number_text(one)}"
        stamps = [number_of(one.get("startTs"))]
        stamps += [number_of(table_of(one.get(name)).get("ts")) for name in _STAGES]
        last_us = max((ts for ts in stamps if ts is not None and ts > 0), default=None)
        yield Waiting(
            state.hash,
            state.rank,
            process,
            reason,
            None if reason is WaitReason.OWN_DEVICE else peer,
            operation.strip(),
            nanoseconds(last_us, _US),
        )


_STAGES: Final = ("POSTED", "REM_FIFO_WAIT", "RECEIVED", "TRANSMITTED", "DONE")


def _reason_of(operation: dict[str, Any], direction: str) -> WaitReason | None:
    """Whose turn it is, by the stage at which the steps pile up; None for what is over."""
    step = {name: whole_number(table_of(operation.get(name)).get("step")) or 0 for name in _STAGES}
    steps = whole_number(operation.get("nSteps")) or 0
    if bounded_text(operation.get("status")).upper() == "DONE" or 0 < steps <= step["DONE"]:
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


def _number_text(operation: dict[str, Any]) -> str:
    number = whole_number(operation.get("opCount"))
    return "" if number is None else str(number)
