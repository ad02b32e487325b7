"""Notes of repairs out of a DataFrame: who was repaired, when, and how."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from triage.fleet.domain.repair import RepairAction, classify_repair_action
from triage.fleet.record.columns import RepairNotes
from triage.fleet.record.frame_columns import (
    NONE_NS,
    get_column_values,
    read_names_column,
    read_times_column,
)

if TYPE_CHECKING:
    from pandas import DataFrame


def read_repairs_frame(
    repairs: "DataFrame", place: Mapping[str, int], first: int, last: int
) -> RepairNotes:
    """``node`` and ``at``, with ``action`` or ``text``; what names no action is any repair.

    Rows without a node or a time, or outside the time of the record, are left out.
    """
    of_node, at = read_names_column(repairs), read_times_column(repairs, "repairs", "at")
    actions, texts = get_column_values(repairs, "action"), get_column_values(repairs, "text")
    inside = (at != NONE_NS) & (at >= first) & (at <= last)
    rows = [row for row in np.flatnonzero(inside).tolist() if of_node[row] is not None]
    rows.sort(key=lambda row: int(at[row]))
    words = [str(texts[row] if actions[row] is None else actions[row]) for row in rows]
    return RepairNotes(
        node=np.array([place[of_node[row] or ""] for row in rows], np.int32),
        at_ns=at[rows],
        action=tuple(classify_repair_action(text) or RepairAction.OTHER for text in words),
        text=tuple("" if texts[row] is None else str(texts[row]) for row in rows),
    )
