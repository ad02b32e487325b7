"""One NVLink domain of a rack: a switch fault on one node, and its echoes on all the others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import SECOND
from triage.analysis.joining.hypothesis import Hypothesis, in_time
from triage.domain.category import Category
from triage.domain.evidence import Evidence, Kind

__all__ = ["with_domain_roots"]

# NVLINK: the far end that went; the links of its domain then complain on every node.
ROOT_XID: Final = 149
ECHO_XIDS: Final = frozenset({144, 145, 146, 147, 148, 150, 45, 43})
# Beyond what the clocks of two nodes are commonly apart.
ECHO_NS: Final = 600 * SECOND


def with_domain_roots(causes: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Without hypotheses that only echo the root of their NVLink domain, which has more followers.

    The GPU of the root line stands first, whatever severity its echoes print.
    """
    roots = [cause for cause in causes if any(is_root(row) for row in cause.rows)]
    if len({cause.place for cause in roots}) != 1:
        return list(causes)
    root = min(roots, key=lambda cause: cause.category is not Category.NVLINK)
    first = in_time(row for row in root.rows if is_root(row))
    echoes = [
        cause
        for cause in causes
        if cause is not root and cause.rows and all(is_echo(row, first) for row in cause.rows)
    ]
    if not echoes:
        return list(causes)
    rest = in_time(row for row in root.rows if not is_root(row))
    own = tuple(dict.fromkeys(row.gpu for row in (*first, *rest) if row.gpu is not None))
    whole = replace(
        root,
        rows=(*first, *rest),
        gpus=own,
        followers=root.followers + sum(len(cause.rows) for cause in echoes),
    )
    gone = {id(cause) for cause in echoes}
    return [whole if cause is root else cause for cause in causes if id(cause) not in gone]


def is_root(row: Evidence) -> bool:
    return row.kind is Kind.XID and row.code == ROOT_XID


def is_echo(row: Evidence, roots: Sequence[Evidence]) -> bool:
    """Whether a row follows from a root of the domain: named so, or printed then."""
    if row.parent_code == ROOT_XID:
        return True
    if row.kind is not Kind.XID or row.code not in ECHO_XIDS:
        return False
    return any(
        row.at_ns is None
        or root.at_ns is None
        or root.at_ns - ECHO_NS <= row.at_ns <= (root.last_at_ns or root.at_ns) + ECHO_NS
        for root in roots
    )
