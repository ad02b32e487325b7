"""Fingerprint: what kind of failure an answer describes, whichever node it was on.

Two incidents are of one kind where a cosine says that their features are: the cause, the
masked words of the lines that the foremost suspect rests on, and, where the fault is not of
hardware, the point of the program. A node is no feature by itself, since one fault wanders over
nodes; the same part of the same node is, since it is likely to be the same defect again.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from triage.analysis.facts.part import list_named_parts
from triage.domain.category import GPU_PARTS, HARDWARE, Category, Role, VerdictKind
from triage.domain.patterns import compile_re

_Report = Mapping[str, Any]

VERSION: Final = 1
"""Grows when the same answer gets another fingerprint: stored ones are then made again."""

WEIGHTS: Final = {
    "cause": 0.30,
    "ending": 0.04,
    "place": 0.06,
    "signature": 0.15,
    "code": 0.15,
    "words": 0.20,
    "point": 0.10,
    "part": 0.05,
}
"""How much of the squared length each group of features has, beside the others that are there."""

MAX_DISTANCE: Final = 0.35
"""Beyond this cosine distance two incidents are of different kinds."""

PART: Final = "part:"
"""What a feature begins with that names a part of a node."""

# As they are stored; a cosine is then exact to four.
_DECIMALS: Final = 5
_MAX_REASONS: Final = 6
_MAX_WORDS: Final = 60
_NAMELESS: Final = frozenset({Category.NONE, Category.NCCL_TIMEOUT, Category.STRAGGLER})
# rec at /opt/train/train.py:74 < coll at ...: the operation came from there
_POINT: Final = compile_re(r"came from: (\S{1,200} at \S{1,400}:[0-9]{1,7})")
_CHUNK: Final = compile_re(r"[^\s,;()\[\]{}<>\"'=|]{1,200}")
# A word with a digit, a slash or an at sign is a name, a number or an address.
_VOLATILE: Final = compile_re(r"[0-9/@\\]")
_WORD: Final = compile_re(r"[a-z_]{3,40}")


class Stratum(StrEnum):
    """What incidents of different kinds of cause are never grouped across."""

    HARDWARE = "hardware"
    SOFTWARE = "software"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """``features`` have unit length; a cosine between two of them is the sum of their products."""

    stratum: Stratum
    features: Mapping[str, float]


def make_fingerprint(report: _Report) -> Fingerprint | None:
    """The fingerprint of a report ``triage.report/1``.

    None where nothing is known to recur: a healthy job, or an answer without cause, suspect and
    operation.
    """
    verdict = report["verdict"]
    foremost = next((one for one in report["suspects"] if one["role"] != Role.AFFECTED), None)
    category = Category(verdict["category"])
    nothing = category == Category.NONE and foremost is None and not report["groups"]
    if verdict["kind"] == VerdictKind.HEALTHY or nothing:
        return None
    stratum = Stratum.UNKNOWN if category in _NAMELESS else Stratum.SOFTWARE
    stratum = Stratum.HARDWARE if category in HARDWARE else stratum
    groups = dict(_collect_features(report, stratum, foremost))
    total = sum(WEIGHTS[name] for name, found in groups.items() if found)
    features = {}
    for name, found in groups.items():
        length = math.sqrt(sum(number * number for number in found.values()))
        for feature, number in sorted(found.items()):
            value = math.sqrt(WEIGHTS[name] / total) * (number / length)
            features[f"{name}:{feature}"] = round(value, _DECIMALS)
    return Fingerprint(stratum, features)


def measure_distance(one: Fingerprint, other: Fingerprint) -> float:
    """Cosine distance in [0, 1]; 1 across strata."""
    if one.stratum != other.stratum:
        return 1.0
    theirs = other.features
    alike = math.fsum(value * theirs.get(name, 0.0) for name, value in one.features.items())
    return max(0.0, 1.0 - alike)


def _collect_features(
    report: _Report, stratum: Stratum, foremost: _Report | None
) -> Iterator[tuple[str, Counter[str]]]:
    """(group of :data:`WEIGHTS`, how often each of its features occurs)."""
    verdict = report["verdict"]
    yield "cause", Counter([verdict["category"]])
    yield "ending", Counter([verdict["kind"]])
    yield "place", Counter([_describe_place(verdict, foremost)])
    reasons = [] if foremost is None else foremost["because"]
    if stratum is Stratum.HARDWARE:
        # Which operation waited when a part failed says nothing of the part.
        reasons = [one for one in reasons if one.get("line") is not None] or reasons
    else:
        yield "point", Counter(_list_program_points(report, reasons))
    reasons = reasons[:_MAX_REASONS]
    yield "signature", Counter({one["detector"] for one in reasons})
    names = {str(one["node"]).lower() for one in report["suspects"]}
    yield "words", Counter(_list_words((one["text"] for one in reasons), names))
    if foremost is None:
        return
    named = list_named_parts(foremost)
    yield "code", Counter(set(named.codes))
    if stratum is Stratum.HARDWARE and foremost["node"] is not None:
        yield "part", Counter([f"{foremost['node']} {named.first or ''}"])


def _describe_place(verdict: _Report, foremost: _Report | None) -> str:
    """The class of the place that is accused: a GPU, a node, several nodes, or none."""
    if foremost is None or foremost["node"] is None:
        return "nobody"
    if len(verdict["cordon"]) > 1 or verdict["category"] == Category.NETWORK:
        return "leaf"
    return "gpu" if foremost["category"] in GPU_PARTS else "node"


def _list_program_points(report: _Report, reasons: Iterable[_Report]) -> Iterator[str]:
    """The operations that stand, their groups, and the line of code that issued them."""
    for group in report["groups"][:2]:
        yield f"{group['op']} of {group['desc'] or group['pg']}"
    for reason in reasons:
        if found := _POINT.search(reason["text"]):
            yield found[1]


def _list_words(texts: Iterable[str], names: set[str]) -> list[str]:
    """The distinct words of these lines that are no names, numbers or addresses."""
    words = {
        word: None
        for text in texts
        for chunk in _CHUNK.findall(text.lower())
        if chunk.strip(".:") not in names and not _VOLATILE.search(chunk)
        for word in _WORD.findall(chunk)
    }
    return list(words)[:_MAX_WORDS]
