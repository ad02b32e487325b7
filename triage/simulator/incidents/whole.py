"""Write one whole incident: dumps, kernel logs, job logs, ``job.json``, and the truth beside it."""

import gzip
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from triage.domain.category import HARDWARE, LLAMA3_ROW, Category
from triage.errors import UsageError
from triage.simulator.files import Folder, utc
from triage.simulator.incidents import (
    background,
    beginning,
    everyday,
    job_voice,
    progress,
)
from triage.simulator.incidents.envelopes import FORMS, kernel_log
from triage.simulator.incidents.job_files import job_files, style_of
from triage.simulator.incidents.scenarios import Scenario, named
from triage.simulator.incidents.sources import source_files
from triage.simulator.incidents.story import KernelLine, Story, Waiting
from triage.simulator.incidents.telemetry import sensors_of
from triage.simulator.incidents.telemetry_files import telemetry_files
from triage.simulator.incidents.truth import IncidentTruth
from triage.simulator.incidents.world import SECOND, World, build_world
from triage.simulator.kinds import kind_named, shape_for
from triage.simulator.operation import Part
from triage.simulator.physics import NEVER
from triage.simulator.plan import Plan, normal_plan
from triage.simulator.request import EPOCH_NS, Request, ranks_in
from triage.simulator.run import Run, steps_counted
from triage.simulator.scene import Fault, Scene
from triage.simulator.timeline import Timeline, run_job
from triage.simulator.topology import Topology
from triage.simulator.truth import truth_path

__all__ = ["Wish", "simulate_incident"]

