"""Frames: an Answer as pandas DataFrames, named after their rows.

Lists of ranks are tuples of ints; the rest is as :mod:`triage.render.data.tables` says.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from triage.domain.report import Answer, Because, Coverage, RankState
from triage.render.data.tables import build_table, parse_columns
from triage.render.words.moments import build_timeline_rows

if TYPE_CHECKING:
    from pandas import DataFrame

SUSPECTS: Final = parse_columns(
    "position int64, node string, ranks object, gpus object, category string, "
    "score float64, role string, action string, because string, num_because int64"
)
"""One row per suspect. ``because`` holds its reasons, one a line, each with its place."""

RANKS: Final = parse_columns(
    "rank int64, node string, state string, pg string, desc string, seq_id Int64, "
    "op string, late_ms float64, artifact string"
)
"""One row per rank at the moment of the dumps; ``state`` as in ``RankState``."""

COLLECTIVES: Final = parse_columns(
    "pg string, desc string, seq_id Int64, op string, waiting object, missing object, "
    "mismatched object, num_waiting int64, num_missing int64, num_mismatched int64"
)
"""One row per collective at a frontier; the three lists hold global ranks, ascending."""

TIMELINE: Final = parse_columns(
    "at time, from_stop_s Float64, node string, rank Int64, kind string, category string, "
    "text string"
)
"""One row per first root evidence of a node, and the stop itself, in the order of time."""

COVERAGE: Final = parse_columns(
    "what string, count Int64, rank Int64, artifact string, text string"
)
"""The four counts first (``ranks_expected``, ``dumps_read``, ``lines_read``,
``lines_not_understood``), then a row per ``rank_without_dump``, ``partial`` and ``unreadable``
artifact with its reason, and ``note``."""

_STATE_ORDER = ("culprit", "possible", "no_dump", "waiting", "unknown", "idle")


def build_suspect_frame(answer: Answer) -> "DataFrame":
    """The suspects, best first, with the columns of ``SUSPECTS``."""
    rows = (
        {
            **_collect_fields(suspect, SUSPECTS),
            "because": "\n".join(map(_format_reason, suspect.because)),
            "num_because": len(suspect.because),
        }
        for suspect in answer.suspects
    )
    return build_table(rows, SUSPECTS)


def build_rank_frame(answer: Answer) -> "DataFrame":
    """The ranks, most suspicious first, with the columns of ``RANKS``."""
    ranks = sorted(answer.ranks, key=_compute_suspicion_key)
    return build_table((_collect_fields(state, RANKS) for state in ranks), RANKS)


def build_collective_frame(answer: Answer) -> "DataFrame":
    """The collectives in question, in the order of the answer, with those of ``COLLECTIVES``."""
    lists = ("waiting", "missing", "mismatched")
    rows = (
        _collect_fields(collective, COLLECTIVES)
        | {f"num_{name}": len(getattr(collective, name)) for name in lists}
        for collective in answer.collectives
    )
    return build_table(rows, COLLECTIVES)


def build_timeline_frame(answer: Answer) -> "DataFrame":
    """The first error of each node beside the stop, with the columns of ``TIMELINE``."""
    rows = (
        _collect_fields(row.moment, TIMELINE) | {"from_stop_s": row.from_stop_s}
        for row in build_timeline_rows(answer)
    )
    return build_table(rows, TIMELINE)


def _collect_fields(of: object, columns: Mapping[str, str]) -> dict[str, Any]:
    """The fields of these names, as far as it has them."""
    return {name: getattr(of, name, None) for name in columns}


def build_coverage_frame(answer: Answer) -> "DataFrame":
    """The files and lines that were read, and those that were not, as ``COVERAGE`` has them."""
    return build_table(_iterate_seen(answer.coverage), COVERAGE)


def _iterate_seen(seen: Coverage) -> Iterator[dict[str, Any]]:
    for what in ("ranks_expected", "dumps_read", "lines_read", "lines_not_understood"):
        yield {"what": what, "count": getattr(seen, what)}
    yield from ({"what": "rank_without_dump", "rank": rank} for rank in seen.ranks_without_dump)
    for what, files in (("partial", seen.partial), ("unreadable", seen.unreadable)):
        yield from ({"what": what, "artifact": file.artifact, "text": file.why} for file in files)
    yield from ({"what": "note", "text": note} for note in seen.notes)


def _compute_suspicion_key(state: RankState) -> tuple[int, float, int]:
    known = state.state in _STATE_ORDER
    place = _STATE_ORDER.index(state.state) if known else len(_STATE_ORDER)
    return place, -(state.late_ms or 0.0), state.rank


def _format_reason(reason: Because) -> str:
    if reason.artifact is None:
        return reason.text
    place = reason.artifact if reason.line is None else f"{reason.artifact}:{reason.line}"
    return f"{reason.text} [{place}]"
