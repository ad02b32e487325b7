"""Thousands of small jobs: some that are well, some that stopped, of dumps, logs or both.

A job is drawn from its number alone, so one that fails a test is made again by that number.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from simulator import simulate
from simulator.incidents.scenarios import SCENARIOS
from simulator.incidents.whole import Wish, simulate_incident
from simulator.kinds import KINDS
from simulator.timeline import Pulls
from triage.domain.evidence import EvidenceRole
from triage.signatures.registry import load_all_signatures

# Kinds of which nothing that was collected says that the job stopped.
RUNS: Final = ("healthy", "healthy-live", "straggler", "slow-gpu", "slow-link", "slow-stage",
               "slow-since", "input-bound")  # fmt: skip
STOPS: Final = tuple(sorted(name for name in KINDS if name not in RUNS))
BAD_ENDS: Final = tuple(sorted(
    name for name, one in SCENARIOS.items()
    if one.category != "none" and "straggler" not in one.verdicts
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class GeneratedJob:
    """A folder as ``triage analyze`` takes it, and what was done to it in a few words."""

    number: int
    path: Path
    what: str


Maker = Callable[[random.Random, Path], str]


def generate(makers: tuple[Maker, ...], numbers: range, scratch: Path) -> Iterator[GeneratedJob]:
    """The jobs of ``numbers``, each maker in turn."""
    for number in numbers:
        path = scratch / f"{number:05d}"
        chance = random.Random(f"many-jobs/{number}")
        what = makers[number % len(makers)](chance, path)
        yield GeneratedJob(number, path, f"{number}: {what}")


def dumps_of_a_healthy_job(chance: random.Random, path: Path) -> str:
    """A job that came to its end, or that runs while its dumps are pulled."""
    kind = chance.choice(("healthy", "healthy-live"))
    pulls = None
    if kind == "healthy-live":
        pulls = Pulls(
            spread_ms=chance.choice((0.0, 200.0, 3_000.0)),
            ranks_together=chance.choice((1, 4)),
            save_every=chance.choice((0, 0, 10)),
            save_ms=chance.choice((500.0, 5_000.0)),
        )
    seed = chance.getrandbits(20)
    simulate(
        kind, path, ranks=chance.choice((2, 4, 8, 8, 16)), seed=seed, pulls=pulls,
        entries=chance.choice((24, 60, 200)), frames=1, skew_ms=chance.choice((0.0, 40.0)),
        timing=chance.random() < 0.5 if kind == "healthy" else None,
        only_active=False, run_ahead=chance.random() < 0.7, job_json=chance.random() < 0.7,
    )  # fmt: skip
    return f"{kind} {seed} {pulls}"


def dumps_of_a_stopped_job(chance: random.Random, path: Path) -> str:
    """A job with a fault after which ranks wait for each other."""
    kind, seed = chance.choice(STOPS), chance.getrandbits(20)
    simulate(
        kind, path, ranks=chance.choice((8, 8, 16)), seed=seed, frames=1,
        entries=chance.choice((60, 200)), timing=chance.random() < 0.5,
        skew_ms=chance.choice((0.0, 40.0)), job_json=chance.random() < 0.7,
    )  # fmt: skip
    return f"{kind} {seed}"


def incident_of_a_healthy_job(chance: random.Random, path: Path) -> str:
    """Everyday lines of kernels and of the job beside its dumps."""
    seed = chance.getrandbits(20)
    simulate_incident("healthy-job", path, drawn_wish(chance, seed))
    return f"healthy-job {seed}"


def incident_of_a_stopped_job(chance: random.Random, path: Path) -> str:
    """Any cause of the simulator that ends a job."""
    name, seed = chance.choice(BAD_ENDS), chance.getrandbits(20)
    simulate_incident(name, path, drawn_wish(chance, seed))
    return f"{name} {seed}"


def drawn_wish(chance: random.Random, seed: int) -> Wish:
    return Wish(
        ranks=chance.choice((8, 16)), seed=seed, entries=60, frames=1,
        kernel_lines=chance.choice((0, 10)), dumps=chance.random() < 0.7,
        live=("stacks", "ras") if chance.random() < 0.2 else (),
    )  # fmt: skip


def log_of_a_healthy_job(chance: random.Random, path: Path) -> str:
    """A log that moves to its end, with a line in its middle that is known to be harmless."""
    line = chance.choice(harmless_lines())
    log = JobLog(chance)
    log.move(chance.randrange(12, 40))
    if chance.random() < 0.7:
        log.add(line)
    log.move(chance.randrange(12, 40))
    log.write(path, exit_code=chance.choice((0, 0, None)))
    return f"{log.style} {line!r}"


def log_of_a_stopped_job(chance: random.Random, path: Path) -> str:
    """A log that ends with a line that can be the origin of a stop, wherever the bar stood."""
    line = chance.choice(fatal_lines())
    full = chance.random() < 0.4
    log = JobLog(chance, total=40 if full else 900)
    log.move(40)
    log.wait(chance.choice((0.3, 20.0, 900.0)))
    log.add(line)
    log.write(path, exit_code=chance.choice((1, 134, None)))
    return f"{log.style} full={full} {line!r}"


class JobLog:
    """The log of a job of one node, in the words of one of several frameworks."""

    STYLES: Final[dict[str, str]] = {
        "megatron": " iteration {n:8d}/{total:8d} | consumed samples: {n:8d} | elapsed time per "
        "iteration (ms): {ms:.1f} | learning rate: 3.0E-04 | lm loss: {loss:.6E} |",
        "titan": "step: {n:2d}  loss: {loss:.4f}  memory: 40.21GiB(50.9%)  tps: 5,120  mfu: 41.2%",
        "trainer": "{{'loss': {loss:.4f}, 'grad_norm': 0.41, 'learning_rate': 3e-05, "
        "'epoch': {epoch:.2f}}}",
        "bar": " {percent:3d}%|#####     | {n}/{total} [{spent}<{left}, {rate:.2f}it/s]",
    }

    def __init__(self, chance: random.Random, total: int = 900) -> None:
        self.chance = chance
        self.style = chance.choice(sorted(self.STYLES))
        self.total, self.step = total, 0
        self.at = datetime(2026, 4, 24, 16, 0, tzinfo=UTC)
        self.pace_s = chance.choice((0.4, 2.0, 11.0))
        self.stamped = chance.random() < 0.8
        self.lines: list[str] = []

    def move(self, steps: int) -> None:
        for _ in range(steps):
            self.step += 1
            self.at += timedelta(seconds=self.pace_s * self.chance.uniform(0.97, 1.03))
            spent = int(self.step * self.pace_s)
            left = int((self.total - self.step) * self.pace_s)
            self.put(
                self.STYLES[self.style].format(
                    n=self.step, total=self.total, ms=1000 * self.pace_s,
                    loss=2.4 - 0.001 * self.step, epoch=self.step / 100,
                    percent=100 * self.step // self.total, rate=1 / self.pace_s,
                    spent=f"{spent // 60:02d}:{spent % 60:02d}",
                    left=f"{left // 60:02d}:{left % 60:02d}",
                )
            )  # fmt: skip

    def wait(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def add(self, text: str) -> None:
        for line in text.split("\n"):
            self.put(line)

    def put(self, line: str) -> None:
        stamp = f"[{self.at:%Y-%m-%d %H:%M:%S},{self.at.microsecond // 1000:03d}] "
        self.lines.append((stamp if self.stamped else "") + line)

    def write(self, path: Path, exit_code: int | None) -> None:
        path.mkdir(parents=True)
        (path / "train.log").write_text("\n".join(self.lines) + "\n", "utf-8")
        if exit_code is not None:
            (path / "job.json").write_text(f'{{"job_id": "1", "exit_code": {exit_code}}}')


def harmless_lines() -> list[str]:
    """Lines of programs that signatures know as harmless, or as advice."""
    return lines_with((EvidenceRole.NOISE, EvidenceRole.ADVICE))


def fatal_lines() -> list[str]:
    """Lines of programs that end their process; what needs another source ends none by itself."""
    return lines_with((EvidenceRole.ROOT,), weak=False)


def lines_with(roles: tuple[EvidenceRole, ...], *, weak: bool = True) -> list[str]:
    return [
        line
        for one in load_all_signatures()
        if one.role in roles and one.kind in ("python", "cuda", "nccl", "elastic")
        if weak or not one.weak
        for line in one.matches
        if line.isprintable()
    ]


# An incident costs as much as four of the others.
HEALTHY: Final = (
    incident_of_a_healthy_job, *4 * (dumps_of_a_healthy_job, log_of_a_healthy_job),
)  # fmt: skip
STOPPED: Final = (
    incident_of_a_stopped_job, *4 * (dumps_of_a_stopped_job, log_of_a_stopped_job),
)  # fmt: skip