DAY = 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class Wish:
    """How the incident is written; ``missing`` is the part of files that is left out.

    ``bury`` consequence lines of all ranks are added, so that the cause is hard to see.
    ``telemetry`` adds what sensors show; ``heat`` is one of :data:`HEATS`, "" for what the
    scenario says.
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


def simulate_incident(name: str, out: Path, wish: Wish | None = None) -> IncidentTruth:
    """Write an incident of a scenario or category under ``out``; the truth lies beside it.

    The same arguments give the same bytes. Raises UsageError.
    """
    wish = wish or Wish()
    scenario = named(name, wish.seed)
    wish = replace(
        wish,
        entries=max(wish.entries, scenario.entries),
        skew_s=min(wish.skew_s, scenario.skew_s),
    )
    seed = f"{scenario.name}/{wish.seed}/{wish.ranks}"
    chance = random.Random(f"{seed}/story")
    kind = chance.choice(scenario.dumps)
    ranks_in("culprit", () if wish.culprit is None else (wish.culprit,), wish.ranks)
    folder = Folder(Path(out), "flat", "", wish.gpus_per_node)
    folder.check()
    base = EPOCH_NS - int(chance.uniform(0.1, 54.0) * DAY)
    world = build_world(seed, wish.ranks, wish.gpus_per_node, base, wish.skew_s)
    culprit = chance.randrange(wish.ranks) if wish.culprit is None else wish.culprit
    start = base - int(chance.uniform(0.2, 20.0) * 3600 * SECOND)
    story = Story(world, chance, culprit, start, base, base)
    story.iteration = chance.randrange(200, 90_000)
    node = world.node_of(culprit).index
    story.culprit_nodes, story.culprit_ranks = [node], [culprit]
    leaf = Category(scenario.category)
    if leaf in HARDWARE and leaf not in (
        Category.NIC, Category.NETWORK, Category.SSD, Category.POWER, Category.CHASSIS,
        Category.CPU, Category.HOST_MEMORY,
    ):  # fmt: skip
        story.gpus = [world.bus_of(culprit)]
    played = _play(wish, kind, story) if kind and (wish.dumps or kind != "") else None
    _tell(scenario, story, kind, wish)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    left: list[str] = []
    drop = random.Random(f"{seed}/missing")
    if played is not None and wish.dumps:
        _write_dumps(out, played, story, wish, drop, left)
    visible = _write_logs(out, story, wish, drop, left)
    if wish.telemetry:
        heat = wish.heat or ("culprit" if scenario.category == "gpu_thermal" else "none")
        sensors = sensors_of(story, heat)
        for name, text in telemetry_files(story, sensors):
            _write(out / name, text, packed=story.world.chance("packed").random() < 0.3)
        visible |= heat == "culprit"
    known = world.chance("facts")
    if known.random() < 0.85:
        facts = _facts(story, known, runs=scenario.verdicts == ("straggler",),
                       well=scenario.category == "none")  # fmt: skip
        (out / "job.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    truth = _truth(scenario, story, wish, kind, visible, left)
    truth.save(truth_path(out))
    return truth


@dataclass(slots=True)
class Played:
    """A job that was run into its fault, ready for its dumps."""

    run: Run
    fault: Fault


def _play(wish: Wish, kind_name: str, story: Story) -> Played | None:
    """Run the job; the story learns when the fault was, and who waits for what."""
    kind = kind_named(kind_name)
    shape = shape_for(kind, wish.ranks, None, None, None)
    asked = Request(
        kind, shape, story.culprit, wish.seed, wish.entries, None, wish.frames, kind.timing,
        True, True, wish.gpus_per_node, 0.0, 60.0, (), (), (), False, "2.10",
    )  # fmt: skip
    topology = Topology(shape)
    normal = normal_plan(topology, asked.style())
    scene = Scene(topology, asked.style(), normal.copy(), asked.culprit, asked.chance("fault"))
    try:
        fault = kind.fault(scene)
    except UsageError:
        return None
    pace = asked.pace(normal)
    timeline = run_job(topology, normal, fault, pace)
    story.iteration = pace.steps
    waits, since = _waits(topology, timeline, normal, pace.steps)
    begin = story.fault_ns - since
    story.waits = {rank: _moved(wait, begin) for rank, wait in waits.items()}
    story.hang = bool(waits)
    story.fault_ns += int(story.chance.uniform(-0.5, 0.4) * SECOND) if waits else 0
    story.end_ns = begin + int(timeline.dump_at.max())
    story.without_dump |= set(fault.without_dump)
    nodes = np.arange(wish.ranks) // wish.gpus_per_node
    skew = np.array([node.skew_ns for node in story.world.nodes], np.int64)
    return Played(Run(topology, timeline, asked.format(), begin + skew[nodes], wish.seed), fault)


def _moved(wait: Waiting, begin: int) -> Waiting:
    return replace(wait, since_ns=wait.since_ns + begin)


def _waits(
    topology: Topology,
    timeline: Timeline,
    normal: Plan,
    steps: int,
) -> tuple[dict[int, Waiting], int]:
    """Each rank's oldest open operation, as c10d counts it, and when the first of them began."""
    found, last = timeline.final, timeline.last
    waits: dict[int, Waiting] = {}
    for rank in range(topology.shape.ranks):
        program = int(found.program_of[rank])
        begin = int(found.program_start[program])
        count = int(found.program_start[program + 1]) - begin
        before = steps_counted(list(normal.of(rank)))
        done: dict[int, int] = {}
        open_op: tuple[int, int, Any] | None = None
        enqueued = 0
        for at in range(count):
            row = int(last.first[rank]) + at
            if last.created[row] >= NEVER:
                break
            op = found.ops[int(found.op_of[begin + at])]
            if op.part is Part.MEMBER or op.is_p2p or op.part is Part.CLOSER:
                if op.part is not Part.MEMBER and open_op is None and last.ended[row] >= NEVER:
                    open_op = (at, 1, op)
                continue
            done[op.slot] = done.get(op.slot, 0) + 1
            if open_op is None and last.ended[row] >= NEVER:
                open_op = (at, done[op.slot], op)
            if open_op is not None and open_op[2].slot == op.slot:
                enqueued = done[op.slot]
        if open_op is None:
            continue
        at, order, op = open_op
        group = int(topology.group_of[rank, op.slot])
        passed = steps * int(before[op.slot, 0])
        numel = [int(np.prod(shapes[0])) if shapes else 0 for shapes in (op.inputs, op.outputs)]
        waits[rank] = Waiting(
            topology.name(group), topology.desc(group), int(topology.group_rank_of[rank, op.slot]),
            passed + order, op.name, numel[0], numel[1],
            int(last.created[int(last.first[rank]) + at]), passed + max(enqueued, order),
            passed + order - 1,
        )  # fmt: skip
    since = min((wait.since_ns for wait in waits.values()), default=0)
    return waits, since


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


def _write_dumps(
    out: Path, played: Played, story: Story, wish: Wish, drop: random.Random, left: list[str]
) -> None:
    style = story.world.chance("dump names")
    prefix = style.choice(("nccl_trace_rank_", "comm_lib_trace_rank_", "trace_"))
    by_node = style.random() < 0.3
    desk = played.run.desk()
    for rank in range(wish.ranks):
        if rank in story.without_dump:
            continue
        name = f"{prefix}{rank}"
        place = out / "nodes" / story.world.node_of(rank).name if by_node else out / "fr"
        if drop.random() < wish.missing:
            left.append(name)
            continue
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(bytes(played.run.dump(rank, desk)))


