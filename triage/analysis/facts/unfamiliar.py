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
from triage.analysis.joining.claims import is_accusing, leaves_part_open, says_why_it_stalls
from triage.analysis.joining.hypothesis import get_score, is_sure_reading
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import HARDWARE, OF_THE_WHOLE_NODE, SOFTWARE, Category
from triage.domain.evidence import BY_FILE, UNREAD, Blame, Evidence, EvidenceRole, Trait
from triage.domain.finding import Finding
from triage.domain.patterns import compile_re
from triage.parsers.logs.stamps import read_time
from triage.reader.features import normalize_line

_RANK: Final = compile_re(r"\b[Rr]ank[ =:]{1,2}(\d{1,7})\b")
# What one process finds by comparing those of all, and says of another.
_COMPARED: Final = frozenset({Category.SDC, Category.COLLECTIVE_MISMATCH})
_PARTS: Final = HARDWARE - {Category.NETWORK, Category.NIC, Category.NVLINK}
# What more nodes than this say about one stop follows from it.
_FEW_NODES: Final = 2
_SHARE_OF_NODES: Final = 0.1
_OF_NO_NODE: Final = frozenset(
    {Category.STORAGE, Category.DEPENDENCY, Category.NETWORK, Category.HOST_MAINTENANCE}
)
# What takes a whole node with it comes before its parts fail in known words, by this.
_PARTS_FAIL_NS: Final = 5 * SECOND
# A node prints few lines that nobody knows about one fault; of more none is special.
_MOST_OF_A_NODE: Final = 8
# For so long after a stop people write what they find of it.
_FOUND_OUT_S: Final = 48 * 3600
# A line that may tell nothing at all is worth naming where its category is likelier than not.
_LEAST_GUESS: Final = 0.5


def select_unfamiliar(
    dated: DatedEvidence, claims: Iterable[Finding], stop: Stop, strange: Set[str]
) -> list[Evidence]:
    """The rows of the reader that are about the stop; where there are none, and nobody else tells a
    cause, those of which it cannot say whether they tell one, as the cause that is likeliest: of a
    place that claims accuse, or of the one node that prints any. None is of a ``strange`` node.
    """
    if not dated.unfamiliar or not (stop.trouble or stop.machines_alone):
        return []
    accusing = [claim for claim in claims if is_accusing(claim)]
    readings = [
        row
        for row in dated.unfamiliar
        if row.role is EvidenceRole.ROOT and row.category is not None
    ]
    if selected := _select_readings(readings, dated, accusing, stop, strange):
        return selected
    if stop.machines_alone or any(_tells_a_cause(row, stop) for row in dated.evidence):
        return []
    # What is printed elsewhere, or at another time too, tells of no stop.
    printed = Counter(normalize_line(row.text) for row in dated.unfamiliar)
    guesses = [
        guess
        for row in dated.unfamiliar
        if row.count == 1
        and printed[normalize_line(row.text)] == 1
        and (guess := _guess_cause(row)) is not None
    ]
    found = [
        row
        for row in _select_readings(guesses, dated, accusing, stop, strange)
        if row.node is not None
    ]
    if accusing:
        accused = {node for claim in accusing for node in _list_nodes(claim, dated.fleet)}
        return [row for row in found if row.node in accused]
    # A program that fails in unknown words fails everywhere.
    of_a_program = {row.category for row in found} <= SOFTWARE
    return found if of_a_program or len({row.node for row in found}) == 1 else []


def _guess_cause(row: Evidence) -> Evidence | None:
    """A row that nobody can place, as the cause that it tells if it tells one."""
    if row.signature != UNREAD or not row.also or get_score(row) < _LEAST_GUESS:
        return None
    return replace(row, role=EvidenceRole.ROOT, category=row.also[0], also=row.also[1:])


