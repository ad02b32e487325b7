"""Search: one text, and all that bears it: incidents, jobs, nodes, parts, causes, evidence.

Names are looked up at once. Evidence is read from the newest row back, until more incidents are
found than one answer lists or :data:`SECONDS` are over. The answer then says since when evidence
was searched and behind which row the search goes on, so that the newest hits never wait for
the oldest rows.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Annotated, Final, NamedTuple

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from triage.domain.caller import Caller
from triage.domain.category import Category
from triage.domain.hardware import HardwareKind, normalize_identity
from triage.domain.patterns import compile_re
from triage.domain.wire import WireForm
from triage.services.context import Context
from triage.store import search as stored
from triage.store.search import MAX_TEXT, EvidenceFound, SearchHit

MAX_QUERY: Final = 200
MAX_HITS: Final = 20
"""Of each kind."""
LEAST_TEXT: Final = 3
"""Shorter texts are looked for in names alone: they stand in every other line."""
SECONDS: Final = 1.5
# xid 79, Xid: 79, SXid#12028
_CODE: Final = compile_re(r"(s?xid)[\s:=#]{0,3}([0-9]{1,5})", re.IGNORECASE | re.ASCII)
_ID: Final = compile_re(r"[A-Za-z0-9_.-]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SearchAnswer(WireForm):
    """What was found for ``q``: by kind, and of each kind exact names first, then the newest."""

    q: str
    hits: tuple[SearchHit, ...]
    more: Annotated[tuple[str, ...], "Kinds of which there is more than is listed."]
    searched_since: Annotated[
        datetime | None, "Evidence that came before was not searched yet; null where all was."
    ]


class Walked(NamedTuple):
    """What a walk through the evidence found, the newest first.

    ``rest`` is the newest row that the answer does not cover, 0 where it covers all.
    """

    hits: list[SearchHit]
    rest: int
    since: datetime | None


def search(
    ctx: Context, q: str, caller: Caller, cluster: str | None = None, older: int | None = None
) -> tuple[SearchAnswer, int | None]:
    """All that bears the text, as far as the caller's token sees, and where the search goes on.

    ``q`` has 1 to 200 characters. The number is that of a row of evidence, None where all
    evidence was searched. Handed in as ``older``, it gives the evidence from there on alone.
    Raises :class:`NotFound` for another cluster.
    """
    text = q.strip()
    of = caller.asks(cluster)
    with ctx.database.reading() as session:
        groups = [] if older is not None else list(_find_named(session, text, caller, of))
        walked = _search_evidence(session, text, of, older)
    groups.append(walked.hits)
    hits = tuple(chain.from_iterable(group[:MAX_HITS] for group in groups))
    more = tuple(group[0].kind for group in groups if len(group) > MAX_HITS)
    return SearchAnswer(q, hits, more, walked.since), walked.rest or None


def _find_named(
    session: Session, text: str, caller: Caller, cluster: str | None
) -> Iterator[list[SearchHit]]:
    """What has a name of its own, a list of each kind; one more than are shown where there is."""
    most = MAX_HITS + 1
    if _ID.fullmatch(text):
        found = stored.find_incidents(session, "incident", text, None, most)
        yield [one for one in found if caller.sees(one.cluster)]
    yield stored.find_incidents(session, "job", text, cluster, most)
    yield stored.find_nodes(session, text, cluster, most)
    spelt = sorted({one for kind in HardwareKind if (one := normalize_identity(kind, text))})
    yield stored.find_parts(session, text, spelt, cluster, most)
    category = "_".join(text.lower().split())
    if category in set(Category):
        yield stored.find_incidents(session, "category", category, cluster, most)


def _search_evidence(session: Session, text: str, cluster: str | None, older: int | None) -> Walked:
    """Rows with this code; rows whose text holds this one where no row has such a code."""
    code = _CODE.fullmatch(text)
    if code is not None:
        kind, number = code[1].lower(), int(code[2])
        where, name = stored.build_code_condition(kind, number), f"{kind} {number}"
        walked = walk(session, where, cluster, "code", name, older)
        if walked.hits or walked.rest or older is not None:
            return walked
    if len(text) < LEAST_TEXT:
        return Walked([], 0, None)
    return walk(
        session, stored.build_text_condition(session, text), cluster, "evidence", text, older
    )


def walk(
    session: Session,
    where: ColumnElement[bool],
    cluster: str | None,
    kind: str,
    name: str,
    older: int | None,
) -> Walked:
    """From row ``older`` back, the newest for None; incidents with newer hits are left out."""
    ends = time.monotonic() + SECONDS
    rest = stored.find_newest_row(session, older)
    found: dict[str, EvidenceFound] = {}
    while rest and len(found) <= MAX_HITS and time.monotonic() < ends:
        rows = stored.find_evidence(session, where, cluster, rest)
        listed = set() if older is None else stored.with_newer(session, where, rows, older)
        for row in rows:
            if row.incident_id not in listed:
                newest = found.get(row.incident_id)
                count = row.count + (newest.count if newest else 0)
                found[row.incident_id] = replace(newest or row, count=count)
        rest = stored.find_newest_row(session, rest - stored.SPAN)
    newest_first = list(found.values())
    if len(newest_first) > MAX_HITS:
        rest = newest_first[MAX_HITS].id
    since = stored.find_arrival_time(session, rest) if rest else None
    return Walked([_make_row_hit(kind, name, row) for row in newest_first], rest, since)


def _make_row_hit(kind: str, name: str, row: EvidenceFound) -> SearchHit:
    return SearchHit(
        kind, name, kind == "code", row.cluster, row.at, _cut_around(row.text, name),
        row.incident_id, row.job_id, row.node, row.count,
    )  # fmt: skip


def _cut_around(line: str, text: str) -> str:
    """The part of a long line that holds the text."""
    start = max(0, line.casefold().find(text.casefold()) - MAX_TEXT // 2)
    return ("..." if start else "") + line[start : start + MAX_TEXT]
