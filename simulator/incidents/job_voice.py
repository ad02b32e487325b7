"""What ranks, agents and the scheduler print when a job stops: consequences, not causes."""

from dataclasses import dataclass
from datetime import UTC, datetime

from simulator.incidents.story import Story, StuckOperation, Voice
from simulator.incidents.world import SECOND, Node

_MS = 1_000_000
_UNSURE = (
    "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
    "kernels, subsequent GPU operations might run on corrupted/incomplete data."
)
_TAKEN_DOWN = "To avoid data inconsistency, we are taking the entire process down."
_OLD = ("2.0", "2.1")
# Of a large job, so many agents get to say that they give up.
_MOST_AGENTS = 12
# What the dump calls an operation, and what the watchdog calls it.
_OP_TYPE = {
    "all_reduce": "ALLREDUCE",
    "all_gather": "_ALLGATHER_BASE",
    "_all_gather_base": "_ALLGATHER_BASE",
    "reduce_scatter": "_REDUCE_SCATTER_BASE",
    "_reduce_scatter_base": "_REDUCE_SCATTER_BASE",
    "all_to_all": "ALLTOALL_BASE",
    "broadcast": "BROADCAST",
    "send": "SEND",
    "recv": "RECV",
    "coalesced": "COALESCED",
    "barrier": "ALLREDUCE",
}


def _who(story: Story, rank: int, wait: StuckOperation | None) -> str:
    """The bracket in front of c10d's text; its rank is the rank inside the group."""
    torch = story.world.torch
    if torch in (*_OLD, "2.2"):
        return f"[Rank {rank}]"
    if wait is None:
        wait = StuckOperation("0", "default_pg", rank, 0, "", 0, 0, 0, 0, 0)
    if torch == "2.4":
        return f"[PG {wait.pg} Rank {wait.group_rank}]"
    return f"[PG ID {wait.pg} PG GUID {wait.pg}({wait.desc}) Rank {wait.group_rank}]"


@dataclass(frozen=True, slots=True)
class _Report:
    """What the watchdog of ``rank`` reports: since when it waits, and who was the first to say so.

    ``own_timer`` is False for a rank that gives up because another one did.
    """

    rank: int
    reporter: int
    at_ns: int
    ran_ms: int
    own_timer: bool


