"""The daily swing of step time: how well it is recovered, and how often noise is taken for one.

    python -m benchmarks.daily_swing [--trials 1000] [--seed 1] [--json FILE]

Series are made here: step times around 1 s with a cosine of 24 h and noise of 2 % of the mean,
white or with a memory (AR(1), given from one sample to the next), sampled evenly or at uneven
times. Recovered means found, and the amplitude A within 20 %. Noise alone is to be called a
swing in one series of a hundred at most; status 1 where it is more than chance explains.
"""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter
from scipy.stats import binom

from benchmarks.table import aligned, machine, write_json
from triage.statistics.cause_mix import estimate_share
from triage.statistics.daily_cycle import FALSE_ALARM, fit_daily_cycle

NOISE: Final = 0.02
WITHIN: Final = 0.2
PEAK_HOUR: Final = 14.0
# A false rate of 1 % gives more alarms than this only once in a thousand benchmarks.
TOO_MANY: Final = 0.999

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """``swing`` is A over the mean; ``memory`` the AR(1) coefficient of the noise."""

    days: float
    per_day: int
    swing: float = 0.0
    memory: float = 0.0
    uneven: bool = False

    @property
    def samples(self) -> int:
        """Samples of the series."""
        return round(self.days * self.per_day)


WITH_SWING: Final = tuple(
    Case(days, per_day, swing, memory, uneven)
    for days, per_day in ((14, 24), (14, 96), (14, 288), (28, 288))
    for swing in (0.005, 0.0075, 0.01)
    for memory, uneven in ((0.0, False), (0.0, True), (0.5, False))
)
NOISE_ALONE: Final = tuple(
    Case(days, per_day, 0.0, memory, uneven)
    for days, per_day in ((4, 24), (14, 24), (14, 96), (28, 96), (60, 24))
    for memory, uneven in ((0.0, False), (0.0, True), (0.5, False), (0.9, False), (0.98, False))
)


def series(case: Case, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Hours and step times in s; noise has the same spread whatever its memory."""
    n = case.samples
    hours: Floats = np.arange(n, dtype=np.float64) * (24 / case.per_day)
    if case.uneven:
        hours = np.sort(chance.uniform(0, case.days * 24, n))
    # The beginning is thrown away: noise with a memory does not start from rest.
    rest = lfilter([1], [1, -case.memory], chance.normal(size=n + 1_000))[1_000:]
    rest *= NOISE * np.sqrt(1 - case.memory**2)
    swing = case.swing * np.cos(2 * np.pi * (hours - PEAK_HOUR) / 24)
    return hours, np.asarray(1 + swing + rest, np.float64)


def recovered(case: Case, trials: int, seed: int) -> dict[str, float]:
    """Shares of trials: found, within 20 % of A, both, interval holds A; and the median error."""
    chance = np.random.default_rng([seed, case.samples, round(case.swing * 1e6)])
    found = near = both = held = 0
    errors = []
    for _ in range(trials):
        told = fit_daily_cycle(*series(case, chance))
        amplitude = told.amplitude
        if amplitude.value is None or amplitude.low is None or amplitude.high is None:
            continue
        off = abs(amplitude.value - case.swing) / case.swing
        errors.append(off)
        found += bool(told.found)
        near += off <= WITHIN
        both += bool(told.found) and off <= WITHIN
        held += amplitude.low <= case.swing <= amplitude.high
    counts = {"found": found, "near": near, "both": both, "held": held}
    shares = {name: count / trials for name, count in counts.items()}
    return {**shares, "median_off": float(np.median(errors))}


def false_alarms(case: Case, trials: int, seed: int) -> int:
    """Series of noise alone that were called a swing."""
    chance = np.random.default_rng([seed, case.samples, round(case.memory * 100), case.uneven])
    return sum(bool(fit_daily_cycle(*series(case, chance)).found) for _ in range(trials))


def noise_name(case: Case) -> str:
    """``white``, ``white, uneven`` or ``AR(1) 0.5``."""
    if case.memory:
        return f"AR(1) {case.memory:g}"
    return "white, uneven" if case.uneven else "white"


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables; 1 where noise is taken for a swing too often."""
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--trials", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--json", type=Path)
    given = options.parse_args(argv)
    print(f"{machine()}; {given.trials} trials a row, seed {given.seed}, noise {NOISE:.0%}\n")
    began = time.perf_counter()
    rows = [*_swings(given.trials, given.seed)]
    print()
    alarms, fine = _noise(given.trials, given.seed)
    each = (time.perf_counter() - began) / (given.trials * (len(WITH_SWING) + len(NOISE_ALONE)))
    print(f"\n{1e3 * each:.1f} ms a series, making it included")
    write_json(given.json, "daily_swing", [*rows, *alarms], trials=given.trials, seed=given.seed)
    return 0 if fine else 1


def _swings(trials: int, seed: int) -> list[dict[str, object]]:
    rows, table = [], []
    for case in WITH_SWING:
        told = recovered(case, trials, seed)
        inflation = (1 + case.memory) / (1 - case.memory)
        error = NOISE * math.sqrt(2 / case.samples * inflation) / case.swing
        rows.append({"days": case.days, "n": case.samples, "A": case.swing,
                     "noise": noise_name(case), **told})  # fmt: skip
        table.append(
            [
                f"{case.swing:.2%}", noise_name(case), f"{case.days:g}", f"{case.samples:,}",
                f"{error:.0%}", f"{told['found']:.1%}", f"{told['near']:.1%}",
                f"{told['both']:.1%}", f"{told['median_off']:.1%}", f"{told['held']:.1%}",
            ]
        )  # fmt: skip
    head = ["A", "noise", "days", "n", "se / A", "found", "within 20 %", "both", "median off",
            "A in interval"]  # fmt: skip
    print(aligned(head, table))
    return rows


def _noise(trials: int, seed: int) -> tuple[list[dict[str, object]], bool]:
    most = int(binom.ppf(TOO_MANY, trials, FALSE_ALARM))
    rows: list[dict[str, object]] = []
    table, fine = [], True
    for case in NOISE_ALONE:
        alarms = false_alarms(case, trials, seed)
        fine = fine and alarms <= most
        high = estimate_share(alarms, trials).high
        rows.append({"days": case.days, "n": case.samples, "noise": noise_name(case),
                     "false_alarms": alarms})  # fmt: skip
        table.append([noise_name(case), f"{case.days:g}", f"{case.samples:,}",
                      f"{alarms / trials:.1%}", f"{high or 0:.1%}"])  # fmt: skip
    print(aligned(["noise alone", "days", "n", "false alarms", "95 % below"], table))
    return rows, fine


if __name__ == "__main__":
    sys.exit(main())
