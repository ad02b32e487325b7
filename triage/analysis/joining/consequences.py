"""Root before consequence: which rows of evidence another row on the same node explains.

A line's own role is what it is when it stands alone. Beside others it may follow
from one of them: the second error of a dead GPU, the file system on a lost disk,
the exception of a process whose device is gone. What is explained is heard no
more; what remains are the roots of the incident.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.analysis.facts.stop import SECOND
from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Trait
from triage.domain.toml_tables import read_toml


@dataclass(frozen=True, slots=True)
class Rule:
    """A row with a mark of ``cause`` explains those with a mark of ``effects``.

    On the same node (``gpu``: on the same GPU too, where both say theirs), from
    ``before_s`` before the cause to ``after_s`` after it.
    """

    cause: frozenset[str]
    effects: frozenset[str]
    after_s: float
    before_s: float = 1.0
    gpu: bool = False


_RULES: Final = tuple(
    Rule(**{**rule, **{side: frozenset(rule[side].split()) for side in ("cause", "effects")}})
    for rule in read_toml("triage.analysis.joining", "consequences")["rule"]
)

# What processes print when something below them fails; it names no part by itself.
_SYMPTOMS: Final = frozenset({Kind.PYTHON, Kind.ELASTIC, Kind.NCCL, Kind.CUDA})
_SURE_SOFTWARE: Final = frozenset(
    {Category.COLLECTIVE_MISMATCH, Category.GPU_OOM, Category.DEPENDENCY, Category.NUMERICAL}
)
_MOST: Final = 400


def is_lost_gpu(row: Evidence) -> bool:
    """Whether it says that a GPU does not answer on its bus."""
    return Trait.GPU_LOST in row.traits or (row.kind is Kind.XID and row.code == 79)


def is_own_port(row: Evidence) -> bool:
    """Whether a process says that a port of its own adapter fails, which no program makes it do."""
    return row.category is Category.NETWORK and row.blame is Blame.SELF and row.kind is Kind.NCCL


def list_marks(row: Evidence) -> frozenset[str]:
    """What rules can be written about: code, category, kind, and whether it is a symptom."""
    found = {f"kind:{row.kind}"}
    if row.kind is Kind.XID and row.code is not None:
        found.add(f"xid:{row.code}")
    if row.kind is Kind.SXID:
        found.add("sxid")
        if Trait.ROOT_WHEN_ALONE in row.traits:
            found.add("sxid_alone")
    if row.category is not None:
        found.add(f"category:{row.category}")
        if not row.is_mild:
            found.add(f"category:{row.category}+fatal")
        if row.category in HARDWARE:
            found.add("hardware")
    if row.kind is Kind.SCHEDULER and row.category in HARDWARE:
        found.add("quoted")
    if row.kind is Kind.SCHEDULER and row.category is Category.HOST_MAINTENANCE:
        found.add("drained")
    if is_lost_gpu(row):
        found.add("lost")
    if Trait.GPU_NOT_STARTED in row.traits:
        found.add("not_started")
    sure = row.category in _SURE_SOFTWARE and row.kind is not Kind.CUDA
    if row.kind in _SYMPTOMS and not (sure or is_own_port(row)):
        found.add("job")
    return frozenset(found)


def find_explanations(
    rows: Sequence[Evidence], is_old: Callable[[Evidence], bool] = lambda _row: False
) -> dict[int, int]:
    """Index of a root row -> index of the row that explains it, for rows of one node.

    Rows are dated or not; undated ones are taken to be of the same moment, but for what
    ``is_old``: trouble of another time explains nothing that another log tells without one.
    Chains are followed to their beginning.
    """
    if len(rows) < 2:
        return {}
    roots = [
        index
        for index, row in enumerate(rows)
        if row.role is EvidenceRole.ROOT
        and not row.is_generic
        and (not row.is_mild or row.kind is Kind.SCHEDULER)
    ][:_MOST]
    if not roots:
        return {}
    effects = [
        index for index, row in enumerate(rows) if row.role is EvidenceRole.ROOT and not row.is_mild
    ][:_MOST]
    marked = {index: list_marks(rows[index]) for index in {*roots, *effects}}
    with_mark: dict[str, list[int]] = defaultdict(list)
    for index in roots:
        for mark in marked[index]:
            with_mark[mark].append(index)
    parents: dict[int, int] = {}
    for effect in effects:
        for cause in _find_candidate_causes(effect, rows, marked, with_mark):
            apart = rows[effect].artifact != rows[cause].artifact
            if apart and rows[effect].at_ns is None and is_old(rows[cause]):
                continue
            if not _is_reachable(parents, cause, effect):
                parents[effect] = cause
                break
    return {effect: _find_top(parents, effect) for effect in parents}


def _find_candidate_causes(
    effect: int,
    rows: Sequence[Evidence],
    marked: Mapping[int, frozenset[str]],
    with_mark: Mapping[str, Sequence[int]],
) -> Iterator[int]:
    """The rows that may explain ``effect`` by the first rule that has any, the earliest first."""
    for rule in _RULES:
        if not rule.effects & marked[effect]:
            continue
        candidates = {index for mark in rule.cause for index in with_mark.get(mark, ())}
        fitting = [
            cause
            for cause in candidates
            if cause != effect
            and (rows[effect].weak or not rows[cause].weak)
            and marked[cause] != marked[effect]
            and _is_in_time(rule, rows[cause], rows[effect])
            and _is_same_gpu(rule, rows[cause], rows[effect])
        ]
        if fitting:
            yield from sorted(fitting, key=lambda index: (rows[index].at_ns or 0, index))
            return


def _is_in_time(rule: Rule, cause: Evidence, effect: Evidence) -> bool:
    up, late_up = cause.stamp.uptime_ns, effect.stamp.uptime_ns
    if (
        cause.artifact == effect.artifact
        and (cause.at_ns is None or effect.at_ns is None)
        and up is not None
        and late_up is not None
    ):
        return -rule.before_s * SECOND <= late_up - up <= rule.after_s * SECOND
    together = cause.at_ns is None or effect.at_ns is None or cause.at_ns == effect.at_ns
    if together and cause.artifact == effect.artifact and rule.before_s < 1:
        return (cause.line or 0) <= (effect.line or 0)
    if cause.at_ns is None or effect.at_ns is None:
        return True
    slack = min(cause.error_ns + effect.error_ns, 60 * SECOND)
    if cause.artifact == effect.artifact:
        slack = 0  # one log, one clock
    late = effect.at_ns - cause.at_ns
    last = cause.last_at_ns or cause.at_ns
    return (
        -rule.before_s * SECOND - slack
        <= late
        <= last - cause.at_ns + (rule.after_s * SECOND + slack)
    )


def _is_same_gpu(rule: Rule, cause: Evidence, effect: Evidence) -> bool:
    return not rule.gpu or cause.gpu is None or effect.gpu is None or cause.gpu == effect.gpu


def _is_reachable(parents: Mapping[int, int], start: int, goal: int) -> bool:
    while start in parents:
        start = parents[start]
        if start == goal:
            return True
    return start == goal


def _find_top(parents: Mapping[int, int], start: int) -> int:
    while start in parents:
        start = parents[start]
    return start
