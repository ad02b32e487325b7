"""NCCL RAS: any process of a job answers for all of them, by lines of text on a port.

Question for JSON first, in text where that is not known (before 2.28). Only a port that a process
of this job holds is asked.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

from triage.collectors.live.asked import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE, Question
from triage.collectors.live.exchange import Received, connect_to, receive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triage.collectors.deadline import Deadline

_NAME = "ras"
_DEFAULT = ("localhost", 28028)
# 16,384 ranks in JSON have some 10 MB.
_MAX_BYTES, _MAX_LINE = 64 << 20, 4096
# Seconds that NCCL may wait for ranks that do not answer it.
_COLLECT_S = 5


def find_ras_address(environment: Mapping[str, str]) -> tuple[str, int]:
    """Where the job's processes listen: ``NCCL_RAS_ADDR``, else ``localhost:28028``."""
    host, _, port = environment.get("NCCL_RAS_ADDR", "").rpartition(":")
    host = host.strip("[]") or _DEFAULT[0]
    if not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) < 65536:
        return _DEFAULT
    # A wildcard is where it listens; it is reached by loopback.
    return ("localhost" if host in {"0.0.0.0", "::"} else host), int(port)


def ask_ras_status(address: tuple[str, int], deadline: Deadline) -> tuple[Question, bytes, str]:
    """The report, and the ending of its name: ``json`` or ``txt``; empty bytes without one."""
    began = time.monotonic()
    got = _ask_server(address, deadline, json=True)
    ending = "json"
    if got.why.startswith("ERROR") or got.why == "no JSON":
        got, ending = _ask_server(address, deadline, json=False), "txt"
    reply = ANSWERED
    if not got.data:
        reply = UNREACHABLE if got.refused else SILENT if "time" in got.why else TOOL_FAILED
    why = f"RAS on {address[0]}:{address[1]}: {got.why}" if got.why else ""
    return Question(_NAME, None, None, reply, why, time.monotonic() - began), got.data, ending


def _ask_server(address: tuple[str, int], deadline: Deadline, *, json: bool) -> Received:
    try:
        with connect_to(address, deadline) as line:
            for command in ("CLIENT PROTOCOL 2", f"TIMEOUT {_COLLECT_S}"):
                line.sendall(f"{command}\n".encode())
                answer = _send_line(line, deadline)
                if answer.why:
                    return answer
                if answer.data.startswith(b"ERROR") and command.startswith("CLIENT"):
                    return Received(b"", "it speaks another protocol than RAS")
            if json:
                line.sendall(b"SET FORMAT json\n")
                answer = _send_line(line, deadline)
                if not answer.data.startswith(b"OK"):
                    return Received(b"", answer.why or "no JSON")
            line.sendall(b"VERBOSE STATUS\n")
            return _report(receive(line, deadline, _MAX_BYTES))
    except TimeoutError:
        return Received(b"", "no answer in time")
    except OSError as error:
        return Received(b"", error.strerror or str(error), refused=True)


def _send_line(line: socket.socket, deadline: Deadline) -> Received:
    got = receive(line, deadline, _MAX_LINE, lambda data: data.endswith(b"\n"))
    if not got.data.endswith(b"\n") and not got.why:
        return Received(b"", "closed the connection")
    return got


def _report(got: Received) -> Received:
    report = got.data.lstrip()
    if report.startswith(b"ERROR"):
        return Received(b"", report.split(b"\n", 1)[0].decode("utf-8", "replace")[:200])
    return got if got.data else Received(b"", got.why or "an empty report")
