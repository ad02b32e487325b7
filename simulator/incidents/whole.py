"""Write one whole incident: dumps, kernel logs, job logs, ``job.json``, and the truth beside it."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

from simulator.files import Folder
from simulator.incidents import (
    background,
    beginning,
    everyday,
    job_voice,
    progress,
)
from simulator.incidents.fault_run import run_into_fault
from simulator.incidents.incident_files import DAY, IncidentFiles
from simulator.incidents.scenarios import Scenario, named
from simulator.incidents.story import Story
from simulator.incidents.truth import IncidentTruth
from simulator.incidents.world import SECOND, build_world
from simulator.request import EPOCH_NS, ranks_in
from simulator.truth import truth_path
from triage.domain.category import HARDWARE, LLAMA3_ROW, Category

# Parts of a node whose fault is at none of its GPUs.
_BESIDE_THE_GPUS = frozenset(
    {
        Category.NIC,
        Category.NETWORK,
        Category.SSD,
        Category.POWER,
        Category.CHASSIS,
        Category.CPU,
        Category.HOST_MEMORY,
    }
)


@dataclass(frozen=True, slots=True)
class Wish:
    """How the incident is written; ``missing`` is the part of files that is left out.

    ``bury`` consequence lines of all ranks are added, so that the cause is hard to see.
    ``telemetry`` adds what sensors show; ``heat`` is one of :data:`HEATS`, "" for what the
    scenario says. ``live`` are looks taken while the job hung, of :data:`LIVE_SOURCES`.
    """

    ranks: int = 64
    gpus_per_node: int = 8
    seed: int = 0
    culprit: int | None = None
    skew_s: float = 3.0
    missing: float = 0.0
    entries: int = 200
    frames: int = 3
    kernel_lines: int = 30
    job_lines: int = 40
    dumps: bool = True
    bury: int = 0
    id: str = ""
    telemetry: bool = False
    heat: str = ""
    live: tuple[str, ...] = ()


def simulate_incident(name: str, out: Path, wish: Wish | None = None) -> IncidentTruth:
    """Write an incident of a scenario or category under ``out``; the truth lies beside it.

    The same arguments give the same bytes. Raises UsageError.
    """
    wish = wish or Wish()
    scenario = named(name, wish.seed)
    wish = replace(
        wish, entries=max(wish.entries, scenario.entries), skew_s=min(wish.skew_s, scenario.skew_s)
    )
    seed = f"{scenario.name}/{wish.seed}/{wish.ranks}"
    chance = random.Random(f"{seed}/story")
    kind = chance.choice(scenario.dumps)
    ranks_in("culprit", () if wish.culprit is None else (wish.culprit,), wish.ranks)
    out = Path(out)
    Folder(out, "flat", "", wish.gpus_per_node).check()
    story = _story(scenario, wish, seed, chance)
    ran = None
    if kind:
        ran = run_into_fault(story, kind, seed=wish.seed, entries=wish.entries, frames=wish.frames)
    _tell(scenario, story, kind, wish)
    files = IncidentFiles(out, story, wish.missing, random.Random(f"{seed}/missing"))
    if ran is not None and wish.dumps:
        files.write_dumps(ran[1])
    if ran is not None and wish.live and story.hang:
        files.write_looks(ran[0], wish.live, scenario.category)
    files.write_logs()
    if wish.telemetry:
        default_heat = "culprit" if scenario.category == "gpu_thermal" else "none"
        files.write_telemetry(wish.heat or default_heat)
    files.write_facts(runs=scenario.verdicts == ("straggler",), well=scenario.category == "none")
    truth = _truth(scenario, wish, kind, files)
    truth.save(truth_path(out))
    return truth


def _story(scenario: Scenario, wish: Wish, seed: str, chance: random.Random) -> Story:
    """The world, its culprit, and when the job began, before anything is told."""
    base = EPOCH_NS - int(chance.uniform(0.1, 54.0) * DAY)
    world = build_world(seed, wish.ranks, wish.gpus_per_node, base, wish.skew_s)
    culprit = chance.randrange(wish.ranks) if wish.culprit is None else wish.culprit
    start = base - int(chance.uniform(0.2, 20.0) * 3600 * SECOND)
    story = Story(world, chance, culprit, start, base, base)
    story.iteration = chance.randrange(200, 90_000)
    story.culprit_nodes, story.culprit_ranks = [story.node.index], [culprit]
    if Category(scenario.category) in HARDWARE - _BESIDE_THE_GPUS:
        story.gpus = [story.bus]
    return story


def _tell(scenario: Scenario, story: Story, kind: str, wish: Wish) -> None:
    """Cause, consequences, background: in this order, so that each knows what came before."""
    chance = story.chance
    scenario.tell(story)
    healthy = scenario.category in ("none", "straggler") or kind in ("healthy", "straggler")
    if "no-dump" in kind:
        story.silent_ranks.add(story.culprit)
    if story.hang and kind == "host-stall":
        story.silent_ranks.add(story.culprit)
    if not healthy:
        # Who is guilty prints first; who failed with it is in the tables.
        first = [(story.culprit, scenario.code)]
        if story.hang:
            job_voice.watchdog(story)
            if story.without_dump and chance.random() < 0.6:
                job_voice.peers_closed(story, 2.0, sorted(story.without_dump), most=6)
            end = (story.end_ns - story.fault_ns) / SECOND
            speakers = [r for r in story.waits if r not in story.silent_ranks]
            first = [(chance.choice(speakers), -6)] if speakers else first
            job_voice.agents_give_up(story, end, first)
            everyday.teardown(story, end)
        else:
            end = 70.0 if scenario.category == "ssd" else 2.0
            job_voice.peers_closed(story, end, [story.culprit])
            job_voice.agents_give_up(story, end, first)
            everyday.teardown(story, end + 3.0)
    job_voice.flood(story, wish.bury)
    shown = max(3, wish.job_lines // 2) if wish.job_lines < 200 else wish.job_lines
    beginning.job_start(story, (story.start_ns - story.fault_ns) / SECOND)
    if story.world.chance("nccl debug").random() < 0.7:
        ranks = list(range(story.world.ranks))[:2048]
        job_voice.ncclinit(story, (story.start_ns - story.fault_ns) / SECOND + 60, ranks)
    progress.iterations(story, -0.5, shown, nan=scenario.category == "numerical")
    progress.chatter(story, max((story.start_ns - story.fault_ns) / SECOND + 120, -7200.0), 6)
    background.stray(story)
    booted = story.world.chance("boot lines").random() < 0.5
    for node in story.world.nodes:
        if booted:
            everyday.boot(story, node)
        everyday.quiet_kernel(story, node, wish.kernel_lines)


def _truth(scenario: Scenario, wish: Wish, kind: str, files: IncidentFiles) -> IncidentTruth:
    story, visible = files.story, files.root_visible
    category = Category(scenario.category)
    nodes = tuple(story.world.nodes[index].name for index in sorted(set(story.culprit_nodes)))
    accepted = [scenario.category, *story.accepted]
    if not visible and scenario.category not in ("none", "straggler"):
        # Without a line of the cause, what the dumps say alone is right too.
        accepted += [
            "nccl_timeout",
            {"device-stall": "gpu", "host-stall": "host_stall"}.get(kind, "nccl_timeout"),
        ]
    return IncidentTruth(
        id=wish.id,
        scenario=scenario.name,
        category=scenario.category,
        accepted=tuple(dict.fromkeys(accepted)),
        llama3_row=LLAMA3_ROW[category],
        culprit_nodes=nodes,
        culprit_ranks=tuple(story.culprit_ranks),
        gpus=tuple(story.gpus),
        affected_nodes=tuple(story.world.nodes[index].name for index in story.affected),
        cordon=nodes if category in HARDWARE else (),
        verdicts=(*scenario.verdicts, *(() if visible else ("inconclusive",))),
        healthy=scenario.category == "none",
        root_visible=visible,
        fault_at_ns=story.fault_ns,
        dumps=kind,
        world_size=story.world.ranks,
        num_nodes=len(story.world.nodes),
        seed=wish.seed,
        left_out=tuple(files.left_out),
    )
