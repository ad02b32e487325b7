"""What each cause asks for: start again, start without some nodes, wait, or stop and fix.

A cause of hardware stays with its node, so the job starts without it. A cause in the job's own
code, data or settings comes again with every start, so it stops until somebody has fixed it. What
passes by itself is tried again, a few times. Which is which stands in ``policies.toml``.
"""

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Final, NamedTuple

from triage.domain.category import HARDWARE, Category
from triage.domain.restart import RestartDecision


class Policy(NamedTuple):
    """``retries`` is how many starts in a row may end by the cause before it is stopped;
    ``why`` is a sentence without its full stop.
    """

    decision: RestartDecision
    retries: int
    why: str


def _make_policy(row: tuple[str, int, str]) -> Policy:
    return Policy(RestartDecision(row[0]), row[1], row[2])


_TABLE: Final = tomllib.loads(files(__package__).joinpath("policies.toml").read_text("utf-8"))
_CAUSES: Final = {name: _make_policy(row) for name, row in _TABLE["causes"].items()}
_OF_HARDWARE, _SWITCH = _CAUSES.pop("hardware"), _CAUSES.pop("switch")
POLICIES: Final[Mapping[Category, Policy]] = {
    **dict.fromkeys(sorted(HARDWARE), _OF_HARDWARE),
    **{Category(name): policy for name, policy in _CAUSES.items()},
}
UNKNOWN_CAUSE: Final = POLICIES[Category.NONE]
EXCEPTIONS: Final[Mapping[str, Policy]] = {
    signature: _make_policy(row["policy"])
    for row in _TABLE["of_lines"]
    for signature in row["lines"]
}
"""By the signature of the line that the cause rests on, where a category holds several kinds."""


def choose_policy(category: Category, signatures: Iterable[str], *, outside: bool) -> Policy:
    """The policy of a cause. ``signatures`` are those of its lines, the telling ones first;
    ``outside`` is whether it is in no node.
    """
    special = next((EXCEPTIONS[one] for one in signatures if one in EXCEPTIONS), None)
    if special is not None:
        return special
    return _SWITCH if outside and category in HARDWARE else POLICIES[category]
