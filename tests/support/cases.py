"""Incidents of several generators in memory, each with what is true of it.

A campaign by another author is a folder of ``cases/ID`` and ``truth/ID.json``.
"""

import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from simulator.campaign import Campaign, draw
from simulator.incidents.truth import IncidentTruth
from simulator.perturb.incident import Incident, load

RECORDED = Path(__file__).parents[1] / "incidents"
# Nanoseconds from the failure to the end, where a truth tells only of the first.
SOME_MINUTES_NS = 600_000_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """Where incidents come from: ``own``, ``recorded``, or a folder; and this process's share."""

    generator: str
    count: int
    seed: int
    share: tuple[int, int] = (0, 1)
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Case:
    """An incident and its truth: ``guilty`` may be convicted, nobody else."""

    id: str
    what: str
    incident: Incident
    guilty: frozenset[str]
    guilty_ranks: frozenset[int]
    categories: frozenset[str]


def cases_of(source: Source) -> Iterator[Case]:
    """The share of one process, one at a time; each has the one before it as another job."""
    found = {"own": simulated, "recorded": recorded}.get(source.generator, campaign)(source)
    last: Incident | None = None
    for case in found:
        yield replace(case, incident=replace(case.incident, other=last))
        last = replace(case.incident, other=None)


def simulated(source: Source) -> Iterator[Case]:
    """Of ``triage simulate``."""
    with tempfile.TemporaryDirectory() as scratch:
        drawn = draw(Path(scratch), Campaign(source.count, seed=source.seed), share=source.share)
        for path, truth in drawn:
            if not source.ids or path.name in source.ids:
                yield simulated_case(path, truth)
            shutil.rmtree(path)


def simulated_case(path: Path, truth: IncidentTruth) -> Case:
    """One of ``triage simulate``, from its folder."""
    incident = load(path)
    end = instant(facts_of(incident).get("failed_at"))
    return case_of(
        path.name, truth.scenario, incident, set(truth.culprit_nodes), set(truth.culprit_ranks),
        {truth.category, *truth.accepted},
        truth.fault_at_ns, end or truth.fault_at_ns + SOME_MINUTES_NS,
    )  # fmt: skip


def campaign(source: Source) -> Iterator[Case]:
    """Of a folder: ``count`` of its cases, drawn by the seed."""
    folder = Path(source.generator)
    names = sorted(path.stem for path in (folder / "truth").glob("*.json"))
    if source.ids:
        names = [name for name in names if name in source.ids]
    chosen = random.Random(source.seed).sample(names, min(source.count, len(names)))
    for name in sorted(chosen)[source.share[0] :: source.share[1]]:
        truth = json.loads((folder / "truth" / f"{name}.json").read_text())
        ranks = {int(rank): node for rank, node in truth["rank_to_node"].items()}
        incident = load(folder / "cases" / name, truth["nodes"], ranks)
        yield case_of(
            name, truth["kind"], incident, {*truth["culprit_nodes"], *truth["alternate_nodes"]},
            {*truth["culprit_ranks"], *(r for some in truth["alternate_rank_sets"] for r in some)},
            {truth["category"], *truth["acceptable"]},
            instant(truth["fault_at"]), instant(truth["ended_at"]),
        )  # fmt: skip


def recorded(source: Source) -> Iterator[Case]:
    """Of ``tests/incidents``: dumps as the recorder writes them, and logs."""
    folders = sorted(path.parent for path in RECORDED.glob("*/expected.json"))[: source.count]
    for folder in folders[source.share[0] :: source.share[1]]:
        if source.ids and folder.name not in source.ids:
            continue
        yield recorded_case(folder)


def recorded_case(folder: Path) -> Case:
    """One of ``tests/incidents``, from its folder."""
    truth = json.loads((folder / "expected.json").read_text())
    given = folder / ("files" if "suspects" in truth else truth.get("dumps", "fr"))
    incident = load(given)
    end = instant(facts_of(incident).get("failed_at"))
    start = end - SOME_MINUTES_NS if end is not None else None
    return case_of(
        folder.name, truth.get("kind", ""), incident, set(truth.get("suspects", ())),
        set(truth.get("culprit_ranks", ())), {truth["category"]}, start, end,
    )  # fmt: skip


def case_of(
    name: str, what: str, incident: Incident, guilty: set[str], ranks: set[int],
    categories: set[str], start_ns: int | None, end_ns: int | None,
) -> Case:  # fmt: skip
    known = replace(
        incident,
        innocent=frozenset(set(incident.nodes) - guilty),
        start_ns=start_ns,
        end_ns=end_ns,
    )
    return Case(name, what, known, frozenset(guilty), frozenset(ranks), frozenset(categories))


def facts_of(incident: Incident) -> Mapping[str, Any]:
    try:
        found = json.loads(incident.files.get("job.json", b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def instant(text: object) -> int | None:
    """RFC 3339 as ns since the epoch."""
    if not isinstance(text, str):
        return None
    return int(datetime.fromisoformat(text).timestamp() * 1e9)
