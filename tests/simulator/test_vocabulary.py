"""What simulated machines and jobs say: versions that go together, and lines that mean no harm."""

import gzip
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.incidents import beginning, everyday, progress, sources
from simulator.incidents.software import FLEETS, FRAMEWORKS, draw_software
from simulator.incidents.sources import BOARD_FORMS, BOARD_WORDS, source_files
from simulator.incidents.story import BoardEvent, Story
from simulator.incidents.whole import Wish, simulate_incident
from simulator.incidents.world import SECOND, build_world
from triage.domain.evidence import EvidenceRole
from triage.signatures import registry

FAULT_NS = 1_790_000_000 * SECOND
FILLED = {
    "n": 4711, "m": 3, "nic": "0000:0c:00.0", "gpu": "0000:18:00", "t": 1_790_000_000,
    "driver": "570.133.20", "kernel": "6.8.0-60-generic", "fw": "28.39.1002", "step": 1200,
    "module": "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.133.20", "z": "2026-11-21",
    "g": "1121 03:11:09.123456", "at": "2026-11-21 03:11:09",
    "world": 64, "half": 32, "pid": 4711, "rank": 3, "local": 3, "ip": "10.1.2.3",
}  # fmt: skip


def story_of(**software: str) -> Story:
    world = build_world("words", 16, 8, FAULT_NS, 0.0)
    world.software = replace(world.software, **software)
    return Story(
        world, random.Random("words"), 3, FAULT_NS - 3600 * SECOND, FAULT_NS, FAULT_NS + 9 * SECOND
    )


def test_what_runs_on_a_node_goes_together() -> None:
    drawn = [draw_software(random.Random(seed)) for seed in range(600)]
    by_system = {fleet.system: fleet for fleet in FLEETS}
    for one in drawn:
        assert one.driver in by_system[one.system].drivers
        assert one.kernel in by_system[one.system].kernels
    assert {one.branch for one in drawn} >= {470, 525, 535, 550, 565, 570, 580, 590}
    assert {one.kernel[:4] for one in drawn} >= {"5.4.", "5.15", "6.5.", "6.8.", "6.12"}
    assert {one.framework for one in drawn} == set(FRAMEWORKS) == set(progress.STYLES)
    assert {one.scheduler for one in drawn} == {"slurm", "kubernetes", "torchrun"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_tells_its_steps_and_a_loss_that_is_none(framework: str) -> None:
    story = story_of(framework=framework)
    progress.iterations(story, -0.5, 6, nan=True)
    told = sorted(story.job, key=lambda line: line.at_ns)
    said = "\n".join(line.text for line in told)
    assert all(line.at_ns < FAULT_NS for line in told)
    steps = [str(story.iteration - back) for back in range(6, 0, -1)]
    places = [re.search(rf"\b{step}\b", said).start() for step in steps]
    assert places == sorted(places)
    assert len(re.findall(r"(?i)loss\S*[:=]? *nan\b|loss: nan", said)) == 3


HARMLESS = [
    *everyday.QUIET, *everyday.KERNEL_HEAD, *everyday.DRIVERS_COME,
    *(f"{who}[12]: {text}" for words in sources.DAEMONS.values() for who, text in words),
    *(text for texts in beginning.STARTS.values() for text in texts),
    *beginning.UNEASY, *beginning.NCCL_SAYS,
    *(text for texts in progress.CHATTER.values() for text in texts),
]  # fmt: skip


def test_what_healthy_nodes_and_jobs_say_is_no_fault() -> None:
    harmless = (None, EvidenceRole.NOISE, EvidenceRole.ADVICE)
    assert [line for line in HARMLESS if role_of(line) not in harmless] == []


@pytest.mark.parametrize("line", [*everyday.TEARDOWN, *(text for text, _ in beginning.CPP_UNEASY)])
def test_what_is_said_at_the_ends_of_a_job_is_no_cause(line: str) -> None:
    assert role_of(line) is not EvidenceRole.ROOT


def role_of(line: str) -> EvidenceRole | None:
    match = registry.match(line.format(**FILLED), [])
    return None if match is None else match.reading.role or match.signature.role


@pytest.mark.parametrize("form", BOARD_FORMS)
@pytest.mark.parametrize("what", ["power", "fan"])
def test_every_board_tells_its_event_in_its_own_words(form: str, what: str) -> None:
    story = story_of(controller=form, scheduler="torchrun")
    story.board.append(BoardEvent(FAULT_NS, 0, what, 4, "Critical", root=True))
    told = {path: (text, root) for path, text, root in source_files(story)}
    name = BOARD_FORMS[form][1]
    text, root = told[f"nodes/{story.world.nodes[0].name}/{name}"]
    assert root
    assert not any(root for path, (_, root) in told.items() if story.world.nodes[1].name in path)
    assert any(words.format(k=4) in text for _, words in BOARD_WORDS[what][form])
    assert "2026" in text
    if name.endswith(".json"):
        assert json.loads(text)["Members"][-1]["Severity"] == "Critical"


def test_a_job_is_taken_down_by_the_scheduler_that_it_has(tmp_path: Path) -> None:
    seen = set()
    for seed in range(12):
        out = tmp_path / str(seed)
        truth = simulate_incident("preempted", out, Wish(ranks=16, seed=seed, kernel_lines=2))
        assert truth.root_visible
        texts = "\n".join(
            (
                gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            ).decode()
            for path in out.rglob("*")
            if path.suffix in (".json", ".out", ".log", ".gz")
        )
        kubernetes = "Preempted by" in texts
        assert kubernetes != ("slurmstepd" in texts)
        seen.add(kubernetes)
    assert seen == {True, False}
