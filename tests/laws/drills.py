"""The incidents on which the laws are held, each read and answered once.

A few of every generator: small, with innocents beside the guilty, and of all kinds of evidence
(dumps and logs, logs alone, dumps alone, nobody guilty).
"""

import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from simulator.incidents.whole import Wish, simulate_incident
from simulator.perturb.incident import Incident
from simulator.perturb.registry import named
from tests.support.answering import Answerer, AnswerSummary
from tests.support.cases import RECORDED, Case, recorded_case, simulated_case
from tests.support.flip import broken, changed, dumps_of

SEED = 11
# A change is drawn this often.
SEEDS = (1, 2)
SIMULATED = (
    "gpu-fell-off", "hbm-job-only", "ib-retries", "watchdog-only", "collective-mismatch",
    "tokenizer", "user-error", "user-error-all", "sdc-gradient", "gpu-oom",
)  # fmt: skip
LOGGED = tuple(sorted(one.name for one in RECORDED.glob("logs-*")))
DUMPED = ("gloo-dtype-mismatch-w8", "nccl-cascade-w8-tp2", "nccl-never-joins-w8")
# The same, with what tools said while the job hung in the place of its dumps.
LOOKED = ("looks-tokenizer", "looks-gpu-fell-off", "looks-watchdog-only", "looks-user-error")
WITH_LOGS = (*SIMULATED, *LOGGED)

NO_KERNEL_LOGS = {"collective-mismatch", "sdc-gradient", "gpu-oom"}
DUMPS_ALONE = {"nccl-never-joins-w8"}
# Where a change finds nothing to change: no kernel log, no innocent node, no root in words, no
# second log, no other spelling.
NOTHING_TO_CHANGE = {
    "old-faults": NO_KERNEL_LOGS,
    "teardown-lines": NO_KERNEL_LOGS,
    "clocks-off": NO_KERNEL_LOGS,
    "alarming-lines": NO_KERNEL_LOGS,
    "foreign-lines": NO_KERNEL_LOGS,
    "old-links": NO_KERNEL_LOGS,
    "other-map": NO_KERNEL_LOGS,
    "copied-log": NO_KERNEL_LOGS,
    "boot-lines": NO_KERNEL_LOGS,
    "alarming-alone": NO_KERNEL_LOGS | {"logs-healthy-with-noise-w8"},
    "other-job": NO_KERNEL_LOGS | {"logs-healthy-with-noise-w8"},
    "reworded-roots": {"ib-retries", "watchdog-only", "tokenizer", "user-error-all"}
    | {"logs-healthy-with-noise-w8"},
    "moved-log": NO_KERNEL_LOGS | {"ib-retries", "user-error-all", "logs-gpu-lost-with-dumps-w8"},
    "exchanged-logs": NO_KERNEL_LOGS | {"tokenizer", "user-error", "user-error-all"},
    "other-spelling": NO_KERNEL_LOGS | {"ib-retries", "tokenizer", "user-error"},
    "flat": {"collective-mismatch"},
    "merged-logs": {"collective-mismatch", "hbm-job-only"} | DUMPS_ALONE,
    "gzipped": DUMPS_ALONE,
    "crlf": DUMPS_ALONE,
    "ansi-colours": DUMPS_ALONE,
}


def finds_something(change: str, name: str) -> bool:
    return name not in NOTHING_TO_CHANGE.get(change, ())


@dataclass(frozen=True)
class Drill:
    """An incident, its truth, and the answers to it as it is and by its dumps alone."""

    case: Case
    incident: Incident
    said: AnswerSummary
    by_dumps: AnswerSummary | None


@cache
def answerer() -> Answerer:
    return Answerer(Path(tempfile.mkdtemp(prefix="laws-")))


@cache
def read(name: str) -> Case:
    if name not in (*SIMULATED, *LOOKED):
        return recorded_case(RECORDED / name)
    wish = Wish(ranks=32, seed=SEED)
    if name in LOOKED:
        wish = replace(wish, dumps=False, live=("stacks", "ras"))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / name
        scenario = name.removeprefix("looks-")
        return simulated_case(path, simulate_incident(scenario, path, wish))


@cache
def drill(name: str) -> Drill:
    """The incident of that name."""
    case = read(name)
    other = read("logs-hbm-w8" if name in (*SIMULATED, *LOOKED) else "tokenizer").incident
    incident = replace(answerer().with_rows(case), other=other)
    dumps = dumps_of(incident)
    by_dumps = answerer().said(dumps) if dumps else None
    return Drill(case, incident, answerer().said(incident.files), by_dumps)


def answered(incident: Incident) -> AnswerSummary:
    """The answer to an incident that was changed."""
    return answerer().said(incident.files)


def kept(name: str, change: str) -> str:
    """What did not stay as the law says, in words; nothing where all did."""
    one, rule = drill(name), named(change)
    others = [changed(rule, name, one.incident, seed) for seed in SEEDS]
    assert any(others), f"{change} finds nothing to change in {name}: say so in NOTHING_TO_CHANGE"
    asked: list[Incident] = []
    for other in others:
        # What draws nothing makes the same of each seed.
        if other is None or any(other.files == one.files for one in asked):
            continue
        asked.append(other)
        after = answered(other)
        lost = broken(rule.keeps, one.said, after, one.by_dumps, one.case)
        if lost:
            return f"{', '.join(lost)}: {one.said} -> {after}"
    return ""
