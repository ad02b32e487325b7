"""Simulated incidents one after the other, read and weighed: what the weights are fitted on."""

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triage.analysis.answer import Weighed, weigh_up
from triage.errors import TriageError
from triage.parsers.gather import read_all
from triage.parsers.inputs import find_inputs
from triage.parsers.job_file import load_job
from triage.simulator.incidents.scenarios import SCENARIOS
from triage.simulator.incidents.truth import IncidentTruth
from triage.simulator.incidents.whole import Wish, simulate_incident

__all__ = ["Setting", "cases", "settings", "weighed_of"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One campaign: every scenario in turn, ``count`` incidents in all."""

    seed: int
    count: int
    missing: float = 0.0
    skew_s: float = 3.0
    dumps: bool = True


def settings(seed: int, count: int) -> list[Setting]:
    """The ways in which incidents come in: whole, with gaps, with wrong clocks, logs alone."""
    return [
        Setting(seed, count),
        Setting(seed + 10_000, count // 2, missing=0.2),
        Setting(seed + 20_000, count // 2, skew_s=300.0),
        Setting(seed + 30_000, count // 3, dumps=False),
    ]


def cases(setting: Setting, folder: Path) -> Iterator[tuple[Weighed, IncidentTruth]]:
    """Each incident is written below ``folder``, weighed and removed again."""
    chance = random.Random(f"cases/{setting.seed}")
    names = sorted(SCENARIOS)
    for number in range(setting.count):
        out = folder / f"{number:04d}"
        wish = Wish(
            ranks=chance.choice((16, 32, 64)),
            seed=setting.seed * 1000 + number,
            skew_s=setting.skew_s,
            missing=setting.missing,
            dumps=setting.dumps,
            id=f"{number:04d}",
        )
        try:
            truth = simulate_incident(names[number % len(names)], out, wish)
            weighed = weighed_of(out)
        except TriageError as error:
            print(json.dumps({"scenario": names[number % len(names)], "error": str(error)}))
            continue
        finally:
            shutil.rmtree(out, ignore_errors=True)
        yield weighed, truth


def weighed_of(path: Path) -> Weighed:
    """What ``triage analyze`` makes its answer from."""
    inputs = find_inputs([path])
    facts, _, job_file = load_job(inputs, None)
    files = [file for file in inputs.files if file.path != job_file]
    dumps, logs = read_all(files, inputs)
    return weigh_up(dumps, logs, facts)
