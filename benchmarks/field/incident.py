"""One incident in the making: a job, its nodes, the moment of the fault, and what it leaves.

A kind (see `kinds/`) takes an Incident, lets the fault happen, and says what is true of it.
"""

# ruff: noqa: E501
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from benchmarks.field.dumps import mesh as meshes
from benchmarks.field.dumps import program as programs
from benchmarks.field.dumps import recorder
from benchmarks.field.dumps.mesh import Mesh
from benchmarks.field.dumps.program import Op, Program
from benchmarks.field.dumps.run import Fault, Run, simulate
from benchmarks.field.envelopes import draw as draw_form
from benchmarks.field.joblog import FRAMEWORKS, PREFIXES, JobLog, prologue
from benchmarks.field.nodes import Node, draw_nodes
from benchmarks.field.noise.boot import boot
from benchmarks.field.noise.decoys import decoy, repaired
from benchmarks.field.noise.everyday import everyday
from benchmarks.field.noise.teardown import teardown
from benchmarks.field.platforms import PLATFORMS, Platform

START = 1_735_900_000.0  # January 2025
OPS_AT_MOST = 7000


@dataclass(slots=True)
class Truth:
    """What a careful engineer could say from the folder. Nodes are indexes."""

    category: str = "none"
    acceptable: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=lambda: ["inconclusive"])
    nodes: list[int] = field(default_factory=list)
    alternates: list[int] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    rank_sets: list[list[int]] = field(default_factory=list)
    ranks_sure: bool = False  # named in text: no dump or map is needed
    cordon: list[int] = field(default_factory=list)
    cordon_allowed: list[int] = field(default_factory=list)
    suspects: bool | None = None
    notes: list[str] = field(default_factory=list)
    hard: list[str] = field(default_factory=list)


