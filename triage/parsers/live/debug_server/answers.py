"""The answers of all ranks to one question of PyTorch's debug server, from its files and pages.

::

    PARTIAL DATA: 2/4 workers responded
      Rank 2: ClientConnectorError: Cannot connect to host gpu-n02:43381 ...
      Rank 3: TimeoutError:

    === Rank 0: http://gpu-n01:33767/handler/dump_traceback? ===
    (body)
    === Rank 2: http://gpu-n02:43381/handler/dump_traceback? ===
    Error: 503

Every ``=== Rank`` begins a line. A page has ``<h2>Rank 0: address</h2>`` instead, then
``<p>Failed to fetch: status=404</p>`` where there was no answer, and a body that is not escaped.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from triage.domain.live.process import Process, ReplyKind

__all__ = ["Answer", "answers_of_file", "answers_of_page", "reply_kind"]

MAX_RANKS: Final = 1 << 17
# "=== Rank 0: http://gpu-n01:33767/handler/pyspy_dump?nonblocking=1 ==="
SECTION: Final = re.compile(r"^=== Rank (\d{1,7}): (\S{1,512}) ===[ \t]*$", re.M)
# "<h2>Rank 0: http://gpu-n01:41701/handler/dump_traceback?</h2>"
HEADING: Final = re.compile(r"<h2>\s*Rank (\d{1,7}): ([^<\s]{1,512})\s*</h2>")
# "http://gpu-n01:33767/handler/pyspy_dump?nonblocking=1", "http://[fd00::7]:41701/handler/ping"
ADDRESS: Final = re.compile(
    r"https?://(?P<host>\[[0-9A-Fa-f:.%\w]{1,64}\]|[^\s/:?\[\]]{1,253})(?::\d{1,5})?"
    r"(?:/handler/(?P<handler>\w{1,64}))?"
)
# "Error: 503", the whole body
ERROR: Final = re.compile(r"Error: (\d{3})\s*")
# "<p>Failed to fetch: status=404</p>"
FAILED: Final = re.compile(r"<p>Failed to fetch: status=(\d{3})</p>")
# "PARTIAL DATA: 2/4 workers responded", and below it "  Rank 2: TimeoutError: "
WHY: Final = re.compile(r"^  Rank (\d{1,7}): (.*)$", re.M)
MAX_DETAIL: Final = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What one rank answered. ``status`` is None where it did, else the number of the failure.

    ``body`` begins in line ``line``, from 1. ``why`` is what is said of a failure.
    """

    process: Process
    handler: str
    status: int | None
    body: str
    line: int
    why: str = ""


def answers_of_file(text: str) -> list[Answer]:
    """The answers in one of the periodic files."""
    marks = list(bounded(SECTION.finditer(text)))
    why = {int(one[1]): one[2] for one in WHY.finditer(text[: marks[0].start() if marks else 0])}
    ends = [one.start() for one in marks[1:]] + [len(text)] * bool(marks)
    found: list[Answer] = []
    line, counted = 1, 0
    for mark, end in zip(marks, ends, strict=True):
        begin = min(mark.end() + 1, len(text))
        line += text.count("\n", counted, begin)
        counted = begin
        body = text[begin:end].rstrip("\n")
        error = ERROR.fullmatch(body) if len(body) < MAX_DETAIL else None
        process, handler = process_of(mark[1], mark[2])
        status = int(error[1]) if error else None
        reason = why.get(int(mark[1]), "") if error else ""
        found.append(
            Answer(process, handler, status, "" if error else body, line, short_why(reason))
        )
    return found


def answers_of_page(text: str) -> list[Answer]:
    """The answers in a page of the frontend, as it was sent or as a browser saved it."""
    marks = list(bounded(HEADING.finditer(text)))
    ends = [one.start() for one in marks[1:]] + [len(text)] * bool(marks)
    found: list[Answer] = []
    line, counted = 1, 0
    for mark, end in zip(marks, ends, strict=True):
        begin = text.find("<pre>", mark.end(), end)
        failed = FAILED.search(text, mark.end(), end if begin < 0 else begin)
        close = text.rfind("</pre>", max(begin, mark.end()), end)
        begin = begin + len("<pre>") if begin >= 0 else mark.end()
        body = text[begin : close if close >= begin else end]
        line += text.count("\n", counted, begin)
        counted = begin
        if "&lt;" in body or "&quot;" in body:  # saved by a browser
            body = html.unescape(body)
        process, handler = process_of(mark[1], mark[2])
        status = int(failed[1]) if failed else None
        reason = short_why(body) if failed else ""
        found.append(Answer(process, handler, status, "" if failed else body, line, reason))
    return found


def bounded(marks: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    for place, mark in enumerate(marks):
        if place >= MAX_RANKS:
            return
        yield mark


def process_of(rank: str, address: str) -> tuple[Process, str]:
    """The rank and host of a heading, and the handler that was asked."""
    match = ADDRESS.match(address)
    if match is None:
        return Process(rank=int(rank)), ""
    return Process(rank=int(rank), host=match["host"].strip("[]")), match["handler"] or ""


def short_why(text: str) -> str:
    return " ".join(text[:MAX_DETAIL].split())


def reply_kind(status: int | None) -> ReplyKind:
    """What a status says of the process that was asked: 404 and 500 say nothing of it."""
    if status is None:
        return ReplyKind.ANSWERED
    if status == 408:
        return ReplyKind.SILENT
    return ReplyKind.UNREACHABLE if status == 503 else ReplyKind.TOOL_FAILED
