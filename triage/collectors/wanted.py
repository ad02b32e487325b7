"""What the service wants of this node once it has looked at what came: files by kind and rank.

Its answer only chooses among the files that this collector finds itself for the job: no path is
taken from it, and a file that is on no list of ours is not sent.
"""

from __future__ import annotations

import http.client
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.artifact import DUMP, JOB_LOG, KERNEL_LOG
from triage.collectors.endpoint import wanted_path
from triage.collectors.send import (
    MAX_ANSWER,
    TRY_LATER,
    make_common_headers,
    open_connection,
    retry_after_s,
)

if TYPE_CHECKING:
    from triage.collectors.artifact import Artifact, Deadline
    from triage.collectors.credentials import Token
    from triage.collectors.endpoint import Endpoint

_KINDS = {"flight_recorder": DUMP, "kernel_log": KERNEL_LOG, "job_log": JOB_LOG}
_MOST_FILES = 64
# A service that is away for a moment; one that knows no such question says 404, or 501.
_AWAY = TRY_LATER | {500, 502, 503, 504}
# Where the service does not say when to ask again, and the shortest pause that it can ask for.
_LATER_S, _SOONEST_S = 10.0, 1.0
# As the service reads the rank of a dump: trace_rank_3, trace_rank_3.json.gz.
_RANK = re.compile(r"([0-9]{1,7})(?:\.[A-Za-z]+)*$", re.ASCII)


class Wanted(NamedTuple):
    """A file that would decide; ``name`` is that of its digest, empty where none came."""

    kind: str
    rank: int | None
    name: str

    def fits(self, artifact: Artifact) -> bool:
        """Whether it is this file of ours."""
        name = artifact.member.rpartition("/")[2]
        if artifact.kind != self.kind:
            return False
        if artifact.kind != DUMP:
            return True
        if self.name:
            return name == self.name
        found = _RANK.search(name)
        return found is not None and int(found[1]) == self.rank


class WantedOfNode(NamedTuple):
    """What is wanted now; ``again_s`` is None where nothing more will be."""

    files: tuple[Wanted, ...]
    again_s: float | None


_NOTHING = WantedOfNode((), None)


def ask(
    endpoint: Endpoint, token: Token, job_id: str, incident: str, node: str, deadline: Deadline
) -> WantedOfNode:
    """Ask once. Nothing is wanted by a service of an earlier release, or one that is away."""
    try:
        with open_connection(endpoint, deadline) as connection:
            path = wanted_path(endpoint.prefix, job_id, incident, node)
            connection.request("GET", path, headers=make_common_headers(token))
            response = connection.getresponse()
            body = response.read(MAX_ANSWER)
    except (OSError, http.client.HTTPException):
        return WantedOfNode((), _LATER_S)
    if response.status in _AWAY:
        wait_s = retry_after_s(response.getheader("Retry-After"))
        return WantedOfNode((), _LATER_S if wait_s is None else max(_SOONEST_S, wait_s))
    if response.status != 200:
        return _NOTHING
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return _NOTHING
    return _read(answer) if isinstance(answer, dict) else _NOTHING


def _read(answer: dict[str, object]) -> WantedOfNode:
    rows, again_s = answer.get("wanted"), answer.get("again_s")
    files = [
        one
        for row in (rows if isinstance(rows, list) else [])[:_MOST_FILES]
        if isinstance(row, dict) and (one := _parse_file(row)) is not None
    ]
    if isinstance(again_s, bool) or not isinstance(again_s, (int, float)) or not again_s >= 0:
        return WantedOfNode(tuple(files), None)
    return WantedOfNode(tuple(files), max(_SOONEST_S, min(float(again_s), 3600.0)))


def _parse_file(row: dict[str, object]) -> Wanted | None:
    kind, rank, name = row.get("kind"), row.get("rank"), row.get("filename")
    if not isinstance(kind, str) or kind not in _KINDS:
        return None
    known = rank if isinstance(rank, int) and not isinstance(rank, bool) else None
    return Wanted(_KINDS[kind], known, name.rpartition("/")[2] if isinstance(name, str) else "")