class Incident:
    """A job on a platform, until it stops or somebody looks at it."""

    def __init__(self, ident: str, kind: str, rng: random.Random, platform: Platform) -> None:
        self.id, self.kind, self.rng, self.platform = ident, kind, rng, platform
        per = platform.per_node
        sizes = [2, 2, 3, 4, 4, 6, 8] if per == 8 else [4, 4, 8, 8, 12, 16]
        self.count = rng.choice(sizes)
        self.world = self.count * per
        self.mesh: Mesh = meshes.draw(rng, self.world, per)
        self.step_s = rng.choice([0.8, 2.1, 5.4, 11.0, 33.0])
        self.program: Program = self._program()
        self.at = START + rng.uniform(0, 540 * 86400)  # the fault
        self.nodes: list[Node] = draw_nodes(rng, platform, self.count, self.at - 86400)
        order = list(range(self.count))
        if rng.random() < 0.3:
            rng.shuffle(order)
        self.order = order  # place in the job -> node index
        self.scheduler = rng.choice(platform.schedulers)
        self.job = (
            str(rng.randrange(1000, 4_000_000))
            if self.scheduler in ("slurm", "lsf", "pbs")
            else f"{rng.choice(['llm', 'moe', 'sft', 'pretrain'])}-{rng.getrandbits(24):06x}"
        )
        self.form = draw_form(rng, platform.key)
        self.new_torch = rng.random() < 0.75
        self.version = (
            rng.choice(["2.10", "2.10", "2.9", "2.7"])
            if self.new_torch
            else rng.choice(["2.4", "2.5", "2.3"])
        )
        self.timing = rng.random() < 0.15
        self.timeout = rng.choice([600, 600, 600, 1800, 900, 300])
        self.truth = Truth()
        self.log = JobLog(
            rng,
            self.nodes,
            per,
            rng.choice(FRAMEWORKS),
            rng.choice(PREFIXES),
            self.new_torch,
            self.job,
        )
        self.log.node_of = self.node_of
        self.info = rng.random() < 0.6
        self.base = rng.choice([0, 40, 900, 5000, 61000])
        self.steps = 0
        self.run: Run | None = None
        self.fault_sim = 0.0  # the fault on the simulation's clock
        self.ended: float | None = None
        self.collected: float | None = None
        self.has_dumps = rng.random() < 0.8
        self.has_kernel = True
        self.has_job = rng.random() < 0.93
        self.no_dump: set[int] = set()
        self.cut_dumps: set[int] = set()
        self.only_active = rng.random() < 0.06
        self.lost_kernel: set[int] = set()
        self.keep_kernel: set[int] = set()
        self.lost_job: set[int] = set()
        self.keep_job: set[int] = set()
        self.files: dict[str, str] = {}
        self.live: float | None = None  # dumps taken while it runs, at this simulated time
        self.exit_code = 1
        self.started = self.at - 3600
        self.leaves: list[str] | None = None
        self.told = False  # the guilty rank says so in the job log
        self.whole_log = False  # a daemon tells: logs of the kernel alone would hide it
        self.long_log = False  # what tells lies days back
        self.ring_whole = False  # the ring holds all steps that were simulated
        self.kept: set[int] = set()  # dumps without which nobody could tell
        self.spread = 0.0  # how far apart live dumps were taken
        self.op_at: tuple[int, int] | None = None
        self.node = 0
        self.gpu = 0
        self.avoid: set[str] = set()
        self.stale = True
        self.versions = {
            "nccl": rng.choice(
                [
                    "2.18.5+cuda12.2",
                    "2.20.5+cuda12.4",
                    "2.21.5+cuda12.4",
                    "2.26.2+cuda12.8",
                    "2.27.5+cuda12.9",
                    "2.28.9+cuda13.0",
                ]
            )
        }
        self.place(rng.randrange(self.count), rng.randrange(per))

    def _program(self) -> Program:
        """A program whose steps last as long as the job log says."""
        made = programs.draw(self.rng, self.mesh)
        trial = simulate(self.mesh, made, 2, 1, self.platform.per_node)
        ends = [max(d or 0.0 for d in row) for row in trial.done]
        factor = 2 * self.step_s / max(ends)
        scaled: dict[Op, Op] = {}
        for row in made.steps:
            for i, op in enumerate(row):
                if op not in scaled:
                    scaled[op] = replace(op, cost=op.cost * factor)
                row[i] = scaled[op]
        return made

    def remesh(self, tp: int, pp: int) -> None:
        """Another mesh, where a kind needs one."""
        self.mesh = meshes.build(self.world, tp, pp, 1, self.mesh.order, self.mesh.style)
        self.program = self._program()

    # ---- places
    def place(self, node: int, gpu: int) -> None:
        """Choose where the fault is."""
        self.node, self.gpu = node, gpu

    def node_of(self, rank: int) -> int:
        """Index of the node of a rank."""
        return self.order[rank // self.platform.per_node]

    def ranks_on(self, node: int) -> list[int]:
        """Ranks of a node."""
        first = self.order.index(node) * self.platform.per_node
        return list(range(first, first + self.platform.per_node))

    @property
    def rank(self) -> int:
        """The rank of the fault."""
        return self.ranks_on(self.node)[self.gpu]

    @property
    def bad(self) -> Node:
        """The node of the fault."""
        return self.nodes[self.node]

    def others(self, count: int) -> list[int]:
        """Some other nodes."""
        rest = [i for i in range(self.count) if i != self.node]
        return self.rng.sample(rest, min(count, len(rest)))

    def clock(self, sim: float) -> float:
        """Wall time of a simulated one: the fault of the simulation is the fault of the incident."""
        return self.at + (sim - self.fault_sim)

    # ---- running
    def runs(
        self, fault: Callable[[float], Fault] | None = None, phase: float | None = None
    ) -> Run:
        """Simulate the job; the fault is made for a moment in the last step but one."""
        rng = self.rng
        self.plan()
        seed = rng.getrandbits(32)
        per = self.platform.per_node
        clean = simulate(self.mesh, self.program, self.steps, seed, per)
        moment = self.moment(clean, self.steps - 2 + (rng.random() if phase is None else phase))
        self.run = clean
        if fault is not None:
            made = fault(moment)
            self.run = simulate(self.mesh, self.program, self.steps, seed, per, made)
        self.fault_sim = moment
        return self.run

    def plan(self) -> int:
        """How many steps are simulated; fewer where a step has many operations."""
        if not self.steps:
            ops = sum(len(s) for s in self.program.steps)
            self.steps = max(3, min(8, OPS_AT_MOST // ops))
        return self.steps

    def moment(self, run: Run, step: float) -> float:
        """The simulated time at which the fault's rank is this far through the steps."""
        made = run.created[self.rank]
        n = run.per_step[self.rank]
        whole = min(int(step), self.steps - 1)
        begin = made[whole * n] or 0.0
        ends = [d for d in run.done[self.rank][whole * n : (whole + 1) * n] if d is not None]
        return begin + (step - whole) * (max(ends) - begin)

    def host_stops(self, ranks: list[int]) -> Run:
        """These ranks' hosts issue nothing more."""
        return self.runs(lambda t: Fault(host_stops=dict.fromkeys(ranks, t)))

    def device_stops(self, ranks: list[int]) -> Run:
        """These ranks' devices reach nothing more."""
        return self.runs(lambda t: Fault(device_stops=dict.fromkeys(ranks, t)))

    def dies(self, ranks: list[int]) -> Run:
        """These ranks' processes end."""
        return self.runs(
            lambda t: Fault(
                host_stops=dict.fromkeys(ranks, t), device_stops=dict.fromkeys(ranks, t)
            )
        )

    def cut_off(self, node: int) -> Run:
        """A node's ranks reach nobody outside it."""
        ranks = frozenset(self.ranks_on(node))
        return self.runs(lambda t: Fault(cut_ranks=ranks, cut_at=t))

    def stuck_fabric(self) -> Run:
        """Nothing that crosses nodes ends any more."""
        return self.runs(lambda t: Fault(stuck_at=t))

    def begin(self, steps_told: int | None = None, upto: float | None = None) -> int:
        """The log up to the fault; returns the last step told."""
        rng, log = self.rng, self.log
        told = steps_told or rng.randrange(12, 60)
        first = self.base + rng.randrange(10)
        end = upto if upto is not None else self.at
        start = end - told * self.step_s - 200
        prologue(log, self.world, start, self.versions, self.info)
        loss = rng.uniform(1.7, 3.2)
        every = 1
        for k in range(0, told, every):
            at = start + 160 + (k + 1) * self.step_s
            if at >= end:
                break
            loss *= 1 + rng.uniform(-0.01, 0.009)
            took = self.step_s * rng.uniform(0.985, 1.02)
            log.progress(at, first + k, took, loss, self.world, self.base + 100_000)
        self.started = start
        return first + told

    # ---- background
    def background(self) -> None:
        """Noise on all nodes, decoys and repaired faults on innocent ones, losses."""
        rng = self.rng
        end = (self.ended or self.at) + rng.uniform(60, 900)
        self.collected = end
        for n in self.nodes:
            boot(rng, n, n.boot)
            for b in n.reboots:
                boot(rng, n, b)
            since = max(n.boot + 120, self.at - 6 * 86400)
            everyday(rng, n, since, end, rng.randrange(20, 70))
            everyday(rng, n, max(n.boot + 60, self.at - 1200), end, rng.randrange(2, 10))
        innocent = [
            n
            for n in self.nodes
            if n.index not in self.truth.nodes and n.index not in self.truth.alternates
        ]
        if innocent and self.stale and rng.random() < 0.3:
            note = repaired(rng, rng.choice(innocent), self.at)
            if note:
                self.truth.notes.append(note)
        if innocent and rng.random() < 0.35:
            for n in rng.sample(innocent, min(len(innocent), rng.choice([1, 1, 2]))):
                if n.dead_at is None:
                    self.truth.notes.append(decoy(rng, n, self.at, frozenset(self.avoid)))
                    self.truth.hard = sorted({*self.truth.hard, "decoy"})
        if self.ended is not None:
            teardown(rng, self.nodes, self.ended, self.job, self.scheduler)
        self._losses()

    def _losses(self) -> None:
        rng = self.rng
        for r in range(self.world):
            if rng.random() < 0.006:
                self.no_dump.add(r)
        if rng.random() < 0.2:
            self.cut_dumps |= set(rng.sample(range(self.world), rng.randrange(1, 3)))
        others = [i for i in range(self.count) if i not in self.truth.nodes]
        if rng.random() < 0.25 and others:
            self.lost_kernel |= set(
                rng.sample(others, rng.randrange(1, len(others) // 2 + 2))
                if len(others) > 1
                else others
            )
        if rng.random() < 0.2 and others:
            self.lost_job |= set(rng.sample(others, max(1, len(others) // 3)))
        self.no_dump -= self.kept
        self.cut_dumps -= self.no_dump | self.kept

    def recorder(self) -> recorder.Recorder:
        """How the dumps of this job are written."""
        rng = self.rng
        ring = rng.choice([None, None, rng.randrange(60, 160)]) if not self.ring_whole else None
        return recorder.Recorder(
            self.version, self.timing, self.base, self.clock(0.0), self.timeout * 1000, ring,
            self.only_active, recorder.stacks(rng) if rng.random() < 0.75 else None,
            self.versions["nccl"].split("+")[0], rng.choice(["pt_main_thread", "python3", "python"]),
        )  # fmt: skip

    def say(self, category: str, kinds: list[str], *also: str) -> Truth:
        """The truth: a category, fair verdicts (best first), other fair categories."""
        self.truth.category, self.truth.kinds = category, kinds
        self.truth.acceptable = list(also)
        return self.truth

    def blame(self, ranks: list[int] | None = None, cordon: bool = False) -> Truth:
        """The fault's node is the answer; with the ranks that the evidence names."""
        t = self.truth
        t.nodes = [self.node]
        t.ranks = sorted(ranks) if ranks is not None else []
        if cordon:
            t.cordon = [self.node]
        return t


def draw_platform(
    rng: random.Random, only: str | None = None, vendor: str | None = None
) -> Platform:
    """A platform by chance, of a vendor where the kind asks for one."""
    fit = [
        p
        for p in PLATFORMS
        if (only is None or p.key in only.split(",")) and vendor in (None, p.vendor)
    ]
    return rng.choice(fit)
