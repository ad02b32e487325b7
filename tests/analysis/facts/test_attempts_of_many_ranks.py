"""What many ranks print is judged as it is for a few, at a cost that grows with its lines."""

import math
import random
from collections.abc import Sequence
from typing import Final

import numpy as np

from tests.support.spent import spent_s
from triage.analysis.facts.attempts import find_new_processes
from triage.analysis.facts.outlived import Track
from triage.analysis.facts.stop import SECOND
from triage.analysis.joining.unclaimed_faults import TOGETHER_NS, on_several_gpus
from triage.analysis.placement.gpu_names import JOINED
from triage.analysis.progress.course import Course
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.progress.series import Place, Step

MANY: Final = 16_384


def row_at(line: int, **fields: object) -> Evidence:
    known = {"signature": "python.exception", "kind": Kind.PYTHON, "role": EvidenceRole.ROOT}
    return Evidence(artifact="job.log", line=line, text="", **(known | fields))  # type: ignore[arg-type]


def course_at(lines: Sequence[int], at: Sequence[float], ns: Sequence[float]) -> Course:
    steps = [
        Step(Place(line, k, at_ns=None if math.isnan(ns[k]) else int(ns[k])), "iteration", k, {})
        for k, line in enumerate(lines)
    ]
    file = LogFile("job.log", LogKind.JOB)
    return Course(file, steps, [], np.array(at, float), np.array(ns, float))


def goes_on(course: Course, line: int) -> bool:
    """More than one step behind a line, counted one by one."""
    lines = [step.place.line for step in course.counted]
    above = [k for k in range(len(lines)) if lines[k] <= line]
    known = [course.ns[k] for k in above if not math.isnan(course.ns[k])]
    since = max(known, default=-math.inf) - SECOND
    behind = range(len(above), len(lines))
    steps = {course.at[k] for k in behind if not course.ns[k] < since}
    return len(steps - {course.at[len(above) - 1] if above else None}) > 1


def test_steps_behind_a_line_are_those_that_a_count_finds() -> None:
    rng = random.Random(5)
    found = []
    for _ in range(400):
        size = rng.randrange(1, 14)
        lines = sorted(rng.sample(range(1, 60), size))
        at = [float(rng.randrange(4)) for _ in lines]
        ns = [rng.choice((math.nan, *(k * SECOND for k in range(6)))) for _ in lines]
        course = course_at(lines, at, ns)
        track = Track.read(course, [])
        for line in range(62):
            expected = goes_on(course, line)
            found.append(expected)
            assert track.goes_on_behind(row_at(line)) == expected, (lines, at, ns, line)
    assert 0.1 < sum(found) / len(found) < 0.9


def test_rows_and_steps_of_many_ranks_cost_what_their_lines_do() -> None:
    lines = list(range(1, 3 * MANY, 2))
    at = [float(k // MANY) for k in range(len(lines))]
    track = Track.read(course_at(lines, at, [math.nan] * len(lines)), [])
    rows = [row_at(line) for line in range(2, 3 * MANY, 3)]
    assert spent_s(lambda: [track.goes_on_behind(row) for row in rows], 1.0) < 1.0


def joined(line: int, seat: int, pid: int) -> Evidence:
    return row_at(line, signature=JOINED, kind=Kind.IDENTITY, node=f"n{seat}", gpu="0", pid=pid)


def test_new_processes_of_many_ranks() -> None:
    rows = [joined(k + 1, k, 1000 + k) for k in range(MANY)]
    assert list(find_new_processes(rows)) == []
    again = [joined(MANY + 10 + k, k, 900_000 + k) for k in range(MANY)]
    started = [start.line for start in find_new_processes([*rows, *again])]
    assert started == [MANY + 9]
    heard_later = [joined(3 * MANY + k, k, 1000 + k) for k in range(MANY)]
    assert list(find_new_processes([*rows, *again, *heard_later, *again])) == []
    assert spent_s(lambda: list(find_new_processes([*rows, *again])), 2.0) < 2.0


def fault(gpu: str | None, at_s: float | None, last_s: float | None = None) -> Evidence:
    at_ns = None if at_s is None else int(at_s * SECOND)
    last_ns = None if last_s is None else int(last_s * SECOND)
    return row_at(1, kind=Kind.XID, gpu=gpu, at_ns=at_ns, last_at_ns=last_ns)


def is_any_pair_together(faults: Sequence[Evidence]) -> bool:
    """Whether some two of different GPUs are near, each with each."""
    for one in faults:
        for other in faults:
            if one.gpu is None or other.gpu is None or one.gpu == other.gpu:
                continue
            if one.at_ns is None or other.at_ns is None:
                return True
            if abs((one.last_at_ns or one.at_ns) - other.at_ns) <= TOGETHER_NS:
                return True
    return False


def test_faults_of_several_gpus_are_those_that_pairs_show() -> None:
    rng = random.Random(6)
    found = []
    for _ in range(3000):
        faults = []
        for _ in range(rng.randrange(1, 6)):
            at_s = rng.choice((None, *[rng.randrange(1, 900) for _ in range(12)]))
            last_s = at_s + rng.randrange(300) if at_s is not None and rng.random() < 0.3 else None
            faults.append(fault(rng.choice((None, "a", "b", "c")), at_s, last_s))
        found.append(is_any_pair_together(faults))
        assert on_several_gpus(faults) == found[-1], faults
    assert 0.1 < sum(found) / len(found) < 0.9


def test_faults_of_one_gpu_cost_what_their_number_does() -> None:
    faults = [fault("a", k) for k in range(MANY)] + [fault("b", MANY + 3600)]
    assert spent_s(lambda: on_several_gpus(faults), 1.0) < 1.0
