"""RCCL's proxy trace: the transfers in flight of one process, printed as communicators are dumped.

``RCCL_ENABLE_PROXY_TRACE=1`` (ROCm 7; a variant before it spells ``postT`` as ``pot``)::

    gpu-7:812:899 [1] commDump.cc:22 NCCL WARN ncclCommDump() ProxyTrace:
    createT:1790000067112, lastT:1790000067113, postT:1790000067113, sendT:1790000067114, cntNm:1,
      <81985529216486895:42:7>, [fu,pr,pa,tb,ck]:412,2,0,64,32, 3->2(R), chan:0, status:RECEIVING,
      ns:16, nb:32, po:8, ke:0, ..., recvT:0, connSz/h:-1, trans:0, flushed:0, recvd:0, done:0

(one line each). In ``<hash:operation:transfer>`` the hash is decimal; ``3->2(R)`` is own rank,
peer, and R for receive: own rank 3 waits for data of rank 2.
"""

from collections.abc import Sequence
from typing import Final

from triage.domain.live.communicator import Waiting, WaitReason
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.patterns import compile_re
from triage.errors import Corrupt
from triage.parsers.live.foreign_values import convert_to_ns

_MAX_TRANSFERS: Final = 65_536
_MAX_LINE: Final = 4096
TRANSFER_LINE: Final = compile_re(r"createT:\d{1,16}, ?lastT:\d{1,16}, ")
_OPERATION: Final = compile_re(r"<(\d{1,20}):(\d{1,20}):\d{1,20}>")
_ENDS: Final = compile_re(r" (\d{1,7})->(\d{1,7})\(([SR])\)")
_STATUS: Final = compile_re(r"\bstatus:([A-Z_]{1,24})")
_LAST: Final = compile_re(r"\blastT:(\d{1,16})")
_RECEIVED: Final = compile_re(r"\brecvT:(\d{1,16})")
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
    operation, ends, status = _OPERATION.search(line), _ENDS.search(line), _STATUS.search(line)
    if operation is None or ends is None or status is None:
        return None
    received = _RECEIVED.search(line)
    reason = _find_wait_reason(status[1], ends[3], received is not None and int(received[1]) > 0)
    if reason is None:
        return None
    last = _LAST.search(line)
    return Waiting(
        hash=int(operation[1]) & ((1 << 64) - 1),
        rank=int(ends[1]),
        process=process,
        reason=reason,
        peer=None if reason is WaitReason.OWN_DEVICE else int(ends[2]),
        operation=f"{'RECV' if ends[3] == 'R' else 'SEND'} of operation {int(operation[2])}",
        since_ns=convert_to_ns(None if last is None else int(last[1]), _MS),
        line=number,
    )


def _find_wait_reason(status: str, direction: str, received: bool) -> WaitReason | None:
    """Whose turn it is. A receive that got nothing waits for the sender, whatever the wire does."""
    if status == "RECEIVING":
        return WaitReason.WIRE if received else WaitReason.PEER
    if status == "SENDING":
        return WaitReason.WIRE
    if status == "POSTING":
        return WaitReason.PEER if direction == "S" else None
    if status in ("WAITING_GPU", "FLUSHING"):
        return WaitReason.OWN_DEVICE
    return None
