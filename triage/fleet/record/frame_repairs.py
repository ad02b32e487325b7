"""Notes of repairs out of a DataFrame: who was repaired, when, and how."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from triage.fleet.domain.repair import RepairAction, action_of
from triage.fleet.record.columns import RepairNotes
from triage.fleet.record.frame_columns import NONE_NS, given, names, times

if TYPE_CHECKING:
    from pandas import DataFrame


def repairs_from_frame(
    repairs: "DataFrame", place: Mapping[str, int], first: int, last: int
) -> RepairNotes:
    """``node`` and ``at``, with ``action`` or ``text``; what names no action is any repair.

    Rows without a node or a time, or outside the time of the record, are left out.
    """
    of_node, at = names(repairs), times(repairs, "repairs", "at")
    actions, texts = given(repairs, "action"), given(repairs, "text")
    inside = (at != NONE_NS) & (at >= first) & (at <= last)
    rows = [row for row in np.flatnonzero(inside).tolist() if of_node[row] is not None]
    rows.sort(key=lambda row: int(at[row]))
    words = [str(texts[row] if actions[row] is None else actions[row]) for row in rows]
    return RepairNotes(
        node=np.array([place[of_node[row] or ""] for row in rows], np.int32),
        at_ns=at[rows],
        action=tuple(action_of(text) or RepairAction.OTHER for text in words),
        text=tuple("" if texts[row] is None else str(texts[row]) for row in rows),
    )
