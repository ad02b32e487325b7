"""Scenarios whose cause is code, data, storage, the scheduler, or nothing that shows."""

from simulator.incidents import host_lines as host
from simulator.incidents.driver_lines import channel_errors, xid
from simulator.incidents.hardware import shared
from simulator.incidents.job_voice import traceback
from simulator.incidents.story import Story, Voice


def user_error(story: Story) -> None:
    """One rank's data makes the program raise."""
    traceback(
        story,
        0.0,
        story.culprit,
        story.pick(
            "KeyError: 'input_ids'",
            "ValueError: too many values to unpack (expected 2)",
            "IndexError: index 151936 is out of bounds for dimension 0 with size 151936",
            "AssertionError: sequence length 8193 exceeds max_position_embeddings",
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start "
            "byte",
            "RuntimeError: shape '[4, 4096, 32, 128]' is invalid for input of size 67092480",
            "TypeError: unsupported operand type(s) for +: 'NoneType' and 'Tensor'",
        ),
    )


def user_error_all(story: Story) -> None:
    """The same mistake on every rank."""
    error = story.pick(
        "AttributeError: 'Trainer' object has no attribute 'scheduler'",
        "NameError: name 'args' is not defined",
        "AssertionError: global batch size must be divisible by micro batch size",
    )
    for rank in range(min(story.world.ranks, 512)):
        traceback(story, story.chance.uniform(0, 0.8), rank, error)
    shared(story)


def segfault(story: Story) -> None:
    """A native extension crashes."""
    pid = story.world.pid(story.culprit)
    text = (
        f"python[{pid}]: segfault at {story.hexa(3)} ip 00007f{story.hexa(10)} sp "
        f"00007f{story.hexa(10)} error 4 in {story.pick('libtorch_cpu.so', 'flash_attn_2_cuda.so', 'libnccl.so.2')}"  # noqa: E501
        f"[7f{story.hexa(10)}+1a2b000]"
    )
    story.log_kernel(0.0, text, level=6, root=True)
    story.log_rank(
        0.0,
        story.culprit,
        "Fatal Python error: Segmentation fault",
        "",
        f"Current thread 0x00007f{story.hexa(8)} (most recent call first):",
        '  File "/usr/lib/python3/dist-packages/torch/autograd/graph.py", line 824 in '
        "_engine_run_backward",
        root=True,
    )
    story.accepted += ["software_user"]


