"""One possible cause of the stop: a category at a place, with all that speaks for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from triage.analysis.facts.stop import ABOUT_THE_STOP, Stop, When
from triage.analysis.joining.place import AtNode, AtRank, Domain, Outside, Place, Unplaced
from triage.domain.category import SOFTWARE, Category, Role
from triage.domain.evidence import SURE_READING, Blame, Evidence, Trait
from triage.domain.finding import Finding

# One pair of ends is a tie; from two others on somebody is the common one.
MANY_VOTES: Final = 2


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """``category`` at ``place``.

    ``rows`` are the roots that nothing explains, those about the stop first; none where only
    dumps say so. ``followers`` is how many rows they explain. ``claims`` are what detectors say of
    the place and what this cause accounts for. ``also`` are categories that the rows do not
    exclude. ``votes`` is how many others have trouble with the place.
    """

    category: Category
    place: Place
    rows: tuple[Evidence, ...] = ()
    also: frozenset[Category] = frozenset()
    followers: int = 0
    claims: tuple[Finding, ...] = ()
    ranks: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()
    votes: int = 0

    @property
    def node(self) -> str | None:
        """The node it is on; None where it is on none, or not known on which."""
        return self.place.node if isinstance(self.place, AtNode) else None

    @property
    def in_no_node(self) -> bool:
        """Whether no single node is to blame."""
        return isinstance(self.place, Outside | Domain)

    @property
    def names_somebody(self) -> bool:
        """Whether it is about one node, or one rank."""
        return isinstance(self.place, AtNode | AtRank)

    @property
    def reached(self) -> tuple[str, ...]:
        """The nodes that a cause in no node reaches, as far as it is told."""
        return self.place.nodes if isinstance(self.place, Outside | Domain) else ()

    @property
    def accuses(self) -> bool:
        """Whether anything but a connection with two ends, or a tie, accuses the place itself."""
        if any(claim.role is Role.CULPRIT for claim in self.claims):
            return True
        own = any(row.blame not in (Blame.PEER, Blame.PAIR) for row in self.rows)
        return own or self.votes >= MANY_VOTES

    @property
    def holds_up(self) -> bool:
        """Whether it slows a job down that goes on: lines call it a straggler, or a part of it
        slower than its peers.
        """
        told = any(
            (row.category is Category.STRAGGLER and row.is_firm) or Category.STRAGGLER in row.also
            for row in self.rows
        )
        return told or self.category is Category.STRAGGLER

    @property
    def key(self) -> tuple[str, str, str, tuple[int, ...]]:
        """An order that does not depend on that of the files."""
        shown = "~" if isinstance(self.place, Unplaced) else repr(self.place)
        return (self.node or "~", str(self.category), shown, self.ranks)


def get_time_key(row: Evidence) -> tuple[bool, int, str, int, str]:
    """Order of time, the same however the files came; undated rows last."""
    return (row.at_ns is None, row.at_ns or 0, row.artifact, row.line or 0, row.signature)


def select_earliest(rows: Iterable[Evidence], most: int | None = None) -> tuple[Evidence, ...]:
    """``rows``, the earliest first; at most ``most``."""
    return tuple(sorted(rows, key=get_time_key)[:most])


def is_seen_at_stop(cause: Hypothesis, stop: Stop) -> bool:
    """Whether any of its lines is not of another time than the stop."""
    return any(stop.of(row) in ABOUT_THE_STOP for row in cause.rows)


def select_rows_at_stop(cause: Hypothesis, stop: Stop) -> list[Evidence]:
    """A few of its rows about the stop."""
    return [row for row in cause.rows if stop.of(row) in ABOUT_THE_STOP][:4]


def may_count(row: Evidence, stop: Stop) -> bool:
    """Whether a row may count among several that show the same at once: one that needs another
    source and that no clock dates may be of any day.
    """
    return stop.of(row) in ABOUT_THE_STOP and (row.is_firm or row.at_ns is not None)


def is_sure(cause: Hypothesis) -> bool:
    """Whether rows alone would accuse the place of it."""
    return cause.category is not Category.NCCL_TIMEOUT and any(row.is_firm for row in cause.rows)


def get_score(row: Evidence) -> float:
    """How likely the reader takes the category of a row of its own to be."""
    return float(row.fields["score"])


def is_sure_reading(row: Evidence) -> bool:
    """Whether the trained reader is sure of a row."""
    return Trait.UNFAMILIAR in row.traits and get_score(row) >= SURE_READING


def is_routine(cause: Hypothesis, stop: Stop) -> bool:
    """Whether programs fail like that on its node on other days too: somebody tries things there,
    which causes no stop, makes no error of the job late, and is no rival of it.
    """
    other_days = {(r.signature, r.code) for r in cause.rows if stop.of(r) is When.STALE}
    return cause.category in SOFTWARE and all(
        (row.signature, row.code) in other_days for row in cause.rows if not row.is_mild
    )