def watchdog(story: Story, most: int = 1_000_000) -> None:
    """Every rank that waits reports it, one timeout after its operation began."""
    first = min((wait.since_ns for wait in story.waits.values()), default=story.fault_ns)
    speakers = [rank for rank in sorted(story.waits) if rank not in story.silent_ranks]
    speakers = speakers[:most]
    end = story.fault_ns
    chance = story.chance
    reporter = min(speakers, key=lambda rank: story.waits[rank].since_ns, default=-1)
    for rank in speakers:
        wait = story.waits[rank]
        late_ms = chance.randrange(3, 99)
        # All react to the first report within the second: their own timers are not asked again.
        own = wait.since_ns + (story.timeout_ms + late_ms) * _MS
        at = min(own, first + (story.timeout_ms + chance.randrange(300, 1400)) * _MS)
        end = max(end, at)
        ran_ms = max((at - wait.since_ns) // _MS, story.timeout_ms if own == at else 0)
        own_timer = own <= first + (story.timeout_ms + 1000) * _MS
        _report(story, _Report(rank, reporter, at, ran_ms, own_timer))
    story.end_ns = max(story.end_ns, end + 2 * SECOND)


def _report(story: Story, report: _Report) -> None:
    rank, wait, torch = report.rank, story.waits[report.rank], story.world.torch
    seconds = (report.at_ns - story.fault_ns) / SECOND
    name = _OP_TYPE.get(wait.op.split(":")[-1], wait.op.upper())
    numel = "" if torch == "2.0" else f"NumelIn={wait.numel_in}, NumelOut={wait.numel_out}, "
    work = f"WorkNCCL(SeqNum={wait.seq}, OpType={name}, {numel}Timeout(ms)={story.timeout_ms})"
    head = _who(story, rank, wait)
    timeout = (
        f"{head} Watchdog caught collective operation timeout: {work} ran for {report.ran_ms} "
        "milliseconds before timing out."
    )
    ended = f"{head} Process group watchdog thread terminated with exception: {timeout}"
    if report.own_timer:
        _c10d(story, seconds, rank, timeout, 607)
        if torch not in (*_OLD, "2.2"):
            _c10d(story, seconds, rank, _counters(story, head, wait), 1664)
    if torch not in _OLD:
        _c10d(story, seconds + 0.05, rank, _dump_signal(story, rank, report.reporter, wait), 1400)
    if torch not in (*_OLD, "2.2", "2.4") and story.chance.random() < 0.7:
        text = f"{head} ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1"
        _c10d(story, seconds + 0.06, rank, text, 1484)
    _c10d(story, seconds + 1.0, rank, f"{head} {story.pick(_UNSURE, _TAKEN_DOWN)}", 630)
    _c10d(story, seconds + 1.1, rank, ended, 1595)
    if rank == report.reporter or story.chance.random() < 0.3:
        story.log_rank(
            seconds + 1.2,
            rank,
            "terminate called after throwing an instance of 'c10::DistBackendError'",
            f"  what():  {ended}",
            "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/"
            "ProcessGroupNCCL.cpp:632 (most recent call first):",
            "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 "
            f"(0x7f{story.hexa(10)} in libc10.so)",
            "frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 "
            f"(0x7f{story.hexa(10)} in libtorch_cuda.so)",
        )


def _c10d(story: Story, seconds: float, rank: int, text: str, line: int) -> None:
    """A line of c10d's log of one rank, from about ``line`` of its source."""
    source = f"ProcessGroupNCCL.cpp:{line + story.world.chance('lines').randrange(90)}"
    story.log_rank(seconds, rank, text, voice=Voice.CPP, severity="E", source=source)


def _counters(story: Story, head: str, wait: StuckOperation) -> str:
    if story.world.torch in ("2.4", "2.5"):
        return (
            f"{head} Exception (either an error or timeout) detected by watchdog at work: "
            f"{wait.seq}, last enqueued NCCL work: {wait.enqueued}, last completed NCCL work: "
            f"{wait.completed}."
        )
    return (
        f"{head} failure detected by watchdog at work sequence id: {wait.seq} PG status: last "
        f"enqueued work: {wait.enqueued}, last completed work: {wait.completed}"
    )


def _dump_signal(story: Story, rank: int, reporter: int, wait: StuckOperation) -> str:
    head = _who(story, rank, None)
    origin = "this local rank" if rank == reporter else f" rank {reporter}"
    if rank != reporter and story.world.torch in ("2.4", "2.5", "2.6") and rank % 2:
        return f"{head} Observed flight recorder dump signal from another rank via TCPStore."
    tail = story.world.chance("advice").choice(
        (
            "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used "
            "across ranks, the order of collectives is not same for all ranks or the scheduled "
            "collective, for some reason, didn't run.",
            "This could be triggered by another thread holding the GIL, or by network errors.",
        )
    )
    return (
        f"{head} Received a dump signal due to a collective timeout from {origin} and we will try "
        f"our best to dump the debug info. Last enqueued NCCL work: {wait.enqueued}, last "
        f"completed NCCL work: {wait.completed}.{tail}"
    )


def traceback(story: Story, seconds: float, rank: int, *error: str, root: bool = True) -> None:
    """A Python traceback of ``rank`` that ends in ``error``."""
    number = story.chance.randrange(80, 600)
    code = story.pick(
        "loss = self.forward_step(batch)", "loss.backward()", "grad_norm = self.optimizer.step()"
    )
    story.log_rank(
        seconds,
        rank,
        "Traceback (most recent call last):",
        '  File "/workspace/train.py", line 412, in main',
        "    trainer.fit(model)",
        f'  File "/workspace/pretrain/trainer.py", line {number}, in train_step',
        f"    {code}",
    )
    story.log_rank(seconds, rank, *error, root=root)


def peers_closed(story: Story, seconds: float, dead: list[int], most: int = 24) -> None:
    """Ranks that talked to the dead ones see their connections close."""
    world, chance = story.world, story.chance
    peer = dead[0] if dead else story.culprit
    others = [rank for rank in range(world.ranks) if rank not in dead]
    others = [rank for rank in others if rank not in story.silent_ranks]
    others = [rank for rank in others if world.node_of(rank).index not in story.silent_nodes]
    for rank in chance.sample(others, min(most, len(others))):
        at = seconds + chance.uniform(0.05, 3.0)
        _peer_closed(story, at, rank, world.node_of(peer))


def _peer_closed(story: Story, at: float, rank: int, victim: Node) -> None:
    chance = story.chance
    way = chance.randrange(4)
    if way == 0:
        story.log_rank(
            at,
            rank,
            "misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer "
            f"{victim.fqdn}<{chance.randrange(30_000, 60_000)}>",
            "NCCL INFO misc/socket.cc:752 -> 6",
            "NCCL INFO transport/net_socket.cc:493 -> 6",
            voice=Voice.NCCL,
            severity="W",
        )
    elif way == 1:
        text = (
            "misc/ibvwrap.cc:112 NCCL WARN NET/IB : Got completion from peer "
            f"{victim.ip}<{chance.randrange(30_000, 60_000)}> with status=5 opcode=0 len=0 "
            "vendor err 249 (Recv)"
        )
        story.log_rank(at, rank, text, voice=Voice.NCCL, severity="W")
    elif way == 2:
        text = (
            "torch.distributed.DistBackendError: NCCL error in: "
            "ProcessGroupNCCL.cpp:2384, remote process exited or there was a network "
            f"error, NCCL version {story.world.nccl}"
        )
        story.log_rank(at, rank, text)
        text = (
            "ncclRemoteError: A call failed possibly due to a network error or "
            "a remote process exiting prematurely."
        )
        story.log_rank(at, rank, text)
    else:
        text = (
            f"[c10d] recvValue failed on SocketImpl(fd={chance.randrange(20, 90)}"
            f", remote=[{story.world.nodes[0].name}]:29500): Connection reset by peer"
        )
        story.log_rank(at, rank, text, voice=Voice.CPP, severity="W", source="TCPStore.cpp:125")


def sigterm(story: Story, seconds: float, node: int, spare: set[int]) -> None:
    """The agent of a node ends its other ranks."""
    world = story.world
    for rank in world.ranks_on(world.nodes[node]):
        if rank not in spare:
            story.log_agent(
                seconds,
                node,
                f"Sending process {world.pid(rank)} closing signal SIGTERM",
                source="torch/distributed/elastic/multiprocessing/api.py:900",
            )


def exit_table(
    story: Story, seconds: float, node: int, failed: list[tuple[int, int]], *, verbose: bool = True
) -> None:
    """The elastic agent's table: ``failed`` are (rank, exit code), the first seen first."""
    world = story.world
    where = world.nodes[node]
    rank, code = failed[0]
    line = (
        f"failed (exitcode: {code}) local_rank: {world.local(rank)} (pid: {world.pid(rank)}) of "
        f"binary: /usr/bin/python{world.python}"
    )
    story.log_agent(
        seconds,
        node,
        line,
        severity="E",
        source="torch/distributed/elastic/multiprocessing/api.py:874",
    )
    if not verbose:
        return
    clock = story.at(seconds) + where.skew_ns + where.zone_s * SECOND
    lines = [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        "/workspace/train.py FAILED",
        "-" * 60,
        "Failures:",
    ]
    if len(failed) == 1:
        lines.append("  <NO_OTHER_FAILURES>")
    for place, (other, exit_code) in enumerate(failed[1:4], 1):
        lines += _row(story, place, other, exit_code, clock)
    lines += ["-" * 60, "Root Cause (first observed failure):", *_row(story, 0, rank, code, clock)]
    for text in [*lines, "=" * 60]:
        story.log_agent(seconds + 0.01, node, text, source="-")


def _row(story: Story, place: int, rank: int, code: int, clock_ns: int) -> list[str]:
    world = story.world
    signal = {-6: "SIGABRT", -9: "SIGKILL", -11: "SIGSEGV", -7: "SIGBUS", -15: "SIGTERM"}.get(code)
    name = f" ({signal})" if signal and world.torch in ("2.8", "2.9") else ""
    stamp = datetime.fromtimestamp(clock_ns // SECOND, UTC).strftime("%Y-%m-%d_%H:%M:%S")
    last = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    if signal:
        last = f"Signal {-code} ({signal}) received by PID {world.pid(rank)}"
    return [
        f"[{place}]:",
        f"  time      : {stamp}",
        f"  host      : {world.node_of(rank).fqdn}",
        f"  rank      : {rank} (local_rank: {world.local(rank)})",
        f"  exitcode  : {code} (pid: {world.pid(rank)}){name}",
        "  error_file: <N/A>",
        f"  traceback : {last}",
    ]


def agents_give_up(story: Story, seconds: float, first: list[tuple[int, int]]) -> None:
    """The node of the first failure reports it; the others follow, each with a "first" of its own.

    ``first`` are the ranks that failed, with their exit codes.
    """
    world, chance = story.world, story.chance
    origin = {world.node_of(rank).index for rank, _ in first}
    if not origin & story.silent_nodes:
        for node in origin:
            mine = [(r, c) for r, c in first if world.node_of(r).index == node]
            sigterm(story, seconds + 0.5, node, {rank for rank, _ in mine})
            exit_table(story, seconds + 3.0, node, mine)
    others = {node.index for node in world.nodes} - origin - story.silent_nodes
    chosen = chance.sample(sorted(others), min(_MOST_AGENTS, len(others)))
    for place, node in enumerate(sorted(chosen)):
        _agent_gives_up(story, seconds + chance.uniform(2.0, 25.0), node, place)
    story.end_ns = max(story.end_ns, story.at(seconds + 28.0))
    if world.software.scheduler == "slurm" and world.chance("launcher").random() < 0.7:
        where = world.node_of(first[0][0]) if first else story.node
        text = f"srun: error: {where.name}: task {where.index}: Exited with exit code 1"
        story.log_scheduler(seconds + 27.0, text)
        text = f"srun: Terminating StepId={world.job_id}.0"
        story.log_scheduler(seconds + 27.5, text)


def _agent_gives_up(story: Story, at: float, node: int, place: int) -> None:
    world, chance = story.world, story.chance
    ends = [(rank, chance.choice((-6, 1, -15))) for rank in world.ranks_on(world.nodes[node])]
    if place % 3 < 2:
        sigterm(story, at, node, {ends[0][0]})
        exit_table(story, at + 1.5, node, ends, verbose=chance.random() < 0.6)
        return
    text = (
        "RendezvousConnectionError: The connection to the C10d store has failed. See inner "
        "exception for details."
    )
    source = "torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1341"
    story.log_agent(at, node, text, severity="E", source=source)


def ncclinit(story: Story, seconds: float, ranks: list[int]) -> None:
    """The set-up lines that say which rank is which process and GPU."""
    world = story.world
    comm = story.hexa(12)
    for rank in ranks:
        story.log_rank(
            seconds,
            rank,
            f"NCCL INFO cudaDriverVersion {story.world.chance('cuda').choice((12020, 12040, 12080))}",  # noqa: E501
            f"NCCL INFO Bootstrap : Using eth0:{world.node_of(rank).ip}<0>",
            f"NCCL INFO comm 0x{comm} rank {rank} nranks {world.ranks} cudaDev {world.local(rank)} "
            f"nvmlDev {world.local(rank)} busId {printed_bus(world.bus_of(rank))} commId 0x{story.world.chance('comm').getrandbits(60):x} - Init COMPLETE",  # noqa: E501
            voice=Voice.NCCL,
        )


def printed_bus(bus: str) -> str:
    """A bus id as NCCL prints it: its digits and those of function 0 as one number in hex."""
    return f"{int(bus.replace(':', '') + '0', 16):x}"


def flood(story: Story, lines: int) -> None:
    """``lines`` consequence lines, spread over all ranks that still speak."""
    world, chance = story.world, story.chance
    gone = story.silent_nodes
    ranks = [r for r in range(world.ranks) if r // world.gpus_per_node not in gone]
    ranks = [r for r in ranks if r not in story.silent_ranks]
    victim = story.node
    stop = max((story.end_ns - story.fault_ns) / SECOND, 5.0)
    texts = (
        f"misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer "
        f"{victim.fqdn}<41022>",
        "NCCL INFO misc/socket.cc:752 -> 6",
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8812, OpType=ALLREDUCE, "
        f"NumelIn=1024, NumelOut=1024, Timeout(ms)={story.timeout_ms}) ran for 600041 "
        "milliseconds before timing out.",
        "To avoid data inconsistency, we are taking the entire process down.",
    )
    for place in range(lines if ranks else 0):
        rank = ranks[place % len(ranks)]
        turn = place // len(ranks) % 4
        at = stop * chance.random()
        if turn < 2:
            story.log_rank(max(at, 1.5), rank, texts[turn], voice=Voice.NCCL, severity="W")
        else:
            story.log_rank(
                stop + at / stop,
                rank,
                f"{_who(story, rank, None)} {texts[turn]}",
                voice=Voice.CPP,
                severity="E",
                source="ProcessGroupNCCL.cpp:632",
            )
