"""Job logs with a course of our making, and what is said of them."""

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from triage.analysis.facts.on_one_clock import on_one_clock
from triage.analysis.progress.job import judge_health, measure_progress
from triage.domain.job import Job
from triage.domain.progress import Health, JobProgress
from triage.formats.gather import gather

BEGAN = datetime(2026, 3, 4, 5, 0, tzinfo=UTC)


def clock(seconds: float) -> str:
    return (BEGAN + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def noisy(level: float, count: int, noise: float = 0.01, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [level * (1 + rng.gauss(0, noise)) for _ in range(count)]


def training(
    times: Sequence[float],
    losses: Sequence[float] | None = None,
    first: int = 100,
    total: int = 90_000,
    extra: str = "",
    scale: float = 1.0,
) -> list[str]:
    """Lines of Megatron-LM: ``times`` are seconds of each step, and pass on the clock."""
    lines, now = [], 0.0
    for number, took in enumerate(times):
        now += took * scale
        loss = losses[number] if losses is not None else 2.5 - 0.0001 * number
        lines.append(
            f" [{clock(now)}] iteration {first + number:8d}/{total:8d} | elapsed time per iteration"
            f" (ms): {took * scale * 1000:.1f} | lm loss: {loss:.6E} | loss scale: 1.0 |{extra}"
        )
    return lines


def course(folder: Path, lines: Iterable[str], **others: str) -> JobProgress | None:
    """What the logs tell; ``others`` are logs beside it, by name."""
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / "train.log").write_text("\n".join(lines) + "\n")
    for name, text in others.items():
        (folder / "logs" / f"{name}.log").write_text(text)
    _, _, logs, _, _ = gather([folder], None)
    return measure_progress(on_one_clock(logs, None, Job(), None).logs.files)


def health(folder: Path, lines: Iterable[str], **others: str) -> Health:
    return judge_health(course(folder, lines, **others))[0]
