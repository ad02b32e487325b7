"""The wait-for graph condensed for people: a few boxes, also at 16,384 ranks.

Places of the same kind of group at the same number are one box; culprits are
boxes of their own.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import Role
from triage.domain.finding import Finding
from triage.domain.report import CollectiveAtFrontier, RankState, WaitEdge, WaitNode, Waits

_MAX_BOXES = 36
_MAX_SINGLE_CULPRITS = 12
_MAX_ROWS = 64


def _make_box_key(case: Case, place: WaitPlace, roles: Mapping[int, str]) -> str:
    if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
        desc = case.snapshot.groups[place.group].desc
        seq = place.seq if place.kind is PlaceKind.COLLECTIVE else "p2p"
        return f"{desc}/{seq}"
    rank = place.waiting[0]
    if len(roles) > _MAX_SINGLE_CULPRITS:
        return roles.get(rank, str(place.kind))
    return f"rank {rank}"


def condense_graph(case: Case, claims: Sequence[Finding]) -> Waits:
    """Boxes and arrows; the ends first, then by how many ranks a box holds."""
    if case.in_flight:
        return Waits()
    roles = _assign_roles(claims)
    members: dict[str, list[WaitPlace]] = {}
    keys = []
    for place in case.graph.places:
        key = _make_box_key(case, place, roles)
        keys.append(key)
        members.setdefault(key, []).append(place)
    arrows: Counter[tuple[str, str]] = Counter()
    for source, targets in enumerate(case.graph.waits_for):
        # A rank waits at one place, which may wait for many of a box: it counts once.
        for key in {keys[target] for target in targets} - {keys[source]}:
            arrows[keys[source], key] += len(case.graph.places[source].waiting)
    boxes = {key: _make_box(case, key, places, roles) for key, places in members.items()}
    for place, key in zip(case.graph.places, keys, strict=True):
        if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
            for rank in [r for r in place.waiting if roles.get(r) == "culprit"][:4]:
                if boxes[key].ranks == (rank,):  # alone in there, it is the box
                    boxes[key] = replace(boxes[key], kind="culprit")
                    continue
                inner = f"rank {rank}"
                boxes.setdefault(
                    inner, WaitNode(inner, "culprit", inner, "stands out in it", (rank,))
                )
                if len(place.waiting) > 1:
                    arrows[key, inner] = len(place.waiting) - 1
    shown = sorted(
        boxes.values(), key=lambda one: (one.kind == "collective", -len(one.ranks), one.key)
    )
    kept = {one.key for one in shown[:_MAX_BOXES]}
    edges = tuple(
        WaitEdge(source, target, count)
        for (source, target), count in sorted(arrows.items())
        if source in kept and target in kept
    )
    return Waits(tuple(shown[:_MAX_BOXES]), edges, max(0, len(shown) - _MAX_BOXES))


def _make_box(
    case: Case, key: str, places: Sequence[WaitPlace], roles: Mapping[int, str]
) -> WaitNode:
    ranks = tuple(sorted(rank for place in places for rank in place.waiting))
    first = places[0]
    if first.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
        group = case.snapshot.groups[first.group]
        desc = group.desc or f"pg {group.name}"
        is_p2p = first.kind is PlaceKind.P2P
        op, seq = ("send/recv", "") if is_p2p else (case.op_name(first), f" {first.seq}")
        detail = ", ".join(
            f"{number} {noun}{'s' * (number != 1)}"
            for number, noun in ((len(ranks), "rank"), (len(places), "group"))
        )
        return WaitNode(key, "collective", f"{desc} {op}{seq}", detail, ranks)
    role = roles.get(ranks[0], "no_dump" if first.kind is PlaceKind.NO_DUMP else "possible")
    detail = {
        PlaceKind.IDLE: "all done, issues nothing",
        PlaceKind.NO_DUMP: "left no dump",
        PlaceKind.APART: "dump of another moment",
    }[first.kind]
    label = f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} ranks"
    return WaitNode(key, role, label, detail, ranks)


def _assign_roles(claims: Iterable[Finding]) -> dict[int, str]:
    """How each named rank is drawn; a conviction wins."""
    roles: dict[int, str] = {}
    for finding in claims:
        for rank in finding.ranks:
            if finding.role is Role.CULPRIT or rank not in roles:
                roles[rank] = str(finding.role)
    return roles


def rank_states(case: Case, claims: Sequence[Finding]) -> tuple[RankState, ...]:
    """One row per expected rank."""
    roles = _assign_roles(claims)
    late = {rank: f.late_ms for f in claims if f.late_ms is not None for rank in f.ranks}
    states = []
    ops: dict[int, str] = {}
    for rank in case.snapshot.world:
        place_index = case.graph.place_of.get(rank)
        place = None if place_index is None else case.graph.places[place_index]
        if place is not None and place.index not in ops:
            is_p2p = place.kind is PlaceKind.P2P
            ops[place.index] = "send/recv" if is_p2p else case.op_name(place)
        group = case.snapshot.groups[place.group] if place is not None else None
        if rank in roles:
            state = roles[rank]
        elif rank in case.snapshot.apart:
            state = "unknown"
        elif rank not in case.snapshot.index_of:
            state = "no_dump"
        else:
            state = "idle" if place is None or case.in_flight else "waiting"
        states.append(
            RankState(
                rank=rank,
                node=case.snapshot.node_of(rank),
                state=state,
                pg=group.name if group else None,
                desc=group.desc if group else None,
                seq_id=place.seq if place else None,
                op=ops[place.index] if place else None,
                late_ms=late.get(rank),
                artifact=case.artifact(rank),
            )
        )
    return tuple(states)


def list_frontier_collectives(
    case: Case, claims: Sequence[Finding]
) -> tuple[CollectiveAtFrontier, ...]:
    """The operations in question: those that name a suspect first, the largest next."""
    if case.in_flight:
        return ()
    accused = _assign_roles(claims)
    disagreeing = {rank for finding in claims if finding.ranks_disagree for rank in finding.ranks}
    rows = []
    for place in case.graph.places:
        if place.kind not in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
            continue
        missing = sorted({*place.missing, *(rank for rank in place.absent if rank in accused)})
        mismatched = [rank for rank in place.waiting if rank in disagreeing]
        names_a_suspect = bool(mismatched) or any(rank in accused for rank in missing)
        group = case.snapshot.groups[place.group]
        size = len(place.waiting)
        first = place.waiting[:1]
        order = (not names_a_suspect, -size, group.desc, group.name, place.seq, first)
        is_p2p = place.kind is PlaceKind.P2P
        row = CollectiveAtFrontier(
            pg=group.name,
            desc=group.desc,
            seq_id=place.seq,
            op=_name_p2p(case, place) if is_p2p else case.op_name(place),
            waiting=tuple(sorted(place.waiting)),
            missing=tuple(missing),
            mismatched=tuple(mismatched),
        )
        rows.append((order, row))
    return tuple(row for _, row in sorted(rows, key=lambda pair: pair[0])[:_MAX_ROWS])


def _name_p2p(case: Case, place: WaitPlace) -> str:
    for rank in place.waiting[:4]:
        digest = case.snapshot.digest_of(rank)
        stuck = case.snapshot.stuck_of(rank)
        if digest is not None and stuck is not None and stuck.row is not None:
            described = case.snapshot.describe(digest.pending[stuck.row].sig)
            if described is not None:
                return described.op
    return "send/recv"
