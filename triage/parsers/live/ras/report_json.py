"""The JSON that ``ncclras -f json`` prints since NCCL 2.28.7: every rank of every communicator.

2.28.7 and 2.28.9 leave out a comma as soon as a rank is missing; that is repaired. Of a report that
is cut, the ranks before the cut are read. Sample::

    {"nccl_version": "2.29.7", "timestamp": "2026-03-14 02:41:07", "communicators": [
      {"hash": "0xc4f1", "size": 16, "ranks": [{"rank": 0, "host": "10.0.0.1", "pid": 7,
       "cuda_dev": 0, "status": {"init_state": 0}, "collective_counts": {"AllReduce": 3}}],
       "missing_ranks": []}]}
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.live.communicator import Communicator, CommunicatorRank, Presence
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.patterns import compile_re
from triage.errors import ArtifactError
from triage.parsers.live.foreign_values import (
    get_count,
    get_json_object,
    iterate_decoded,
    limit_text,
    make_stamp,
)
from triage.parsers.live.ras.report_text import MAX_RANKS, NO_COMMUNICATOR, NO_PROOF

_COMMUNICATORS: Final = compile_re(r'"communicators"\s*:\s*\[')
_OWN_KEYS: Final = compile_re(
    r'"(?:nccl_version|communicators_count|secondary_hash|missing_ranks_count|collective_counts)"'
)
# "nvml_dev": 5\n          "status": { ... where 2.28.7 and 2.28.9 print no comma
_NO_COMMA: Final = compile_re(r'("nvml_dev": ?-?\d{1,9})(\s{1,40}"status")')
_HASH: Final = compile_re(r'"hash"\s{0,20}:\s{0,20}"(?:0[xX])?[0-9a-fA-F]{1,16}"')
_SIZE: Final = compile_re(r'"size"\s{0,20}:\s{0,20}(\d{1,7})')
_RANKS: Final = compile_re(r'"(ranks|missing_ranks)"\s{0,20}:\s{0,20}\[')
_TIMESTAMP: Final = compile_re(r'"timestamp"\s{0,20}:\s{0,20}"([^"]{1,40})"')
_HASH_TEXT: Final = compile_re(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_MORE: Final = compile_re(r"[\s,]{0,400}")
_MAX_COUNT: Final = 1 << 63
_IN_PROGRESS: Final = 7
_ALIKE: Final = {(Presence.ANSWERED, "running", None)}
_REMOTE: Final = 6
# What the report says of a rank that gave no data, the worst first.
_FLAGS: Final = (
    ("considered_dead", Presence.DEAD, ReplyKind.UNREACHABLE, "considered dead"),
    ("unresponsive", Presence.UNRESPONSIVE, ReplyKind.SILENT, "unresponsive"),
)
# ncclResult_t, in the words of RAS's own text.
_ERRORS: Final = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
    8: "Timeout",
}


def is_ras_json(text: str) -> bool:
    """Whether a file that begins with ``text`` is a report of RAS in JSON."""
    start = find_report_start(text)
    opened = text[start : start + 400].lstrip()[:1] == "{"
    return opened and _COMMUNICATORS.search(text) is not None and _OWN_KEYS.search(text) is not None


def parse_json(text: str, artifact: str) -> Sequence[Look]:
    """One look for each report in the text. Raises :class:`ArtifactError` where there is none."""
    text = text[find_report_start(text) :]
    if _NO_COMMA.search(text):
        text = _NO_COMMA.sub(r"\1,\2", text)
    looks = []
    place = 0
    while (start := text.find("{", place)) >= 0:
        try:
            report, place = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            report, place = _cut_report(text[start:]), len(text)
            if not report["communicators"]:
                break
        if isinstance(report, dict) and isinstance(report.get("communicators"), list):
            looks.append(_read_look(report, artifact))
        while (following := find_report_start(text[place : place + 400])) and place < len(text):
            place += following
    if not looks:
        raise ArtifactError("no report of NCCL RAS: its JSON cannot be read")
    return looks


def _cut_report(text: str) -> dict[str, Any]:
    """What can be read of JSON that breaks off or is damaged: communicator by communicator."""
    starts = [found.start() for found in _HASH.finditer(text)]
    communicators = []
    for start, end in pairwise([*starts, len(text)]):
        part = text[start:end]
        size = _SIZE.search(part, 0, 2000)
        found: dict[str, Any] = {
            "hash": part[: part.index('"', part.index(":") + 3)].rpartition('"')[2],
            "size": int(size[1]) if size is not None else None,
        }
        for listed in _RANKS.finditer(part):
            members = iterate_decoded(part, _MORE, listed.end())
            found.setdefault(listed[1], [member for member, _, _ in members])
        communicators.append(found)
    stamp = _TIMESTAMP.search(text, 0, 4000)
    return {
        "timestamp": stamp[1] if stamp is not None else None,
        "communicators": communicators,
        "cut": True,
    }


def _read_look(report: Mapping[str, Any], artifact: str) -> Look:
    """A report as plain values; what has another type than it should is left out, and counted."""
    reader = _MemberReader()
    communicators = [
        one
        for raw in report["communicators"]
        if isinstance(raw, dict) and (one := reader.communicator(raw)) is not None
    ]
    stamp = parse_ras_stamp(report.get("timestamp"))
    notes = []
    if not communicators:
        notes.append(NO_COMMUNICATOR)
    elif all(
        # All members answered, and have launched the same.
        len({repr(sorted((member.launched or {}).items())) for member in one.ranks}) == 1
        and {(member.presence, member.status, member.error) for member in one.ranks} == _ALIKE
        for one in communicators
    ):
        notes.append(NO_PROOF)
    if reader.left_out:
        notes.append(f"{reader.left_out} ranks of NCCL RAS contradict the report and were left out")
    return Look(
        artifact,
        Tool.RAS,
        stamp,
        communicators=tuple(communicators),
        replies=tuple(reader.replies.values()),
        notes=tuple(notes),
        partial="the report of RAS is cut or damaged" if report.get("cut") else None,
    )


class _MemberReader:
    """Communicators of one report; ``replies`` are the processes that do not answer."""

    def __init__(self) -> None:
        self.left_out = 0
        self.num_ranks = 0
        self.replies: dict[tuple[str | None, int | None], Reply] = {}

    def communicator(self, raw: Mapping[str, Any]) -> Communicator | None:
        """One communicator; None where it has no hash."""
        if not _HASH_TEXT.fullmatch(limit_text(raw.get("hash"))):
            return None
        size = get_count(raw.get("size"), MAX_RANKS)
        found: dict[int, CommunicatorRank] = {}
        for listed in ("ranks", "missing_ranks"):
            values = raw.get(listed)
            for value in values if isinstance(values, list) else ():
                member = self.member(get_json_object(value), missing=listed == "missing_ranks")
                wrong = member is None or member.rank in found or self.num_ranks >= MAX_RANKS
                if member is None or wrong or (size is not None and member.rank >= size):
                    self.left_out += 1
                    continue
                found[member.rank] = member
                self.num_ranks += 1
        return Communicator(
            int(raw["hash"], 16),
            size if size is not None else len(found),
            tuple(found[rank] for rank in sorted(found)),
        )

    def member(self, raw: Mapping[str, Any], *, missing: bool) -> CommunicatorRank | None:
        rank, state = get_count(raw.get("rank"), MAX_RANKS), get_json_object(raw.get("status"))
        if rank is None:
            return None
        process = _make_process(raw)
        if missing:
            for flag, presence, kind, words in _FLAGS:
                if state.get(flag) is True:
                    if process.pid is not None:
                        self.replies[process.host, process.pid] = Reply(process, "ras", kind, words)
                    return CommunicatorRank(rank, process, presence)
            return CommunicatorRank(rank, process, Presence.MISSING)
        launched = {
            str(name).lower()[:40]: count
            for name, value in get_json_object(raw.get("collective_counts")).items()
            if (count := get_count(value, _MAX_COUNT)) is not None
        }
        # The worst that the flags of a rank say.
        codes = [get_count(state.get(key), 1000) or 0 for key in ("init_state", "async_error")]
        status = {0: "running", _IN_PROGRESS: "init"}.get(codes[0] if codes[0] < 100 else 0)
        if state.get("finalize_called") is True or state.get("destroy_flag") is True:
            status = "finalize"
        # Its error, which may only tell of a peer's.
        code = next((one for one in reversed(codes) if one not in (0, _IN_PROGRESS)), 0)
        return CommunicatorRank(
            rank,
            process,
            launched=launched or None,
            status="abort" if state.get("abort_flag") is True else status,
            error=_ERRORS.get(code, f"Unexpected error {code}") if code else None,
            remote_error=code == _REMOTE,
        )


def parse_ras_stamp(text: object) -> Stamp:
    """``2026-03-14 02:41:07`` as a stamp without a zone; none for anything else.

    >>> parse_ras_stamp("1970-01-01 00:00:01").wall_ns
    1000000000
    """
    if isinstance(text, str) and len(text) <= 40:
        with suppress(ValueError):
            moment = datetime.fromisoformat(text.strip()[:19]).replace(tzinfo=UTC)
            return make_stamp(moment) if 1970 <= moment.year < 2200 else NO_STAMP
    return NO_STAMP


# OK / SERVER PROTOCOL 2 / CLIENT PROTOCOL 2 / SET FORMAT json / TIMEOUT 5 / VERBOSE STATUS
_PROTOCOL: Final = compile_re(
    r"\s*(?:(?:OK|(?:SERVER|CLIENT) PROTOCOL \d{1,9}|TIMEOUT \d{1,9}|SET FORMAT \w{1,20}"
    r"|(?:VERBOSE )?STATUS)[ \t]*\r?\n)",
    re.IGNORECASE,
)
_MAX_LINES: Final = 16


def find_report_start(text: str) -> int:
    r"""Where a report begins behind the lines of the protocol.

    >>> find_report_start("OK\nSERVER PROTOCOL 2\nNCCL version")
    21
    """
    place = 1 if text.startswith("\ufeff") else 0
    for _ in range(_MAX_LINES):
        found = _PROTOCOL.match(text, place)
        if found is None:
            break
        place = found.end()
    return place


def _make_process(raw: Mapping[str, Any]) -> Process:
    host, pid = raw.get("host"), get_count(raw.get("pid"), 1 << 31)
    gpus = [get_count(raw.get(key), 1 << 16) for key in ("cuda_dev", "nvml_dev")]
    return _share_process(host[:256] or None if isinstance(host, str) else None, pid, *gpus)


@lru_cache(maxsize=65_536)
def _share_process(host: str | None, pid: int | None, gpu: int | None, nvml: int | None) -> Process:
    return Process(host=host, pid=pid, gpu=gpu, nvml_gpu=nvml)
