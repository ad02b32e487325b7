"""Answers to incidents held against what is right, and the measures over many of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.campaign_cases import Expected
from benchmarks.reliability_picture import Held, expected_error


@dataclass(frozen=True, slots=True)
class Outcome:
    """One incident. ``rank1`` is None where nobody can know the rank.

    Where no node is guilty, ``node1`` and ``node3`` say that no innocent was convicted.
    """

    id: str
    generator: str
    kind: str
    category: str
    said: str
    row: str | None
    said_row: str | None
    node1: bool
    node3: bool
    rank1: bool | None
    category_right: bool
    false_cordon: bool
    convicts_innocent: bool
    confidence: float
    healthy: bool
    silent: bool
    seconds: float
    culprits: tuple[str, ...]
    named: str


def judged(report: dict[str, Any], right: Expected, seconds: float) -> Outcome:
    """One report held against what is right."""
    verdict, suspects = report["verdict"], report["suspects"]
    # Without a map a suspect has no node: then its ranks stand for it.
    hits = [
        row["node"] in right.nodes
        if row["node"] is not None
        else bool(set(row["ranks"]) & right.ranks)
        for row in suspects
    ]
    convicted = [hit for row, hit in zip(suspects, hits, strict=True) if row["role"] == "culprit"]
    innocent = not all(convicted)
    if right.nobody:
        node1 = node3 = not innocent
    else:
        node1, node3 = hits[:1] == [True], any(hits[:3])
    first = suspects[0]["ranks"] if suspects else []
    return Outcome(
        right.id, right.generator, right.kind, right.category, verdict["category"], right.row,
        verdict["llama3_category"], node1, node3,
        bool(first) and first[0] in right.ranks if right.ranks else None,
        verdict["category"] in right.categories, bool(set(verdict["cordon"]) - right.cordon),
        innocent, float(verdict["confidence"]), right.healthy,
        not suspects and not verdict["cordon"], seconds,
        () if right.nobody else tuple(sorted(right.nodes)),
        ", ".join(str(row["node"] or row["ranks"][:1]) for row in suspects[:2]),
    )  # fmt: skip


def held(outcomes: Sequence[Outcome]) -> Held:
    """What was said with which confidence, and whether node and category were right."""
    return [(one.confidence, one.category_right and one.node1) for one in outcomes]


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The figures over all incidents; healthy jobs count only in their own."""
    sick = [one for one in outcomes if not one.healthy]
    well = [one for one in outcomes if one.healthy]
    ranked = [one for one in sick if one.rank1 is not None]
    with_node = [one for one in sick if one.culprits]

    def part(good: int, of: Sequence[object]) -> float:
        return good / len(of) if of else 1.0

    return {
        "incidents": len(outcomes),
        "node top-1": part(sum(one.node1 for one in sick), sick),
        "node top-3": part(sum(one.node3 for one in sick), sick),
        "node top-1 where one is guilty": part(sum(one.node1 for one in with_node), with_node),
        "rank top-1": part(sum(bool(one.rank1) for one in ranked), ranked),
        "category (accepted)": part(sum(one.category_right for one in sick), sick),
        "category (exact)": part(sum(one.said == one.category for one in sick), sick),
        "macro-F1 over leaves": by_class([leaf_pair(one) for one in outcomes])[1],
        "macro-F1 over rows": by_class([row_pair(one) for one in outcomes])[1],
        "false cordons": part(sum(one.false_cordon for one in outcomes), outcomes),
        "convicts an innocent": part(sum(one.convicts_innocent for one in outcomes), outcomes),
        "healthy jobs silent": part(sum(one.said == "none" and one.silent for one in well), well),
        "expected calibration error": expected_error(held(outcomes)),
        "seconds an incident": sum(one.seconds for one in outcomes) / max(len(outcomes), 1),
    }


def leaf_pair(one: Outcome) -> tuple[str, str]:
    """True and said leaf; an accepted one counts as the true one."""
    return one.category, one.category if one.category_right else one.said


def row_pair(one: Outcome) -> tuple[str, str]:
    """True and said row."""
    true = one.row or one.category
    return true, true if one.category_right else (one.said_row or one.said)


def by_class(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, ...]], float]:
    """Counts and F1 of each true class, and the mean F1 over them."""
    true, said = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    right = Counter(a for a, b in pairs if a == b)
    scores = {name: 2 * right[name] / (true[name] + said[name]) for name in true}
    rows: list[tuple[str, ...]] = [
        (name, str(true[name]), str(said[name]), str(right[name]), f"{scores[name]:.3f}")
        for name, _ in true.most_common()
    ]
    return rows, sum(scores.values()) / max(len(scores), 1)
