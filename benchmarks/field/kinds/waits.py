"""Stops that only the dumps explain: a host that issues no more, ranks that disagree, a slow rank."""

# ruff: noqa: E501
from benchmarks.field.dumps.program import Op
from benchmarks.field.dumps.run import Fault, altered
from benchmarks.field.endings import by_timeout, cancelled
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.gpu import lose_dumps
from benchmarks.field.kinds.registry import kind


def _stall(c: Incident) -> None:
    rng = c.rng
    c.has_dumps = True
    c.only_active = False
    c.host_stops([c.rank])
    c.begin()
    if rng.random() < 0.4:
        lose_dumps(c, (1, 0, 1))
    silent = {c.rank} if rng.random() < 0.8 else set()
    by_timeout(c, silent)
    c.say("host_stall", ["hang"])
    c.blame([c.rank])
    if c.rank in c.no_dump:
        c.truth.acceptable += ["nccl_timeout", "gpu"]


@kind("host_stall", "host_stall", 4)
def host_stall(c: Incident) -> None:
    """One rank's host issues nothing more; at most a word of it anywhere."""
    _stall(c)
    rng, n, t = c.rng, c.bad, c.at
    pick = rng.choice(["none", "none", "hung", "warn", "lock"])
    if pick == "hung":
        c.keep_kernel.add(c.node)
        n.say(
            t + 121, f"INFO: task {n.process}:{n.pids[c.gpu]} blocked for more than 120 seconds.", 3
        )
        n.say(
            t + 121,
            f"task:{n.process:<15} state:D stack:    0 pid:{n.pids[c.gpu]} ppid: 40811 flags:0x00004002",
            6,
        )
        n.say(
            t + 121,
            "Call Trace:\n <TASK>\n __schedule+0x2eb/0x8d0\n schedule+0x46/0xb0\n rwsem_down_read_slowpath+0x33b/0x4e0\n exit_mm+0x2b/0x140",
            6,
        )
    elif pick == "warn":
        c.log.say(
            t - 2,
            c.rank,
            f"[W socket.cpp:464] [c10d] waiting for worker queue; dataloader num_workers=8 prefetch empty for {rng.randrange(5, 90)} s",
        )
    c.truth.notes.append(f"host stall, {pick}")


@kind("host_stall_cascade", "host_stall", 2)
def cascade(c: Incident) -> None:
    """The same in a pipeline: most ranks wait for ranks that wait themselves."""
    options = [
        (tp, pp)
        for tp, pp in ((1, 4), (2, 4), (4, 2), (2, 2), (1, 2))
        if tp <= c.platform.per_node and c.world % (tp * pp) == 0 and c.world // (tp * pp) >= 2
    ]
    tp, pp = c.rng.choice(options)
    c.remesh(tp, pp)
    _stall(c)


def _candidates(c: Incident, same: bool = False) -> list[int]:
    """Indexes, in the last step but one, of a rank's collectives that can disagree."""
    ops = c.program.steps[c.rank]
    found = []
    for i, op in enumerate(ops):
        if op.kind == "coll" and op.name != "all_to_all" and op.group != 0:
            if same:
                j = next(
                    (k for k in range(i + 1, min(i + 4, len(ops))) if ops[k].group == op.group),
                    None,
                )
                if (
                    j is None
                    or (ops[j].name, ops[j].inputs) == (op.name, op.inputs)
                    or ops[j].kind != "coll"
                    or ops[j].name == "all_to_all"
                ):
                    continue
            found.append(i)
    return found


def _disagree(c: Incident, at: int, partners: list[int]) -> None:
    run = c.run
    if run is None:
        raise ValueError("no run")
    made = run.arrived[c.rank][at] or run.created[c.rank][at] or 0.0
    c.fault_sim = made
    c.op_at = (c.rank, at)
    c.begin()
    by_timeout(c, share=1.0)
    c.say("collective_mismatch", ["desync", "hang"])
    c.blame([c.rank])
    if len(partners) == 1:
        c.truth.alternates = [c.node_of(partners[0])]
        c.truth.rank_sets = [[partners[0]]]
        c.truth.notes.append("a pair: nobody can tell which")
    c.only_active = False
    # The pair that disagrees left its dumps.
    c.kept = {c.rank, *partners}


def _changed(c: Incident, what: str) -> None:
    c.has_dumps = True
    found = _candidates(c)
    if not found:
        found = [
            i
            for i, op in enumerate(c.program.steps[c.rank])
            if op.kind == "coll" and op.name != "all_to_all"
        ]
    i = c.rng.choice(found)
    ops = c.program.steps[c.rank]
    index = (c.plan() - 2) * len(ops) + i
    c.runs(lambda _: Fault(changed={(c.rank, index): altered(ops[i], what)}))
    group = c.mesh.groups[ops[i].group]
    _disagree(c, index, [r for r in group.ranks if r != c.rank])
    c.truth.notes.append(f"{what} differs in {group.role} group of {len(group.ranks)}")


