"""What ranks, agents and the scheduler print when a job stops: consequences, not causes."""

from triage.simulator.incidents.story import Story, Voice, Waiting
from triage.simulator.incidents.world import SECOND

__all__ = [
    "agents_give_up", "exit_table", "flood", "ncclinit", "peers_closed",
    "printed_bus", "sigterm", "traceback", "watchdog",
]  # fmt: skip

MS = 1_000_000
UNSURE = (
    "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
    "kernels, subsequent GPU operations might run on corrupted/incomplete data."
)
OLD = ("2.0", "2.1")
# Of a large job, so many agents get to say that they give up.
MOST_AGENTS = 12
# What the dump calls an operation, and what the watchdog calls it.
OP_TYPE = {
    "all_reduce": "ALLREDUCE", "all_gather": "_ALLGATHER_BASE", "_all_gather_base":
    "_ALLGATHER_BASE", "reduce_scatter": "_REDUCE_SCATTER_BASE", "_reduce_scatter_base":
    "_REDUCE_SCATTER_BASE", "all_to_all": "ALLTOALL_BASE", "broadcast": "BROADCAST",
    "send": "SEND", "recv": "RECV", "coalesced": "COALESCED", "barrier": "ALLREDUCE",
}  # fmt: skip


def who(story: Story, rank: int, wait: Waiting | None) -> str:
    """The bracket in front of c10d's text; its rank is the rank inside the group."""
    torch = story.world.torch
    if torch in (*OLD, "2.2"):
        return f"[Rank {rank}]"
    if wait is None:
        wait = Waiting("0", "default_pg", rank, 0, "", 0, 0, 0, 0, 0)
    if torch == "2.4":
        return f"[PG {wait.pg} Rank {wait.group_rank}]"
    return f"[PG ID {wait.pg} PG GUID {wait.pg}({wait.desc}) Rank {wait.group_rank}]"


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
        own = wait.since_ns + (story.timeout_ms + late_ms) * MS
        at = min(own, first + (story.timeout_ms + chance.randrange(300, 1400)) * MS)
        end = max(end, at)
        seconds = (at - story.fault_ns) / SECOND
        ran = max((at - wait.since_ns) // MS, story.timeout_ms if own == at else 0)
        name = OP_TYPE.get(wait.op.split(":")[-1], wait.op.upper())
        numel = "" if story.world.torch == "2.0" else (
            f"NumelIn={wait.numel_in}, NumelOut={wait.numel_out}, "
        )  # fmt: skip
        work = f"WorkNCCL(SeqNum={wait.seq}, OpType={name}, {numel}Timeout(ms)={story.timeout_ms})"
        head = who(story, rank, wait)
        timeout = f"Watchdog caught collective operation timeout: {work} ran for {ran} milliseconds"
        say = _Speaker(story, rank)
        if own <= first + (story.timeout_ms + 1000) * MS:
            say(seconds, f"{head} {timeout} before timing out.", 607)
            if story.world.torch not in (*OLD, "2.2"):
                say(seconds, _counters(story, head, wait), 1664)
        if story.world.torch not in OLD:
            say(seconds + 0.05, _dump_signal(story, rank, reporter, wait), 1400)
        if story.world.torch not in (*OLD, "2.2", "2.4") and chance.random() < 0.7:
            say(seconds + 0.06, f"{head} ProcessGroupNCCL preparing to dump debug info. Include "
                "stack trace: 1", 1484)  # fmt: skip
        say(
            seconds + 1.0,
            f"{head} "
            + story.pick(
                UNSURE, "To avoid data inconsistency, we are taking the entire process down."
            ),
            630,
        )
        say(seconds + 1.1, f"{head} Process group watchdog thread terminated with exception: "
            f"{head} {timeout} before timing out.", 1595)  # fmt: skip
        if rank == reporter or chance.random() < 0.3:
            story.j(seconds + 1.2, rank, [
                "terminate called after throwing an instance of 'c10::DistBackendError'",
                f"  what():  {head} Process group watchdog thread terminated with exception: "
                f"{head} {timeout} before timing out.",
                "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/"
                "ProcessGroupNCCL.cpp:632 (most recent call first):",
                "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 "
                f"(0x7f{story.hexa(10)} in libc10.so)",
                "frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 "
                f"(0x7f{story.hexa(10)} in libtorch_cuda.so)",
            ])  # fmt: skip
    story.end_ns = max(story.end_ns, end + 2 * SECOND)


class _Speaker:
    """c10d's log of one rank."""

    def __init__(self, story: Story, rank: int) -> None:
        self.story, self.rank = story, rank

    def __call__(self, seconds: float, text: str, line: int) -> None:
        jitter = self.story.world.chance("lines").randrange(90)
        self.story.j(seconds, self.rank, text, voice=Voice.CPP, severity="E",
                     source=f"ProcessGroupNCCL.cpp:{line + jitter}")  # fmt: skip


def _counters(story: Story, head: str, wait: Waiting) -> str:
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


def _dump_signal(story: Story, rank: int, reporter: int, wait: Waiting) -> str:
    head = who(story, rank, None)
    origin = "this local rank" if rank == reporter else f" rank {reporter}"
    if rank != reporter and story.world.torch in ("2.4", "2.5", "2.6") and rank % 2:
        return f"{head} Observed flight recorder dump signal from another rank via TCPStore."
    tail = story.world.chance("advice").choice((
        "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used "
        "across ranks, the order of collectives is not same for all ranks or the scheduled "
        "collective, for some reason, didn't run.",
        "This could be triggered by another thread holding the GIL, or by network errors.",
    ))  # fmt: skip
    return (
        f"{head} Received a dump signal due to a collective timeout from {origin} and we will try "
        f"our best to dump the debug info. Last enqueued NCCL work: {wait.enqueued}, last "
        f"completed NCCL work: {wait.completed}.{tail}"
    )


def traceback(
    story: Story, seconds: float, rank: int, error: str | list[str], *, root: bool = True
) -> None:
    """A Python traceback of ``rank`` that ends in ``error``."""
    where = (
        ("/workspace/train.py", 412, "main", "trainer.fit(model)"),
        ("/workspace/pretrain/trainer.py", story.chance.randrange(80, 600), "train_step",
         story.pick("loss = self.forward_step(batch)", "loss.backward()",
                    "grad_norm = self.optimizer.step()")),
    )  # fmt: skip
    lines = ["Traceback (most recent call last):"]
    for path, number, function, code in where:
        lines += [f'  File "{path}", line {number}, in {function}', f"    {code}"]
    story.j(seconds, rank, lines)
    story.j(seconds, rank, error, root=root)


def peers_closed(story: Story, seconds: float, dead: list[int], most: int = 24) -> None:
    """Ranks that talked to the dead ones see their connections close."""
    world, chance = story.world, story.chance
    peer = dead[0] if dead else story.culprit
    others = [rank for rank in range(world.ranks) if rank not in dead]
    others = [rank for rank in others if rank not in story.silent_ranks]
    others = [rank for rank in others if world.node_of(rank).index not in story.silent_nodes]
    for rank in chance.sample(others, min(most, len(others))):
        at = seconds + chance.uniform(0.05, 3.0)
        victim = world.node_of(peer)
        way = chance.randrange(4)
        if way == 0:
            story.j(at, rank, [
                "misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer "
                f"{victim.fqdn}<{chance.randrange(30_000, 60_000)}>",
                "NCCL INFO misc/socket.cc:752 -> 6", "NCCL INFO transport/net_socket.cc:493 -> 6",
            ], voice=Voice.NCCL, severity="W")  # fmt: skip
        elif way == 1:
            story.j(at, rank, "misc/ibvwrap.cc:112 NCCL WARN NET/IB : Got completion from peer "
                    f"{victim.ip}<{chance.randrange(30_000, 60_000)}> with status=5 opcode=0 len=0 "
                    "vendor err 249 (Recv)", voice=Voice.NCCL, severity="W")  # fmt: skip
        elif way == 2:
            story.j(at, rank, "torch.distributed.DistBackendError: NCCL error in: "
                    "ProcessGroupNCCL.cpp:2384, remote process exited or there was a network "
                    f"error, NCCL version {world.nccl}")  # fmt: skip
            story.j(at, rank, "ncclRemoteError: A call failed possibly due to a network error or "
                    "a remote process exiting prematurely.")  # fmt: skip
        else:
            story.j(at, rank, f"[c10d] recvValue failed on SocketImpl(fd={chance.randrange(20, 90)}"
                    f", remote=[{world.nodes[0].name}]:29500): Connection reset by peer",
                    voice=Voice.CPP, severity="W", source="TCPStore.cpp:125")  # fmt: skip


def sigterm(story: Story, seconds: float, node: int, spare: set[int]) -> None:
    """The agent of a node ends its other ranks."""
    world = story.world
    for rank in world.ranks_on(world.nodes[node]):
        if rank not in spare:
            story.agent(seconds, node, f"Sending process {world.pid(rank)} closing signal SIGTERM",
                        source="torch/distributed/elastic/multiprocessing/api.py:900")  # fmt: skip


def exit_table(
    story: Story, seconds: float, node: int, failed: list[tuple[int, int]], *, verbose: bool = True
) -> None:
    """The elastic agent's table: ``failed`` are (rank, exit code), the first seen first."""
    world = story.world
    where = world.nodes[node]
    rank, code = failed[0]
    story.agent(
        seconds, node,
        f"failed (exitcode: {code}) local_rank: {world.local(rank)} (pid: {world.pid(rank)}) of "
        f"binary: /usr/bin/python{world.python}", severity="E",
        source="torch/distributed/elastic/multiprocessing/api.py:874",
    )  # fmt: skip
    if not verbose:
        return
    clock = story.at(seconds) + where.skew_ns + where.zone_s * SECOND
    lines = ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "=" * 60,
             "/workspace/train.py FAILED", "-" * 60, "Failures:"]  # fmt: skip
    if len(failed) == 1:
        lines.append("  <NO_OTHER_FAILURES>")
    for place, (other, exit_code) in enumerate(failed[1:4], 1):
        lines += _row(story, place, other, exit_code, clock)
    lines += ["-" * 60, "Root Cause (first observed failure):", *_row(story, 0, rank, code, clock)]
    for text in [*lines, "=" * 60]:
        story.agent(seconds + 0.01, node, text, source="-")


