r"""What the NCCL of Meta writes of one rank's communicators, and ROCm's with NCCL_COMM_DUMP.

``nccl_comm_state`` is what they did and do. It stands in a flight-recorder dump, as texts that are
JSON again (NCCLX and rcclx, 2026)::

    {"nccl_comm_state": {"0x1f": {"commHash": "1f", "rank": "3", "nRanks": "4",
      "commDesc": "\"default_pg\"", "CT_pastColls": "[{\"opCount\": 41, ...}]",
      "CT_currentColls": "[{\"opCount\": 42, ...}]"}}, "entries": []}

A rank without the operation that its peers are in has not launched it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.patterns import compile_re
from triage.errors import ArtifactError, Corrupt
from triage.parsers.live.foreign_values import (
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
    partial: str | None = None
    for state in told:
        try:
            communicators.append(_build_communicator(state, process))
        except ArtifactError as error:
            partial = f"communicator {state.hash:x}: {error}"
    return (Look(artifact, Tool.COMM_STATE, communicators=tuple(communicators), partial=partial),)


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
