"""Likeness: how much two incidents are the same failure, with the reasons.

Compared are the verdicts and the foremost suspects of two reports, as the wire carries them.
A feature that neither report has does not count; one that only one of them has counts
against. The node is one feature of several: the same part failing again on one node, and the
same fault wandering over nodes, are both worth a look.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from triage.domain.patterns import compile_re

_Report = Mapping[str, Any]

WEIGHTS: Final = {
    "category": 0.3,
    "kind": 0.1,
    "codes": 0.2,
    "detectors": 0.1,
    "code place": 0.1,
    "operation": 0.1,
    "node": 0.2,
    "gpu": 0.1,
}
"""What each feature can add, before it is divided by what could be added at all."""

# NVRM: Xid (PCI:0000:5d:00): 79, pid=...; nvidia-nvswitch3: SXid (PCI:...): 12028
_CODE: Final = compile_re(r"\b(S?Xid)\b(?: \([^)]{0,60}\))?:? {0,2}([0-9]{1,5})\b")
# the operation came from: rec at /opt/train/train.py:74 < coll at ...
_PLACE: Final = compile_re(r"came from: (\S{1,200} at \S{1,400}:[0-9]{1,7})")
# What says that nothing is known makes no two incidents alike.
_NO_CATEGORY: Final = frozenset({"none", "nccl_timeout"})
_NO_KIND: Final = frozenset({"healthy", "inconclusive"})
# Below this share of its weight a feature is not worth a word.
_LEAST: Final = 0.005


@dataclass(frozen=True, slots=True)
class Likeness:
    """``score`` in [0, 1] is the sum of ``terms``: (words, what it adds), largest first."""

    score: float
    terms: tuple[tuple[str, float], ...]

    @property
    def why(self) -> str:
        """``same category gpu_hbm +0.38, same node n3 +0.25``; empty for nothing in common."""
        return ", ".join(f"{words} +{share:.2f}" for words, share in self.terms)


def compare_reports(report: _Report, other: _Report) -> Likeness:
    """How alike two reports ``triage.report/1`` are; the order of the two does not matter."""
    compared = list(_compare_features(report, other))
    possible = sum(WEIGHTS[name] for name, *_ in compared)
    terms = [
        (f"same {words}", WEIGHTS[name] * share / possible)
        for name, share, words in compared
        if share > _LEAST
    ]
    terms.sort(key=lambda term: (-term[1], term[0]))
    return Likeness(min(1.0, sum(share for _, share in terms)), tuple(terms))


def _compare_features(report: _Report, other: _Report) -> Iterator[tuple[str, float, str]]:
    """(feature, share in common, words) of the features that at least one report has."""
    mine, theirs = _collect_features(report), _collect_features(other)
    for name in WEIGHTS:
        either = mine[name] | theirs[name]
        both = mine[name] & theirs[name]
        if either:
            words = " and ".join(sorted(both))
            spoken = words if name == "codes" else f"{name} {words}"
            yield name, len(both) / len(either), spoken


def _collect_features(report: _Report) -> dict[str, Set[str]]:
    verdict = report["verdict"]
    foremost = [one for one in report["suspects"] if one["role"] != "affected"][:1]
    because = [reason for one in foremost for reason in one["because"]]
    text = "\n".join(reason["text"] for reason in because)
    place = _PLACE.search(text)
    asked = report["groups"][:2]
    return {
        "category": {verdict["category"]} - _NO_CATEGORY,
        "kind": {verdict["kind"]} - _NO_KIND,
        "codes": {f"{word} {code}" for word, code in _CODE.findall(text)},
        "detectors": {reason["detector"] for reason in because},
        "code place": {place[1]} if place else set(),
        "operation": {f"{group['op']} of {group['desc'] or group['pg']}" for group in asked},
        "node": {one["node"] for one in foremost if one["node"] is not None},
        "gpu": {f"{one['node']} {gpu}" for one in foremost if one["node"] for gpu in one["gpus"]},
    }