def _row(story: Story, place: int, rank: int, code: int, clock_ns: int) -> list[str]:
    from datetime import UTC, datetime

    world = story.world
    signal = {-6: "SIGABRT", -9: "SIGKILL", -11: "SIGSEGV", -7: "SIGBUS", -15: "SIGTERM"}.get(code)
    name = f" ({signal})" if signal and world.torch in ("2.8", "2.9") else ""
    stamp = datetime.fromtimestamp(clock_ns // SECOND, UTC).strftime("%Y-%m-%d_%H:%M:%S")
    last = f"Signal {-code} ({signal}) received by PID {world.pid(rank)}" if signal else (
        "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    )  # fmt: skip
    return [
        f"[{place}]:", f"  time      : {stamp}", f"  host      : {world.node_of(rank).fqdn}",
        f"  rank      : {rank} (local_rank: {world.local(rank)})",
        f"  exitcode  : {code} (pid: {world.pid(rank)}){name}", "  error_file: <N/A>",
        f"  traceback : {last}",
    ]  # fmt: skip


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
    told = [
        node.index
        for node in world.nodes
        if node.index not in origin and node.index not in story.silent_nodes
    ]
    for place, node in enumerate(sorted(chance.sample(told, min(MOST_AGENTS, len(told))))):
        at = seconds + chance.uniform(2.0, 25.0)
        ranks = world.ranks_on(world.nodes[node])
        ends = [(rank, chance.choice((-6, 1, -15))) for rank in ranks]
        if place % 3 == 2:
            story.agent(at, node, "RendezvousConnectionError: The connection to the C10d store has "
                        "failed. See inner exception for details.", severity="E",
                        source="torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1341"
                        )  # fmt: skip
        else:
            sigterm(story, at, node, {ends[0][0]})
            exit_table(story, at + 1.5, node, ends, verbose=chance.random() < 0.6)
    story.end_ns = max(story.end_ns, story.at(seconds + 28.0))
    if world.software.scheduler == "slurm" and world.chance("launcher").random() < 0.7:
        where = world.node_of(first[0][0]) if first else story.node
        story.scheduler(seconds + 27.0, f"srun: error: {where.name}: task {where.index}: "
                        "Exited with exit code 1")  # fmt: skip
        story.scheduler(seconds + 27.5, "srun: Terminating StepId="
                        f"{world.job_id}.0")  # fmt: skip


def ncclinit(story: Story, seconds: float, ranks: list[int]) -> None:
    """The set-up lines that say which rank is which process and GPU."""
    world = story.world
    comm = story.hexa(12)
    for rank in ranks:
        story.j(seconds, rank, [
            f"NCCL INFO cudaDriverVersion {story.world.chance('cuda').choice((12020, 12040, 12080))}",  # noqa: E501
            f"NCCL INFO Bootstrap : Using eth0:{world.node_of(rank).ip}<0>",
            f"NCCL INFO comm 0x{comm} rank {rank} nranks {world.ranks} cudaDev {world.local(rank)} "
            f"nvmlDev {world.local(rank)} busId {printed_bus(world.bus_of(rank))} commId 0x{story.world.chance('comm').getrandbits(60):x} - Init COMPLETE",  # noqa: E501
        ], voice=Voice.NCCL)  # fmt: skip


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
            story.j(max(at, 1.5), rank, texts[turn], voice=Voice.NCCL, severity="W")
        else:
            story.j(stop + at / stop, rank, f"{who(story, rank, None)} {texts[turn]}",
                    voice=Voice.CPP, severity="E", source="ProcessGroupNCCL.cpp:632")  # fmt: skip
