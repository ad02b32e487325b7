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
    for seed in SEEDS:
        other = changed(rule, name, one.incident, seed)
        if other is None:
            continue
        after = answered(other)
        lost = broken(rule.keeps, one.said, after, one.by_dumps, one.case)
        if lost:
            return f"{', '.join(lost)}: {one.said} -> {after}"
    return ""
