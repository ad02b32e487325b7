"""What is drawn of an answer: rank grid, wait-for graph, time line, course.

An answer keeps what its pictures need, so they are drawn from the stored bytes alone, once
for each revision: a revision never changes. An answer over 16,384 ranks takes a few hundred
milliseconds to read again, its drawn form a fraction of one.
"""

import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import numpy as np
import orjson

from triage.domain.answer_wire import answer_from_bytes
from triage.domain.report import Answer, RankState
from triage.render.pictures import graph, progress
from triage.render.pictures.grid import (
    STATES,
    arrange,
    choose_state,
    describe_place,
    describe_states,
    render_late_table,
    summarize_ranks,
)
from triage.render.pictures.markup import Html
from triage.render.pictures.markup import draw as draw_macro
from triage.render.words.clean import cut, format_one_line
from triage.render.words.moments import build_timeline_rows, list_days
from triage.services.kept import KeptValues
from triage.store.database.engine import Database

# Incidents that are looked at by turns; the answer of 16,384 ranks holds some megabytes.
_KEPT: Final = 32
_MOST_PLACES: Final = 65_535


@dataclass(frozen=True, slots=True)
class Pictures:
    """An answer and what is drawn of it.

    ``answer`` is without its ranks, which are in ``grid``: see :func:`encode_grid`, here packed as
    gzip. ``summary`` says the grid in one sentence, ``states`` are rows of (state, meaning, count,
    ranks). The others are SVG and tables, empty where there is nothing to draw.
    """

    answer: Answer
    grid: bytes
    has_grid: bool
    num_ranks: int
    summary: str
    states: tuple[tuple[str, str, int, str], ...]
    late: Html
    waits: Html
    waits_list: Html
    waits_omitted: int
    timeline: Html
    timeline_days: tuple[str, ...]
    progress: Html
    progress_table: Html


_drawn: KeptValues[tuple[str, int], Pictures] = KeptValues(_KEPT)


def get_pictures(
    database: Database, incident_id: str, revision: int, load: Callable[[], bytes]
) -> Pictures:
    """The pictures of this answer; its bytes are loaded only when it was not drawn lately.

    Raises :class:`Corrupt` for bytes that are damaged.
    """
    key = (incident_id, revision)
    found = _drawn.find(database, key, within_s=math.inf)
    if found is None:  # drawn by two at once, it is the same picture
        found = draw(answer_from_bytes(load()))
        _drawn.keep(database, key, found)
    return found


def draw(answer: Answer) -> Pictures:
    """All pictures of an answer."""
    moments = build_timeline_rows(answer)
    when = list_days(moments)
    cells = encode_grid(answer.ranks)
    return Pictures(
        answer=replace(answer, ranks=()),
        grid=_compress(cells),
        has_grid=bool(cells),
        num_ranks=len(answer.ranks),
        summary=summarize_ranks(answer.ranks),
        states=describe_states(answer.ranks),
        late=render_late_table(answer.ranks),
        waits=graph.as_svg(answer.waits),
        waits_list=graph.as_list(answer.waits),
        waits_omitted=graph.select_boxes(answer.waits)[1],
        timeline=draw_macro("timeline", moments, len(when) > 1),
        timeline_days=when,
        progress=progress.as_svg(answer.progress),
        progress_table=progress.as_table(answer.progress),
    )


def encode_grid(ranks: Sequence[RankState]) -> bytes:
    r"""The rank grid as the page reads it; no bytes without ranks, or with more than 65,536.

    A length (u32), JSON of that length padded with blanks to a multiple of four, then one
    value a cell: lateness in ms (f32, if ``late``), index of the place (u16, if
    ``places``), index of the state (u8). All little endian. The JSON holds ``num``, ``states``,
    ``ranks`` (``0-4,6``, in the order of the cells), ``nodes`` as ``[name, cells]`` or empty
    where a cell's node is not known, and ``places``, such as ``mesh_tp all_reduce #812``.
    """
    grid = arrange(ranks)
    if grid is None:
        return b""
    cells = [cell.state for cell in grid.cells]
    nodes = [] if grid.columns else _count_cells_by_node(cells)
    known: dict[str, int] = {}
    numbers = [known.setdefault(describe_place(one), len(known)) for one in cells]
    places = list(known) if len(known) <= _MOST_PLACES else []
    late = any(one.late_ms for one in cells)
    head = orjson.dumps(
        {
            "num": len(cells),
            "states": list(STATES),
            "ranks": _encode_rank_order([one.rank for one in cells]),
            "nodes": nodes,
            "places": places,
            "late": late,
        }
    )
    head += b" " * (-len(head) % 4)
    parts = [struct.pack("<I", len(head)), head]
    if late:
        parts.append(np.array([one.late_ms or 0.0 for one in cells], "<f4").tobytes())
    if places:
        parts.append(np.array(numbers, "<u2").tobytes())
    of_state = {name: number for number, name in enumerate(STATES)}
    parts.append(bytes(of_state[choose_state(one)] for one in cells))
    return b"".join(parts)


def _count_cells_by_node(cells: Sequence[RankState]) -> list[tuple[str, int]]:
    """(node, its number of cells) in the order of the cells."""
    return [
        (cut(format_one_line(node or ""), 80), len(list(members)))
        for node, members in groupby(cells, lambda one: one.node)
    ]


def _encode_rank_order(ranks: Sequence[int]) -> str:
    """Ranks in the order given, as spans that count up: ``0-7,64-71,8``."""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)


def _compress(data: bytes) -> bytes:
    packer = zlib.compressobj(level=6, wbits=31)
    return packer.compress(data) + packer.flush()