def _write_logs(out: Path, story: Story, wish: Wish, drop: random.Random, left: list[str]) -> bool:
    """Kernel logs, then job logs; whether a line of the cause can be read."""
    forms = list(FORMS)
    style = story.world.chance("forms")
    one = style.choice(forms) if style.random() < 0.6 else ""
    visible = False
    for node in story.world.nodes:
        lines = sorted(story.kernel.get(node.index, []), key=lambda line: line.at_ns)
        node.form = one or style.choice(forms)
        name = f"nodes/{node.name}/kernel.log"
        # A story may say that the kernel log of a node was lost: -1 - node.
        if drop.random() < wish.missing or -1 - node.index in story.silent_nodes:
            left.append(name)
            continue
        lines = _cut(lines, story, style)
        visible |= any(line.root for line in lines)
        _write(out / name, kernel_log(node, lines), packed=style.random() < 0.12)
    for name, text, root in job_files(story, style_of(story.world)):
        if drop.random() < wish.missing:
            left.append(name)
            continue
        visible |= root
        _write(out / name, text, packed=style.random() < 0.08)
    for name, text, root in source_files(story):
        if drop.random() < wish.missing:
            left.append(name)
            continue
        visible |= root
        _write(out / name, text, packed=False)
    return visible


def _cut(lines: list[KernelLine], story: Story, style: random.Random) -> list[KernelLine]:
    """Now and then the ring has lost its beginning, but never the day of the fault."""
    if style.random() < 0.3:
        edge = story.fault_ns - DAY
        return [line for line in lines if line.at_ns >= edge]
    return lines


def _write(path: Path, text: str, *, packed: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    if packed:
        path = path.with_name(path.name + ".gz")
        data = gzip.compress(data, 6, mtime=0)
    path.write_bytes(data)


def _facts(story: Story, chance: random.Random, *, runs: bool, well: bool) -> dict[str, Any]:
    """``job.json`` as a launcher that knows more or less writes it."""
    world: World = story.world
    names = [node.name for node in world.nodes]
    facts: dict[str, Any] = {
        "job_id": world.job_id, "name": "pretrain", "world_size": world.ranks,
        "gpus_per_node": world.gpus_per_node, "nodes": names,
        "started_at": utc(story.start_ns), "failed_at": utc(story.end_ns),
    }  # fmt: skip
    if chance.random() < 0.7:
        facts["gpu_bus_ids"] = {
            node.name: [f"{bus}.0" for bus in node.buses[: world.gpus_per_node]]
            for node in world.nodes
        }
    if chance.random() < 0.6:
        facts["leaf_switch"] = {node.name: node.leaf for node in world.nodes}
    if chance.random() < 0.1 or runs or well:
        del facts["failed_at"]
    if well and chance.random() < 0.5:
        facts["exit_code"] = 0
    return facts


def _truth(
    scenario: Scenario, story: Story, wish: Wish, kind: str, visible: bool, left: list[str]
) -> IncidentTruth:
    category = Category(scenario.category)
    nodes = tuple(story.world.nodes[index].name for index in sorted(set(story.culprit_nodes)))
    accepted = [scenario.category, *story.accepted]
    if not visible and scenario.category not in ("none", "straggler"):
        # Without a line of the cause, what the dumps say alone is right too.
        accepted += ["nccl_timeout", {"device-stall": "gpu", "host-stall": "host_stall"}.get(
            kind, "nccl_timeout")]  # fmt: skip
    return IncidentTruth(
        id=wish.id, scenario=scenario.name, category=scenario.category,
        accepted=tuple(dict.fromkeys(accepted)), llama3_row=LLAMA3_ROW[category],
        culprit_nodes=nodes, culprit_ranks=tuple(story.culprit_ranks),
        gpus=tuple(story.gpus),
        affected_nodes=tuple(story.world.nodes[index].name for index in story.affected),
        cordon=nodes if category in HARDWARE else (),
        verdicts=(*scenario.verdicts, *(() if visible else ("inconclusive",))),
        healthy=scenario.category == "none", root_visible=visible, fault_at_ns=story.fault_ns,
        dumps=kind, world_size=story.world.ranks, num_nodes=len(story.world.nodes),
        seed=wish.seed, left_out=tuple(left),
    )  # fmt: skip
