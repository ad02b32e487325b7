"""RCCL's replay log: every call of one process, written before it runs.

``RCCL_REPLAY_FILE=run.json`` (ROCm 7) writes ``run.<pid>.<host>.json``, which is no JSON::

    {
      version : 1,
      CommInitDev : [comm : 0x7f20, size : 4, uniqueID : 1027, rank : 3, dev : 1, context : [...]],
      AllReduce : [opCount : 2a, sendbuff : [...], ..., comm : 0x7f20, nranks : 4, stream : 0x55,
        task : 0, globalrank : 3, context : [time : 1790000042.5, thread : 7, device : 1, ...]]

(one line each). ``opCount`` is hexadecimal and ``uniqueID`` the same on all ranks. The last call
of a communicator is how far this rank's host came; nothing says what completed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.patterns import compile_re
from triage.errors import Corrupt
from triage.parsers.live.foreign_values import hash_number, parse_whole_number

_MAX_COMMUNICATORS: Final = 4096
_MAX_LINE: Final = 4096
_CALL: Final = compile_re(r"[\s{},]{0,20}([A-Za-z]{3,40}) : \[")
_FIELD: Final = compile_re(
    r"\b(opCount|comm|size|uniqueID|rank|nranks|globalrank|device|dev) : (\w+)"
)
_NAMED: Final = compile_re(r"\.(\d{1,10})\.([^/]{1,253})\.json(?:\.(?:gz|zst|xz|bz2))?$")
_PAIRED: Final = frozenset({"send", "recv"})


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
            _add_call(known, call[1], dict(_FIELD.findall(line[:_MAX_LINE])), number)
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
    if one is not None and count is not None and name.lower() not in _PAIRED:
        one.launched = max(one.launched, count + 1)
        one.line = line


def _number(text: str | None, base: int = 10) -> int | None:
    """The number that a field is; None for any other text."""
    value = parse_whole_number(text, base)
    return value if value is not None and value >= 0 else None