def _select_readings(
    readings: Iterable[Evidence],
    dated: DatedEvidence,
    accusing: Sequence[Finding],
    stop: Stop,
    strange: Set[str],
) -> list[Evidence]:
    """Those about the stop, of nodes of which no signature tells a cause; the likeliest of each
    node. A sure one is heard beside a signature that needs another source, and of the whole of a
    node whose parts fail.

    Where claims accuse somebody, it tells the part of that place, or a cause of no node that may
    explain it; where a signature convicts somebody, the part of what claims accuse alone, or one
    that the signature leaves open; where one tells a cause that needs another source, what nodes
    share. Beside claims, what is printed after the stop tells the part of a place that is accused,
    and no other; what several nodes surely tell of something outside of them is heard whomever
    claims accuse.
    """
    fleet, known = dated.fleet, dated.evidence
    # Where few seats are known, the hosts that speak are the job's; who is gone does not speak.
    nodes = fleet.seated if 2 * len(fleet.seated) > len(fleet.nodes) else frozenset(fleet.nodes)
    lost = {row.node or "" for row in known if Trait.ROOT_WHEN_ALONE in row.traits}
    nodes |= lost
    rows = [
        placed if BY_FILE in row.fields else _mark_found_out(placed, fleet, nodes, stop)
        for row in readings
        if Trait.OUTLIVED not in row.traits
        and (placed := _date_by_text(_place_by_name(row, fleet, nodes))).node not in strange
    ]
    telling = [row for row in known if _tells_a_cause(row, stop)]
    firm: dict[str | None, list[Evidence]] = defaultdict(list)
    for row in telling:
        if row.is_firm:
            firm[row.node].append(row)
    hinted = {row.node for row in telling}
    claims_on: dict[str | None, list[Finding]] = defaultdict(list)
    for claim in accusing:
        for node in dict.fromkeys(_list_nodes(claim, fleet)):
            claims_on[node].append(claim)
    accused = set(claims_on)
    selected = [*_select_of_whole_nodes(rows, firm, stop), *_select_left_open(rows, firm, stop)]
    unplaced = [row for row in telling if row.node is None]
    if unplaced or (firm and not accused):
        return [*selected, *_select_of_same_cause(rows, unplaced, lost, stop)]
    found: dict[str | None, list[Evidence]] = defaultdict(list)
    for row in rows:
        when = stop.of(row)
        # Of a stop that lines alone tell, the beginning is the last sign of progress.
        is_late = when is When.AFTER and (row.node in accused or not accusing)
        # What a process says without a time it says at its end, and of itself.
        is_own = when is When.UNDATED and (row.rank is not None or stop.machines_alone)
        is_own = is_own and (row.node in accused or not accusing)
        is_told = Trait.FOUND_OUT in row.traits
        is_near = when is When.AT or is_late or is_own or is_told
        if is_near and _may_explain(row, accusing, claims_on):
            found[row.node].append(row)
    everywhere = _find_everywhere(found, len(nodes))
    heard = accused if firm else {*accused, None} if accused else set(found)
    if not firm:
        selected += _select_told_together(rows, accusing, stop)

    def is_heard_beside(row: Evidence, node: str | None) -> bool:
        known_of = firm if is_sure_reading(row) else hinted
        if node in known_of:
            # A node that is gone may be so for any part of it.
            is_open = any(row.category in one.also for one in telling if one.node == node)
            return Trait.FOUND_OUT in row.traits and is_open and node not in firm
        of_its_place = node in accused or row.category in _OF_NO_NODE | SOFTWARE
        return of_its_place or not (known_of or row.category in everywhere)

    chosen = [
        row
        for node, of_node in found.items()
        if node in heard
        for row in sorted(
            (row for row in of_node if is_heard_beside(row, node)), key=get_score, reverse=True
        )[:_MOST_OF_A_NODE]
    ]
    return list({id(row): row for row in (*selected, *chosen)}.values())


def _select_of_whole_nodes(
    rows: Iterable[Evidence], firm: Mapping[str | None, Sequence[Evidence]], stop: Stop
) -> list[Evidence]:
    """What a controller says of a whole node right before parts of it fail in known words. Several
    GPUs that fail together are another source.
    """
    firsts = {
        node: min(times)
        for node, known in firm.items()
        if (times := [r.at_ns for r in known if r.category in HARDWARE and r.at_ns is not None])
    }
    return [
        row
        for row in rows
        if row.category in OF_THE_WHOLE_NODE
        and row.node in firsts
        and row.at_ns is not None
        and row.at_ns <= firsts[row.node] + _PARTS_FAIL_NS
        and stop.of(row) is When.AT
        and (is_sure_reading(row) or len({known.gpu for known in firm[row.node]} - {None}) > 1)
    ]


def _select_left_open(
    rows: Iterable[Evidence], firm: Mapping[str | None, Sequence[Evidence]], stop: Stop
) -> list[Evidence]:
    """What is surely told of a part that all that signatures tell of its node leaves open."""
    return [
        row
        for row in rows
        if row.node in firm
        and all(row.category in known.also for known in firm[row.node])
        and (Trait.FOUND_OUT in row.traits or stop.of(row) in (When.AT, When.AFTER, When.TEARDOWN))
        and is_sure_reading(row)
    ]