def illegal_access(story: Story) -> None:
    """A kernel reads a wild address (Xid 31/13), the same on several ranks."""
    ranks = [story.culprit]
    if story.chance.random() < 0.5:
        ranks += story.chance.sample(range(story.world.ranks), min(4, story.world.ranks))
        story.culprit_ranks = sorted(set(ranks))
        story.culprit_nodes = sorted({r // story.world.gpus_per_node for r in ranks})
        if len(story.culprit_nodes) > 1:
            shared(story)
        story.gpus = []
    for place, rank in enumerate(dict.fromkeys(ranks)):
        node, bus = story.world.node_of(rank), story.world.bus_of(rank)
        text = (
            f"Ch {story.hexa()}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC3 "
            "GPCCLIENT_T1_2 faulted @ 0x7f12_a4000000. Fault is of type FAULT_PDE "
            "ACCESS_TYPE_VIRT_READ"
        )
        story.log_kernel(
            0.1 * place, xid(story, 31, text, rank=rank, bus=bus), node=node, root=True
        )
        channel_errors(story, 0.1 * place + 0.5, rank, code=43)
        traceback(
            story,
            0.1 * place + 0.2,
            rank,
            "RuntimeError: CUDA error: an illegal memory access was encountered",
            "CUDA kernel errors might be asynchronously reported at some other API call.",
        )
    story.accepted += ["software_user"]


def mismatch(story: Story) -> None:
    """One rank runs another collective: only the dumps tell."""
    story.accepted += ["software_user", "software_framework"]


def check_differs(story: Story) -> None:
    """The consistency check names two ranks that run different collectives."""
    other = (story.culprit + 1) % story.world.ranks
    shape = story.chance.randrange(100, 5000)
    for rank in {0, other}:
        text = (
            "RuntimeError: Detected mismatch between collectives on ranks. "
            f"Rank {story.culprit} is running collective: CollectiveFingerPrint("
            f"SequenceNumber=812, OpType=ALLREDUCE, TensorShape=[{shape}], "
            "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), "
            f"device=cuda)), but Rank {other} is running collective: CollectiveFingerPrint("
            f"SequenceNumber=812, OpType=ALLREDUCE, TensorShape=[{shape + 3}], "
            "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), "
            "device=cuda))."
        )
        traceback(story, 0.1, rank, text)
    shared(story)


def data_stall(story: Story) -> None:
    """A data loader of one rank stops; nothing is printed, or a lone warning."""
    if story.chance.random() < 0.5:
        story.log_rank(
            30.0,
            story.culprit,
            story.pick(
                "WARNING: DataLoader queue empty for 30 s, still waiting for worker 3",
                "[dataloader] waiting on shard fetch, 0 batches ready",
            ),
            voice=Voice.LOGGING,
            severity="W",
            root=True,
        )
    story.accepted += ["nccl_timeout"]


def tokenizer(story: Story) -> None:
    """One rank maps a data set while the others wait."""
    total = story.chance.randrange(10**6, 10**7)
    for turn in range(12):
        done = total * (turn + 1) // 40
        text = (
            f"\rRunning tokenizer on dataset:  {done * 100 // total:2d}"
            "%|"
            f"{'#' * (turn // 3):<10}| {done}/{total} [{turn:02d}:45<4:48:08, 155.57 "
            "examples/s]"
        )
        story.log_rank(45.0 * turn, story.culprit, text, root=turn == 0)
    story.accepted += ["nccl_timeout"]


def gpu_memory(story: Story) -> None:
    """A rank runs out of GPU memory."""
    gib = story.chance.uniform(0.5, 9)
    story.log_rank(
        0.0,
        story.culprit,
        "Traceback (most recent call last):",
        '  File "/workspace/train.py", line 331, in step',
    )
    text = (
        f"torch.{story.pick('', 'cuda.')}OutOfMemoryError: CUDA out of memory. Tried to allocate "
        f"{gib:.2f} GiB. GPU {story.world.local(story.culprit)} has a total capacity of 79.10 GiB "
        f"of which {story.chance.randrange(10, 900)}.00 MiB is free. Process "
        f"{story.world.pid(story.culprit)} has 78.20 GiB memory in use."
    )
    story.log_rank(0.0, story.culprit, (text), root=True)


def host_killed(story: Story) -> None:
    """The kernel kills a rank for its memory."""
    host.oom_kill(story, container=story.chance.random() < 0.6)
    if story.chance.random() < 0.5:
        text = (
            f"slurmstepd-{story.node.name}: error: Detected 1 oom_kill event in "
            f"StepId={story.world.job_id}.0. Some of the step tasks have been OOM "
            "Killed."
        )
        story.log_scheduler(2.0, text, root=True)


def bus_error(story: Story) -> None:
    """Shared memory is full."""
    story.log_rank(
        0.0,
        story.culprit,
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
        "shared memory (shm).",
        f"RuntimeError: DataLoader worker (pid {story.chance.randrange(10**5)}) is killed by "
        "signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
        root=True,
    )


def nan_loss(story: Story) -> None:
    """The loss is NaN on every rank."""
    for rank in range(min(story.world.ranks, 256)):
        texts = (
            f"AssertionError: Rank {rank}: found NaN in loss, iteration {story.iteration}",
            "ValueError: Loss is nan, stopping training",
            "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably"
            " exploding.",
        )
        text = story.world.chance("nan").choice(texts)
        story.log_rank(story.chance.uniform(0, 0.3), rank, text, root=True)
    shared(story)


def dependency_broken(story: Story) -> None:
    """Driver, image or library do not fit together."""
    error = story.pick(
        "RuntimeError: Failed to initialize NVML: Driver/library version mismatch",
        "ImportError: /usr/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
        "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'",
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
    )
    ranks = list(range(story.world.ranks))
    if story.chance.random() < 0.4:
        ranks = story.world.ranks_on(story.node)
    else:
        shared(story)
    if "NVML" in error:
        text = (
            f"NVRM: API mismatch: the client has the version 550.90.07, but NVRM: this "
            f"kernel module has the version {story.world.driver_text}."
        )
        story.log_kernel(0.0, text, root=True)
    for rank in ranks[:256]:
        traceback(story, story.chance.uniform(0, 2), rank, error)


def file_server(story: Story) -> None:
    """A file server does not answer: many nodes say so at once."""
    which = host.nfs if story.chance.random() < 0.5 else host.lustre
    nodes = story.world.nodes
    told = story.chance.sample(nodes, max(1, int(len(nodes) * story.chance.uniform(0.5, 1.0))))
    for node in told:
        which(story, story.chance.uniform(-20, 4), node)
    if story.chance.random() < 0.5:
        for node in told[:6]:
            traceback(
                story,
                5.0,
                node.index * story.world.gpus_per_node,
                story.pick(
                    "OSError: [Errno 116] Stale file handle: '/mnt/ckpt/iter_0012000'",
                    "OSError: [Errno 5] Input/output error",
                    "TimeoutError: [Errno 110] Connection timed out: '/mnt/ckpt'",
                ),
            )
    shared(story)


def disk_full(story: Story) -> None:
    """The checkpoint store is full."""
    for node in story.world.nodes[:16]:
        rank = node.index * story.world.gpus_per_node
        traceback(
            story,
            story.chance.uniform(0, 3),
            rank,
            story.pick(
                "OSError: [Errno 28] No space left on device",
                "RuntimeError: [enforce fail at inline_container.cc:603] . PytorchStreamWriter"
                " failed writing file data/807: file write failed",
                "OSError: [Errno 122] Disk quota exceeded",
            ),
        )
    shared(story)


def preempted(story: Story) -> None:
    """The scheduler takes the job down."""
    if story.world.software.scheduler == "kubernetes":
        _evicted(story)
        return
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(story.fault_ns // 10**9 + story.node.zone_s, UTC)
    why = story.pick("DUE TO TIME LIMIT", "DUE TO PREEMPTION", "DUE TO JOB REQUEUE")
    text = f"{at:%Y-%m-%dT%H:%M:%S} {why} ***"
    job = story.world.job_id
    host_name = story.world.nodes[0].name
    story.log_scheduler(
        0.0, f"slurmstepd: error: *** JOB {job} ON {host_name} CANCELLED AT {text}", root=True
    )
    story.log_scheduler(
        0.0, f"slurmstepd: error: *** STEP {job}.0 ON {host_name} CANCELLED AT {text}", root=True
    )
    story.log_scheduler(
        0.4, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."
    )
    for rank in range(min(story.world.ranks, 64)):
        story.log_rank(0.5, rank, f"[rank: {rank}] Received SIGTERM: 15")
    shared(story)


def _evicted(story: Story) -> None:
    """Kubernetes makes room for a pod of a higher class."""
    job = f"train-{story.world.job_id}"
    by = story.pick("a pod", f"pod {story.hexa(8)}-{story.hexa(4)}-{story.hexa(4)}", "prod/serve-0")
    for node in story.world.nodes[:64]:
        pod = f"pod/{job}-worker-{node.index}"
        text = f"Preempted by {by} on node {node.name}"
        story.log_cluster(-0.5, pod, "Preempted", text, root=True)
        story.log_cluster(0.0, pod, "Killing", "Stopping container pytorch")
        story.log_agent(
            0.6,
            node.index,
            "Received Signals.SIGTERM death signal, shutting down workers",
            source="torch/distributed/elastic/agent/server/api.py:719",
        )
    shared(story)


def drained(story: Story) -> None:
    """A person reboots a node under the job."""
    world, name = story.world, story.node.name
    if world.software.scheduler == "kubernetes":
        for seconds, reason in ((-40.0, "NodeNotSchedulable"), (35.0, "NodeNotReady")):
            text = f"Node {name} status is now: {reason}"
            story.log_cluster(seconds, f"node/{name}", reason, text, root=seconds < 0)
    else:
        text = (
            f"slurmstepd: error: *** JOB {world.job_id} ON {name} CANCELLED DUE "
            "TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"
        )
        story.log_scheduler(0.0, text, root=True)
        if story.seed_bit("controller"):
            story.log_controller(-30.0, f"update_node: node {name} reason set to: maintenance")
            story.log_controller(-30.0, f"update_node: node {name} state set to DRAINED", root=True)
            story.log_controller(20.0, f"error: Nodes {name} not responding")
    story.log_kernel(
        -2.0,
        "systemd-shutdown[1]: Syncing filesystems and block devices.",
        "systemd-shutdown[1]: Sending SIGTERM to remaining processes...",
        "reboot: Restarting system",
        level=5,
        root=True,
        step_s=0.4,
    )
    mates = world.ranks_on(story.node)
    story.silent_ranks |= set(mates)
    story.without_dump |= set(mates)
    story.silent_nodes.add(story.node.index)
    story.culprit_ranks = mates


def nobody_knows(story: Story) -> None:
    """A stop of which only the watchdog speaks."""
    story.accepted += ["network"]
    shared(story)


def slow_rank(story: Story) -> None:
    """One rank is late in every step; nothing stops."""


def thermal_rank(story: Story) -> None:
    """One GPU throttles for heat and makes its rank late in every step; no log says it."""
    story.accepted += ["straggler"]


def healthy_end(story: Story) -> None:
    """The job finishes, and says goodbye as ever."""
    story.log_rank(
        2.0,
        0,
        story.pick(
            "[after training is done] datetime: 2026-11-21 01:10:11",
            "Training completed",
            "Done. Total time: 6:12:44",
        ),
    )
    for rank in range(min(8, story.world.ranks)):
        story.log_rank(
            3.0,
            rank,
            "[rank0]: WARNING: process group has NOT been destroyed before we "
            "destruct ProcessGroupNCCL."[9:],
        )
    shared(story)
