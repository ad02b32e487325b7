"""What the trained reader makes of a stop: only about the stop, and only where signatures are
silent.

A signature's reading is exact; the reader's is likely. It is heard of a node only where no
signature tells a cause there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from triage.analysis.facts.on_one_clock import DatedEvidence
from triage.analysis.facts.stop import ABOUT_THE_STOP, SECOND, Stop, When
from triage.analysis.joining.claims import is_accusing, leaves_part_open
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import BY_FILE, UNREAD, Evidence, EvidenceRole, Trait
from triage.domain.finding import Finding
from triage.domain.patterns import compile_re

_NAMES: Final = compile_re(r"[A-Za-z0-9](?:[\w.-]{0,251}\w)?")
# What more nodes than this say about one stop follows from it.
_FEW_NODES: Final = 2
_SHARE_OF_NODES: Final = 0.1
_OF_NO_NODE: Final = frozenset(
    {Category.STORAGE, Category.DEPENDENCY, Category.NETWORK, Category.HOST_MAINTENANCE}
)
# From here on it is as good as a signature that needs another source: of an author left out 337 of
# 342 such readings are right.
_SURE: Final = 0.9
# What takes all parts of a node with it, which then fail in words that signatures know, in seconds.
_OF_ALL_PARTS: Final = frozenset({Category.CHASSIS, Category.POWER})
_PARTS_FAIL_NS: Final = 5 * SECOND
# A node prints few lines that nobody knows about one fault; of more none is special.
_MOST_OF_A_NODE: Final = 8


def select_unfamiliar(
    dated: DatedEvidence, claims: Iterable[Finding], stop: Stop, strange: Set[str]
) -> list[Evidence]:
    """The rows of the reader that are about the stop, of nodes of which no signature tells a
    cause and that are none of ``strange``; the likeliest of each node. A sure one is heard beside
    a signature that needs another source, and of the whole of a node whose parts fail.

    Where claims accuse somebody, it tells the part of that place, or a cause of no node that may
    explain it; where a signature convicts somebody, the part of what claims accuse alone; where
    one tells a cause that needs another source, what nodes share. Beside claims, what is printed
    after the stop tells the part of a place that is accused, and no other.
    """
    if not dated.unfamiliar or not stop.trouble:
        return []
    fleet, known = dated.fleet, dated.evidence
    nodes = {*fleet.nodes, *fleet.seated}
    telling = [row for row in known if _tells_a_cause(row, stop)]
    whole = _select_of_whole_nodes(dated.unfamiliar, telling, stop, strange)
    told = {row.node for row in telling if row.is_firm}
    hinted = {row.node for row in telling}
    is_firm = bool(told)
    accusing = [claim for claim in claims if is_accusing(claim)]
    claims_on: dict[str | None, list[Finding]] = defaultdict(list)
    for claim in accusing:
        for node in dict.fromkeys(_list_nodes(claim, fleet)):
            claims_on[node].append(claim)
    accused = set(claims_on)
    if None in hinted or (is_firm and not accused):
        return whole
    found: dict[str | None, list[Evidence]] = defaultdict(list)
    for row in dated.unfamiliar:
        if row.role is not EvidenceRole.ROOT or row.node in strange:
            continue
        row = _place_by_name(row, fleet, nodes)
        when = stop.of(row)
        # Of a stop that lines alone tell, the beginning is the last sign of progress.
        is_late = when is When.AFTER and (row.node in accused or not accusing)
        if (
            _may_explain(row, accusing, claims_on)
            and Trait.OUTLIVED not in row.traits
            and (when is When.AT or is_late)
        ):
            found[row.node].append(row)
    everywhere = _find_everywhere(found, len(nodes))
    heard = accused if is_firm else {*accused, None} if accused else set(found)

    def is_heard_beside(row: Evidence, node: str | None) -> bool:
        known_of = told if _get_score(row) >= _SURE else hinted
        if node in known_of:
            return False
        of_its_place = node in accused or row.category in _OF_NO_NODE
        return of_its_place or not (known_of or row.category in everywhere)

    chosen = [
        row
        for node, rows in found.items()
        if node in heard
        for row in sorted(
            (row for row in rows if is_heard_beside(row, node)), key=_get_score, reverse=True
        )[:_MOST_OF_A_NODE]
    ]
    return [*whole, *chosen]


def _select_of_whole_nodes(
    unfamiliar: Iterable[Evidence], telling: Sequence[Evidence], stop: Stop, strange: Set[str]
) -> list[Evidence]:
    """What a controller says of a whole node right before parts of it fail in known words."""
    firsts: dict[str | None, int] = {}
    for row in telling:
        if row.category in HARDWARE and row.is_firm and row.at_ns is not None:
            firsts[row.node] = min(row.at_ns, firsts.get(row.node, row.at_ns))
    return [
        row
        for row in unfamiliar
        if row.category in _OF_ALL_PARTS
        and row.node in firsts
        and row.node not in strange
        and row.at_ns is not None
        and row.at_ns <= firsts[row.node] + _PARTS_FAIL_NS
        and stop.of(row) is When.AT
        and Trait.OUTLIVED not in row.traits
        and _get_score(row) >= _SURE
    ]


def _get_score(row: Evidence) -> float:
    """How likely the reader takes its category to be."""
    return float(row.fields["score"])


def select_unread(unfamiliar: Iterable[Evidence], stop: Stop) -> list[Evidence]:
    """The lines about the stop that neither a signature nor the reader can place."""
    return [
        row
        for row in unfamiliar
        if row.signature == UNREAD
        and Trait.OUTLIVED not in row.traits
        and stop.of(row) in (When.AT, When.AFTER)
    ]


def _list_nodes(claim: Finding, fleet: JobPlacement) -> list[str]:
    """The nodes that a claim names, by itself or by its ranks."""
    seats = (fleet.node_of(rank) for rank in claim.ranks)
    return [*claim.nodes, *(node for node in seats if node is not None)]


def _may_explain(
    row: Evidence, accusing: Sequence[Finding], claims_on: Mapping[str | None, Sequence[Finding]]
) -> bool:
    """Whether a line of an accused place names its part, or one elsewhere accounts for a claim."""
    if row.category is None or not accusing:
        return row.category is not None
    if row.node in claims_on:
        return any(
            claim.can_be_due_to(row.category) and leaves_part_open(claim, row.category)
            for claim in claims_on[row.node]
        )
    return any(claim.can_be_due_to(row.category) for claim in accusing)


def _tells_a_cause(row: Evidence, stop: Stop) -> bool:
    """Whether a signature tells a cause at the stop."""
    is_root = row.role is EvidenceRole.ROOT and row.category not in (None, Category.NONE)
    return is_root and not (row.is_mild or row.is_generic) and stop.of(row) in ABOUT_THE_STOP


def _find_everywhere(
    found: Mapping[str | None, Sequence[Evidence]], num_nodes: int
) -> set[Category | None]:
    """What so many nodes say that it is of none of them."""
    spread = Counter(name for rows in found.values() for name in {row.category for row in rows})
    most = max(_FEW_NODES, _SHARE_OF_NODES * num_nodes)
    return {name for name, count in spread.items() if count > most}


def _place_by_name(row: Evidence, fleet: JobPlacement, nodes: Set[str]) -> Evidence:
    """A row at the one node of the job that its text names: one of no node of the job, or a process
    that compares the results of all.
    """
    compares = row.category is Category.SDC
    if row.node in nodes and BY_FILE not in row.fields and not compares:
        return row
    named = {
        node
        for word in _NAMES.findall(row.text)
        if (node := fleet.node_of_address(word)) in nodes and node is not None
    }
    if len(named) != 1 or (row.node in nodes and row.node not in named and not compares):
        return row
    fields = {name: value for name, value in row.fields.items() if name != BY_FILE}
    return replace(row, node=named.pop(), rank=None, fields=fields)