def _select_of_same_cause(
    rows: Iterable[Evidence], unplaced: Sequence[Evidence], lost: Set[str], stop: Stop
) -> list[Evidence]:
    """What is surely told of one node, or found out of one that was ``lost``, and of the cause that
    no line places.
    """
    causes = {row.category for row in unplaced} | {one for row in unplaced for one in row.also}
    return [
        row
        for row in rows
        if row.node is not None
        and row.category in causes
        and (
            (is_sure_reading(row) and stop.of(row) is When.AT)
            or (Trait.FOUND_OUT in row.traits and (is_sure_reading(row) or row.node in lost))
        )
    ]


def _select_told_together(
    rows: Iterable[Evidence], accusing: Sequence[Finding], stop: Stop
) -> list[Evidence]:
    """What several nodes tell of one thing outside of them, which may explain a claim: surely, or
    many of them.
    """
    by_category: dict[Category | None, list[Evidence]] = defaultdict(list)
    for row in rows:
        category = row.category
        if (
            category in _OF_NO_NODE
            and row.node is not None
            and stop.of(row) is When.AT
            and any(claim.can_be_due_to(category) for claim in accusing)
        ):
            by_category[category].append(row)
    return [
        row
        for same in by_category.values()
        if len({r.node for r in same if is_sure_reading(r)}) > 1
        or len({r.node for r in same}) > _FEW_NODES
        for row in same
    ]


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
            (claim.can_be_due_to(row.category) and leaves_part_open(claim, row.category))
            or says_why_it_stalls(row, claim)
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


# A column of a list of events: "SramThreshold node/n7 2026-05-29T09:41:49Z GPU:2 ...".
_UTC: Final = compile_re(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


def _mark_found_out(row: Evidence, fleet: JobPlacement, nodes: Set[str], stop: Stop) -> Evidence:
    """A row that names its node, or tells of what nodes share, as alerts and people do: without a
    time, or in the hours after the stop, in which they find out what it was.
    """
    if row.rank is not None:
        return row
    names_node = row.node in nodes and fleet.find_only_named_node(row.text) == row.node
    if not names_node and (row.node is not None or row.category not in _OF_NO_NODE):
        return row
    if row.at_ns is None:
        told = names_node and not _UTC.search(row.text)
    else:
        end_ns = stop.end_ns if stop.end_ns is not None else stop.start_ns
        is_after = stop.of(row) in (When.AFTER, When.TEARDOWN)
        late_ns = 0 if end_ns is None else row.at_ns - end_ns
        told = (is_after or end_ns is None) and late_ns <= _FOUND_OUT_S * SECOND
    if not told:
        return row
    blame = row.blame if names_node else Blame.SHARED
    return replace(row, traits=row.traits | {Trait.FOUND_OUT}, blame=blame)


def _date_by_text(row: Evidence) -> Evidence:
    """A row that no clock dates, at the one time in UTC that its text tells."""
    times = _UTC.findall(row.text) if row.at_ns is None else []
    stamp = read_time(times[0]) if len(times) == 1 else None
    if stamp is None or stamp.wall_ns is None:
        return row
    return replace(row, at_ns=stamp.wall_ns, error_ns=stamp.error_ns)


def _place_by_name(row: Evidence, fleet: JobPlacement, nodes: Set[str]) -> Evidence:
    """A row at the one node of the job that its text names, or the rank that it names: one of no
    node of the job, or a process that compares the results of all.
    """
    compares = row.category in _COMPARED
    node, rank = fleet.find_only_named_node(row.text), None
    # Of a part of another node a process says what it was told of it.
    compares = compares or (row.category in _PARTS and node not in (None, row.node))
    if row.node in nodes and BY_FILE not in row.fields and not compares:
        return row
    ranks = {int(rank) for rank in _RANK.findall(row.text)}
    if node is None and len(ranks) == 1 and (compares or row.node not in nodes):
        (rank,) = ranks
        node = fleet.node_of(rank)
    if node not in nodes or (row.node in nodes and row.node != node and not compares):
        return row
    fields = {name: value for name, value in row.fields.items() if name != BY_FILE}
    return replace(row, node=node, rank=rank, fields=fields)