@kind("mismatch_size", "collective_mismatch", 1.6)
def size(c: Incident) -> None:
    """One rank brings another shape."""
    _changed(c, "size")


@kind("mismatch_dtype", "collective_mismatch", 1)
def dtype(c: Incident) -> None:
    """One rank brings another type."""
    _changed(c, "dtype")


@kind("mismatch_op", "collective_mismatch", 1)
def other_op(c: Incident) -> None:
    """One rank calls another operation."""
    _changed(c, "op")


@kind("mismatch_order", "collective_mismatch", 1)
def order(c: Incident) -> None:
    """One rank calls two operations of a group the other way round."""
    c.has_dumps = True
    found = _candidates(c, same=True)
    if not found:
        _changed(c, "op")
        return
    ops = c.program.steps[c.rank]
    i = c.rng.choice(found)
    j = next(k for k in range(i + 1, i + 4) if ops[k].group == ops[i].group)
    base = (c.plan() - 2) * len(ops)
    c.runs(lambda _: Fault(swapped={c.rank: (base + i, base + j)}))
    group = c.mesh.groups[ops[i].group]
    _disagree(c, base + i, [r for r in group.ranks if r != c.rank])


@kind("mismatch_p2p", "collective_mismatch", 1)
def pair(c: Incident) -> None:
    """A send and its recv differ in size."""
    options = [
        (tp, pp)
        for tp, pp in ((1, 4), (2, 2), (1, 2), (4, 2))
        if tp <= c.platform.per_node and c.world % (tp * pp) == 0 and c.world // (tp * pp) >= 2
    ]
    tp, pp = c.rng.choice(options)
    c.remesh(tp, pp)
    c.has_dumps = True
    ops: list[Op] = c.program.steps[c.rank]
    found = [i for i, op in enumerate(ops) if op.kind in ("p2p", "batch") and len(op.members) == 1]
    if not found:
        _changed(c, "size")
        return
    i = c.rng.choice(found)
    index = (c.plan() - 2) * len(ops) + i
    c.runs(lambda _: Fault(changed={(c.rank, index): altered(ops[i], "size")}))
    _disagree(c, index, [ops[i].members[0][1]])


@kind("straggler", "straggler", 2)
def straggler(c: Incident) -> None:
    """One host is late in every step; nothing stops. A person looks, or cancels."""
    rng = c.rng
    c.has_dumps = True
    c.only_active = False
    c.version = rng.choice(["2.10", "2.9", "2.7"]) if c.new_torch else c.version
    if c.mesh.pp > 1 or c.mesh.tp == 1:
        c.remesh(1, 1)
    c.steps = max(14, min(26, 16000 // sum(len(s) for s in c.program.steps)))
    lost = rng.uniform(0.15, 0.5) * c.step_s
    c.runs(lambda _: Fault(late={c.rank: lost}))
    c.live = c.fault_sim
    c.ring_whole = True
    took = c.step_s + lost
    c.step_s = took
    told = c.begin()
    t = c.at
    for k in range(rng.randrange(2, 9)):
        t += took * rng.uniform(0.98, 1.02)
        c.log.progress(t, told + k, took, 2.2, c.world, c.base + 100_000)
    if rng.random() < 0.6:
        cancelled(c, t + 20)
    c.collected = t + 60
    c.say("straggler", ["straggler"])
    c.blame([c.rank])
    c.truth.suspects = None


@kind("slowdown", "straggler", 1.5)
def slowdown(c: Incident) -> None:
    """Steps take longer and longer, or longer from one step on; no place says why."""
    rng = c.rng
    c.has_dumps = False
    c.runs()
    told = c.begin(rng.randrange(30, 70))
    t = c.at
    grow = rng.choice([1.12, 1.3, 2.0, 4.0])
    took = c.step_s
    ramp = rng.random() < 0.4
    for k in range(rng.randrange(25, 60)):
        took = (
            min(took * 1.05, c.step_s * grow) if ramp else c.step_s * grow * rng.uniform(0.99, 1.01)
        )
        t += took
        c.log.progress(t, told + k, took, 2.0, c.world, c.base + 100_000)
    if rng.random() < 0.5:
        cancelled(c, t + 30)
    else:
        c.ended = None
    c.collected = t + 30
    c.has_job = True
    c.keep_job |= set(range(c.count))
    c.say("straggler", ["straggler", "inconclusive"])
    c.truth.notes.append(f"slower by {grow}")


@kind("two_culprits", "host_stall", 0.6)
def two(c: Incident) -> None:
    """Two hosts stop on their own at the same time; either is right."""
    c.has_dumps = True
    c.only_active = False
    other = c.rng.choice([r for r in range(c.world) if r != c.rank])
    c.host_stops([c.rank, other])
    c.begin()
    by_timeout(c, {c.rank, other})
    c.say("host_stall", ["hang"])
    c.blame([c.rank])
    c.truth.alternates = [c.node_of(other)]
    c.truth.rank_sets = [[other]]
