"""PyTorch's debug server: each rank's worker server answers by HTTP, without its interpreter.

Addresses are in the job's store, which the frontend of rank 0 shows (port 25999), or a unix
socket that torchelastic names. Only a rank of this node is asked, at the port that it holds.
"""

from __future__ import annotations

import html
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.live.exchange import post
from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE, Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triage.collectors.artifact import Deadline
    from triage.collectors.live.exchange import Address
    from triage.collectors.live.processes import RankProcess

FRONTEND_PORT = 25999
MAX_PAGE, _MAX_BYTES = 16 << 20, 64 << 20
_HANDLER_S = 6.0
# A row of the page /tcpstore, and of the dump of the same name.
_STORED = re.compile(
    r"debug_server/rank(\d{1,7})\D{1,80}?(https?://([^\s:/'\"<>]{1,255}):(\d{1,5}))"
)


class ServerHandler(NamedTuple):
    """One question of a worker server; ``ending`` is that of the file, ``recorder`` a dump."""

    name: str
    query: str
    ending: str
    recorder: bool = False


HANDLERS = (
    ServerHandler("dump_traceback", "", "txt"),
    ServerHandler("wait_counter_values", "", "json"),
    ServerHandler("dump_nccl_trace_pickle", "?includestacktraces=true", "pickle", recorder=True),
    ServerHandler("fr_trace_json", "", "json", recorder=True),
)
"""What is asked: only what reads. ``torch_profile`` would slow the rank down."""


def parse_ports(page: bytes) -> dict[int, tuple[str, int]]:
    """Host and port of each rank's worker server, as a page or a dump of the store says."""
    text = html.unescape(page.decode("utf-8", "replace"))
    rows = _STORED.findall(text)
    return {int(rank): (host, int(port)) for rank, _, host, port in rows if 0 < int(port) < 65536}


def find_addresses(
    ranks: Sequence[RankProcess],
    stored: Mapping[int, tuple[str, int]],
    ports: Mapping[int, int],
) -> dict[int, Address]:
    """The address of each pid that is asked: its own port on loopback, or its unix socket.

    A port that the store names is asked only where a process of that rank holds it: what the
    store says is not trusted.
    """
    found: dict[int, Address] = {}
    for one in ranks:
        path = (one.seen.environment or {}).get("TORCH_WORKER_SERVER_SOCKET", "")
        if os.path.isabs(path) and os.path.exists(path):
            found[one.seen.pid] = path
            continue
        _, port = stored.get(one.rank if one.rank is not None else -1, ("", 0))
        if port and ports.get(port) == one.seen.pid:
            found[one.seen.pid] = ("localhost", port)
    return found


def ask_debug_server(
    one: RankProcess, address: Address, handler: ServerHandler, deadline: Deadline
) -> tuple[Question, bytes]:
    """What a rank's server answers to one question."""
    target = f"/handler/{handler.name}{handler.query}"
    got = post(address, target, deadline.at_most(_HANDLER_S), _MAX_BYTES)
    reply, why = ANSWERED, got.why
    if got.refused:
        reply = UNREACHABLE
    elif got.status == 0:
        reply = SILENT if "time" in got.why else TOOL_FAILED
    elif got.status != 200:
        reply, why = TOOL_FAILED, f"status {got.status}"
    elif got.why and not got.data:
        reply = SILENT
    # Half a recorder cannot be read; half a list of stacks can.
    keep = reply == ANSWERED and not (handler.recorder and got.why)
    asked = Question(handler.name, one.rank, one.seen.pid, reply, why)
    return asked, got.data if keep else b""
