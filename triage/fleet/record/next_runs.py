"""When a node ran again that nobody said came back: a run that starts on it shows that it had.

Of what lasts, some sources never tell the end (``sinfo -R``, a ticket that nobody closed, a log
that was rotated), and a node would be out forever.
"""

from typing import Final

import numpy as np

from triage.fleet.record.columns import Ints, Runs, Small

NEVER_NS: Final = np.iinfo(np.int64).max
# A run may start while somebody is about to drain its node.
_SLACK_NS: Final = 600 * 10**9


def find_next_runs(runs: Runs, since_ns: int, node: Small, from_ns: Ints) -> Ints:
    """When the first run on each of these nodes began that began ten minutes after ``from_ns`` or
    later, in ns; ``NEVER_NS`` where none did.

    A run that is cut to ``since_ns``, the start of the record, may have begun before it, and shows
    nothing.
    """
    found = np.full(len(node), NEVER_NS, np.int64)
    if not len(node) or not len(runs.node):
        return found
    asked = np.zeros(max(int(runs.node.max()), int(node.max())) + 1, np.bool_)
    asked[node] = True
    member = np.flatnonzero(asked[runs.node])
    begin = runs.start_ns[np.searchsorted(runs.node_at, member, side="right") - 1]
    of = runs.node[member]
    order = np.lexsort((begin, of))
    order = order[begin[order] > since_ns]
    of, begin = of[order], begin[order]
    for row, (name, start) in enumerate(zip(node.tolist(), from_ns.tolist(), strict=True)):
        first, last = np.searchsorted(of, [name, name + 1])
        place = first + int(np.searchsorted(begin[first:last], start + _SLACK_NS))
        if place < last:
            found[row] = begin[place]
    return found
