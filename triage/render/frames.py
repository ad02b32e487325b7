"""Frames: an Answer as pandas DataFrames, named after their rows.

The columns and dtypes are the same when a frame is empty. Text is ``string``,
whole numbers that may be missing are ``Int64``, lists of ranks are tuples of ints.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from triage.domain.report import Answer, Because, RankState
from triage.render.clean import encodable

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["COLLECTIVES", "RANKS", "SUSPECTS", "collectives", "ranks", "suspects"]

SUSPECTS: Mapping[str, str] = {
    "position": "int64",
    "node": "string",
    "ranks": "object",
    "gpus": "object",
    "category": "string",
    "score": "float64",
    "role": "string",
    "action": "string",
    "because": "string",
    "num_because": "int64",
}
"""One row per suspect. ``because`` holds its reasons, one a line, each with its place."""

RANKS: Mapping[str, str] = {
    "rank": "int64",
    "node": "string",
    "state": "string",
    "pg": "string",
    "desc": "string",
    "seq_id": "Int64",
    "op": "string",
    "late_ms": "float64",
    "artifact": "string",
}
"""One row per rank at the moment of the dumps; ``state`` as in ``RankState``."""

COLLECTIVES: Mapping[str, str] = {
    "pg": "string",
    "desc": "string",
    "seq_id": "Int64",
    "op": "string",
    "waiting": "object",
    "missing": "object",
    "mismatched": "object",
    "num_waiting": "int64",
    "num_missing": "int64",
    "num_mismatched": "int64",
}
"""One row per collective at a frontier; the three lists hold global ranks, ascending."""

_STATE_ORDER = ("culprit", "possible", "no_dump", "waiting", "unknown", "idle")


def suspects(answer: Answer) -> "DataFrame":
    """The suspects, best first, with the columns of ``SUSPECTS``."""
    rows = (
        {
            "position": suspect.position,
            "node": suspect.node,
            "ranks": suspect.ranks,
            "gpus": suspect.gpus,
            "category": str(suspect.category),
            "score": suspect.score,
            "role": str(suspect.role),
            "action": str(suspect.action),
            "because": "\n".join(map(_reason, suspect.because)),
            "num_because": len(suspect.because),
        }
        for suspect in answer.suspects
    )
    return _frame(rows, SUSPECTS)


def ranks(answer: Answer) -> "DataFrame":
    """The ranks, most suspicious first, with the columns of ``RANKS``."""
    rows = (
        {column: getattr(state, column) for column in RANKS}
        for state in sorted(answer.ranks, key=_suspicion)
    )
    return _frame(rows, RANKS)


def collectives(answer: Answer) -> "DataFrame":
    """The collectives in question, in the order of the answer, with those of ``COLLECTIVES``."""
    rows = (
        {
            "pg": one.pg,
            "desc": one.desc,
            "seq_id": one.seq_id,
            "op": one.op,
            "waiting": one.waiting,
            "missing": one.missing,
            "mismatched": one.mismatched,
            "num_waiting": len(one.waiting),
            "num_missing": len(one.missing),
            "num_mismatched": len(one.mismatched),
        }
        for one in answer.collectives
    )
    return _frame(rows, COLLECTIVES)


def _suspicion(state: RankState) -> tuple[int, float, int]:
    known = state.state in _STATE_ORDER
    place = _STATE_ORDER.index(state.state) if known else len(_STATE_ORDER)
    return place, -(state.late_ms or 0.0), state.rank


def _reason(reason: Because) -> str:
    if reason.artifact is None:
        return reason.text
    place = reason.artifact if reason.line is None else f"{reason.artifact}:{reason.line}"
    return f"{reason.text} [{place}]"


def _frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> "DataFrame":
    import pandas as pd

    table = list(rows)
    return pd.DataFrame(
        {
            column: pd.Series([_cell(row[column], dtype) for row in table], dtype=dtype)
            for column, dtype in columns.items()
        }
    )


def _cell(value: object, dtype: str) -> object:
    return encodable(value) if dtype == "string" and isinstance(value, str) else value
