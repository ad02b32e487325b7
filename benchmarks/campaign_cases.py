"""Incidents of any generator, one after the other, each with what a right answer is.

A fit and a campaign see the same things of every generator: a path, and ``Expected``.
"""

import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simulator.campaign import Campaign, draw
from simulator.incidents.scenarios import SCENARIOS
from simulator.incidents.truth import IncidentTruth
from simulator.incidents.whole import Wish, simulate_incident
from triage.analysis.answer import Weighing, weigh_incident
from triage.formats.gather import gather

SIMULATE = "simulate"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a right answer to one incident is; alternatives and ties are taken in.

    ``nodes`` may be named first and convicted, ``ranks`` may be named first; without
    ``ranks`` nobody can know the rank. With ``nobody`` there is no node to blame: whoever
    is convicted is innocent, but for ``nodes`` where a truth lets some be named all the same.
    ``behind`` share the cause (a leaf switch): right to name together, never alone.
    ``cordon`` is all that may be taken out of service.
    """

    id: str
    kind: str
    generator: str
    category: str
    row: str | None
    categories: frozenset[str]
    nodes: frozenset[str]
    ranks: frozenset[int]
    nobody: bool
    behind: frozenset[str] = frozenset()
    cordon: frozenset[str] = frozenset()
    verdicts: tuple[str, ...] = ()
    healthy: bool = False
    hard: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """How ``triage simulate`` is asked for a campaign.

    ``_evenly`` takes every scenario in turn, else they come as often as in the Llama 3 table.
    """

    seed: int
    count: int
    ranks: tuple[int, ...] = (16, 64)
    missing: float = 0.0
    skew_s: float = 3.0
    dumps: bool = True
    healthy: int = 0
    kernel_lines: int = 30
    evenly: bool = False
    live: tuple[str, ...] = ()


def settings(seed: int, count: int) -> list[Setting]:
    """The ways in which incidents come in: whole, with gaps, with wrong clocks, logs alone."""
    whole = Setting(seed, count, (16, 32, 64), evenly=True)
    return [
        whole,
        replace(whole, seed=seed + 10_000, count=count // 2, missing=0.2),
        replace(whole, seed=seed + 20_000, count=count // 2, skew_s=300.0),
        replace(whole, seed=seed + 30_000, count=count // 3, dumps=False),
    ]


def simulated_cases(
    setting: Setting, folder: Path | None = None, share: tuple[int, int] = (0, 1)
) -> Iterator[tuple[Path, Expected]]:
    """Incidents of ``triage simulate``; each is gone when the next is asked for.

    With ``share`` (k, n) only each n-th is written, from the k-th on.
    """
    with ExitStack() as stack:
        scratch = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if setting.evenly:
            drawn = _evenly(setting, scratch, share)
        else:
            campaign = Campaign(setting.count, setting.healthy, setting.seed, setting.ranks)
            wish = Wish(
                missing=setting.missing,
                skew_s=setting.skew_s,
                dumps=setting.dumps,
                kernel_lines=setting.kernel_lines,
                live=setting.live,
            )
            drawn = draw(scratch, campaign, wish, share=share)
        for path, truth in drawn:
            yield path, of_simulated(truth)
            shutil.rmtree(path, ignore_errors=True)


def _evenly(
    setting: Setting, folder: Path, share: tuple[int, int]
) -> Iterator[tuple[Path, IncidentTruth]]:
    """Every scenario in turn."""
    chance = random.Random(f"cases/{setting.seed}")
    names = sorted(SCENARIOS)
    for number in range(setting.count):
        wish = Wish(
            ranks=chance.choice(setting.ranks), seed=setting.seed * 1000 + number,
            skew_s=setting.skew_s, missing=setting.missing, dumps=setting.dumps,
            kernel_lines=setting.kernel_lines, id=f"{number:04d}", live=setting.live,
        )  # fmt: skip
        if number % share[1] == share[0]:
            out = folder / wish.id
            yield out, simulate_incident(names[number % len(names)], out, wish)


def of_simulated(truth: IncidentTruth) -> Expected:
    """What the truth of ``triage simulate`` asks for."""
    return Expected(
        truth.id, truth.scenario, SIMULATE, truth.category, truth.llama3_row,
        frozenset({truth.category, *truth.accepted}), frozenset(truth.culprit_nodes),
        frozenset(truth.culprit_ranks), not truth.culprit_nodes and not truth.culprit_ranks,
        frozenset(truth.affected_nodes), frozenset(truth.cordon), truth.verdicts, truth.healthy,
        () if truth.root_visible else ("no line of the cause",),
    )  # fmt: skip


def folder_cases(
    folder: Path, generator: str = "", share: tuple[int, int] = (0, 1)
) -> Iterator[tuple[Path, Expected]]:
    """Incidents that lie in a folder: ``cases/ID`` and ``truth/ID.json``; they are kept."""
    truths = sorted((folder / "truth").glob("*.json"))
    for file in truths[share[0] :: share[1]]:
        truth = json.loads(file.read_text(encoding="utf-8"))
        yield folder / "cases" / file.stem, of_campaign(truth, generator or folder.name)


def of_campaign(truth: Mapping[str, Any], generator: str) -> Expected:
    """What the truth of a campaign's folder asks for."""
    guilty, ranks = set(truth["culprit_nodes"]), set(truth["culprit_ranks"])
    ties = {rank for some in truth["alternate_rank_sets"] for rank in some} if ranks else set()
    return Expected(
        truth["id"], truth["kind"], generator, truth["category"], truth["llama3_category"],
        frozenset({truth["category"], *truth["acceptable"]}),
        frozenset({*guilty, *truth["alternate_nodes"]}), frozenset({*ranks, *ties}),
        not guilty and not ranks, frozenset(), frozenset(truth["cordon_allowed"]),
        tuple(truth["verdict_kinds"]), truth["category"] == "none", tuple(truth["hard_reasons"]),
    )  # fmt: skip


def weighed_of(path: Path) -> Weighing:
    """What ``triage analyze`` makes its answer from."""
    _, dumps, logs, facts, _ = gather([path], None, None)
    return weigh_incident(dumps, logs, facts)
