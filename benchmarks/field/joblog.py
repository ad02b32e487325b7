"""The job's own output: progress in the words of six frameworks, errors, and eight prefixes.

Lines are kept with their time, node and rank; how they reach a file (one for all, one per node,
one per rank, stdout and stderr apart) is decided when they are written.
"""

# ruff: noqa: E501
import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.field.nodes import Node

PREFIXES = ("none", "rank", "default", "srun", "mpi", "ray", "stamp", "pdsh", "pod", "rank_stamp")
FRAMEWORKS = ("megatron", "nemo", "torchtitan", "deepspeed", "hf", "composer")


@dataclass(slots=True)
class JobLine:
    """Some lines printed together by one process; rank None is the launcher's."""

    at: float
    node: int
    rank: int | None
    text: str
    err: bool = True


@dataclass(slots=True)
class JobLog:
    """What a job printed."""

    rng: random.Random
    nodes: list[Node]
    per_node: int
    framework: str
    prefix: str
    new_torch: bool
    job: str
    zone: dt.timezone = dt.UTC
    lines: list[JobLine] = field(default_factory=list)
    node_of: Callable[[int], int] = int

    def say(self, at: float, rank: int, text: str, err: bool = True) -> None:
        """A line, or several, of one rank."""
        self.lines.append(JobLine(at, self.node_of(rank), rank, text, err))

    def agent(self, at: float, node: int, text: str, err: bool = True) -> None:
        """A line of the launcher on a node."""
        self.lines.append(JobLine(at, node, None, text, err))

    def wall(self, at: float, node: int) -> dt.datetime:
        """The time on a node's clock."""
        return dt.datetime.fromtimestamp(at + self.nodes[node].skew, self.zone)

    def glog(self, at: float, rank: int, level: str, where: str, text: str) -> None:
        """A line of PyTorch's C++ logging."""
        w = self.wall(at, self.node_of(rank))
        if self.new_torch:
            head = f"[rank{rank}]:[{level}{w.month}{w.day:02d} {w:%H:%M:%S}.{w.microsecond:06d}{rank % 1000:03d} {where}] "
        else:
            head = f"[{level} {where}] "
        self.say(at, rank, head + text)

    def pylog(self, at: float, node: int, level: str, where: str, text: str) -> None:
        """A line of PyTorch's Python logging, by the launcher."""
        w = self.wall(at, node)
        names = {"E": "ERROR", "W": "WARNING", "I": "INFO"}
        if self.new_torch:
            head = f"{level}{w:%m%d %H:%M:%S}.{w.microsecond // 1000:03d}000 {self.nodes[node].pids[0] - 7} site-packages/{where}] "
        else:
            module = where.split(".py", maxsplit=1)[0].replace("/", ".")
            head = (
                f"[{w:%Y-%m-%d %H:%M:%S},{w.microsecond // 1000:03d}] {module}: [{names[level]}] "
            )
        self.agent(at, node, head + text)

    def nccl(self, at: float, rank: int, text: str, warn: bool = True) -> None:
        """A line of the communication library."""
        n = self.nodes[self.node_of(rank)]
        local = rank % self.per_node
        pid = n.pids[local]
        head = f"{n.name}:{pid}:{pid + 900 + local} [{local}] "
        if warn and self.new_torch and self.rng.random() < 0.6:
            head = f"[{self.wall(at, n.index):%Y-%m-%d %H:%M:%S}] " + head
        self.say(at, rank, ("\n" if warn else "") + head + text)

    def progress(
        self, at: float, step: int, took: float, loss: float, world: int, total: int
    ) -> None:
        """One line of progress, by the rank that prints it."""
        last = world - 1
        w = self.wall(at, 0)
        norm = 0.3 + self.rng.random() * 0.4
        f = self.framework
        if f == "megatron":
            w = self.wall(at, len(self.nodes) - 1)
            text = f" [{w:%Y-%m-%d %H:%M:%S}.{w.microsecond:06d}] iteration {step:8d}/ {total:7d} | consumed samples: {step * 512:12d} | elapsed time per iteration (ms): {took * 1e3:.1f} | throughput per GPU (TFLOP/s/GPU): {3100 / took / 8:.1f} | learning rate: {2.4e-4:.6E} | global batch size:   512 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"
            self.say(at, last, text, False)
        elif f == "nemo":
            text = f"Training epoch 0, iteration {step}/{total} | lr: 0.000238 | global_batch_size: 512 | global_step: {step} | reduced_train_loss: {loss:.4f} | train_step_timing in s: {took:.3f} | consumed_samples: {step * 512}"
            self.say(at, last, text, False)
        elif f == "torchtitan":
            text = f"[titan] {w:%Y-%m-%d %H:%M:%S},{w.microsecond // 1000:03d} - root - INFO - step: {step:5d}  loss: {loss:7.4f}  grad_norm: {norm:7.4f}  memory: 61.27GiB(77.38%)  tps: {int(9000 / took):,}  tflops: {380 / took:.2f}  mfu: 41.20%"
            self.say(at, 0, text, False)
        elif f == "deepspeed":
            text = f"[{w:%Y-%m-%d %H:%M:%S},{w.microsecond // 1000:03d}] [INFO] [logging.py:128:log_dist] [Rank 0] step={step}, skipped=0, lr=[0.000238], mom=[(0.9, 0.95)]\nsteps: {step} loss: {loss:.4f} iter time (s): {took:.3f} samples/sec: {512 / took:.3f}"
            self.say(at, 0, text, False)
        elif f == "hf":
            done = int(20 * step / max(1, total))
            bar = f"\r {100 * step // max(1, total):2d}%|{'█' * done}{' ' * (20 - done)}| {step}/{total} [3:21:09<11:02:40,  {took:.2f}s/it]"
            text = f"{{'loss': {loss:.4f}, 'grad_norm': {norm:.4f}, 'learning_rate': 1.9e-05, 'epoch': {step / total:.2f}}}"
            self.say(at, 0, bar, True)
            self.say(at + 0.001, 0, text, False)
        else:
            text = f"[batch={step}/{total}]:\n\t Train time/batch: {step}\n\t Train throughput/batches_per_sec: {1 / took:.4f}\n\t Train loss/train/total: {loss:.4f}"
            self.say(at, 0, text, False)


def head_of(style: str, log: JobLog, line: JobLine) -> str:
    """What stands before a line in one of the prefix styles."""
    node = log.nodes[line.node]
    w = log.wall(line.at, line.node).astimezone(dt.UTC)
    stamp = f"{w:%Y-%m-%dT%H:%M:%S}.{w.microsecond:06d}000Z "
    local = None if line.rank is None else line.rank % log.per_node
    if style == "rank" or style == "rank_stamp":
        text = "" if line.rank is None else f"[rank{line.rank}]: "
        return (stamp if style == "rank_stamp" else "") + text
    if style == "default":
        return "" if local is None else f"[default{local}]:"
    if style == "srun":
        return f"{line.node:>{len(str(len(log.nodes) - 1))}}: "
    if style == "mpi":
        return f"[1,{line.rank if line.rank is not None else line.node}]<{'stderr' if line.err else 'stdout'}>:"
    if style == "ray":
        return f"\x1b[36m(TrainWorker pid={node.pids[local or 0]}, ip={node.address})\x1b[0m "
    if style == "stamp":
        return stamp
    if style == "pdsh":
        return f"{node.name}: "
    if style == "pod":
        return f"[pod/{log.job}-worker-{line.node}/pytorch] "
    return ""


def render(log: JobLog, lines: list[JobLine], style: str) -> str:
    """The text of some lines in order of time."""
    out: list[str] = []
    for line in sorted(lines, key=lambda x: x.at):
        head = head_of(style, log, line)
        for row in line.text.split("\n"):
            if (head.startswith("[rank") and row.startswith("[rank")) or row.startswith("\r"):
                out.append(row)
            else:
                out.append(head + row)
    # A progress bar ends without a newline; what comes next is glued to it.
    return "\n".join(out).replace("\n\r", "\r") + "\n"


def prologue(log: JobLog, world: int, at: float, versions: dict[str, str], info: bool) -> None:
    """Start of a job: launcher, environment, communicators, and harmless warnings."""
    rng = log.rng
    for n in log.nodes:
        t = at + rng.uniform(0, 2)
        if log.framework == "deepspeed":
            log.agent(
                t,
                n.index,
                f"[{log.wall(t, n.index):%Y-%m-%d %H:%M:%S},101] [INFO] [launch.py:146:main] WORLD INFO DICT: {{'{n.name}': {list(range(log.per_node))}}}",
            )
        elif rng.random() < 0.6:
            log.agent(
                t,
                n.index,
                "*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. \n*****************************************",
            )
    for rank in range(world):
        n = log.nodes[log.node_of(rank)]
        local = rank % log.per_node
        t = at + 12 + rng.uniform(0, 4)
        if info:
            bus = n.bus(local)
            log.nccl(t, rank, f"NCCL INFO Bootstrap: Using {n.nic(0)[1]}:{n.address}<0>", False)
            log.nccl(
                t + 1,
                rank,
                f"NCCL INFO ncclCommInitRankConfig comm 0x{rng.getrandbits(44):x} rank {rank} nranks {world} cudaDev {local} nvmlDev {local} busId {nccl_bus(bus)} commId 0x{hash_id(log.job):x} - Init COMPLETE",
                False,
            )
        if rng.random() < 0.05:
            log.say(
                t,
                rank,
                "/usr/local/lib/python3.11/dist-packages/torch/distributed/c10d_logger.py:79: FutureWarning: `torch.distributed._all_gather_base` is a private function and will be deprecated.",
            )
    if info and log.nodes[0].platform.link == "efa":
        log.nccl(
            at + 13,
            0,
            "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
            False,
        )
    log.say(at + 20, 0, f"NCCL version {versions['nccl']}", False)
    log.say(at + 21, 0, rng.choice([
        f"using world size: {world}, data-parallel size: 8",
        "> initializing torch distributed ...",
        "[W init.cpp:767] Warning: nvfuser is no longer supported in torch script",
        "wandb: WARNING Fatal error while uploading data. Some run data will not be synced, but it will still be written to disk.",
        "UserWarning: Error detected in tokenizer cache; falling back to slow path",
    ]))  # fmt: skip


def nccl_bus(address: str) -> str:
    """``dddd:bb:dd`` as NCCL prints it: the digits of domain, bus, device and function, in hex."""
    return f"{int(address.replace(':', '') + '0', 16):x}"


def hash_id(text: str) -> int:
    """A number that looks like a communicator's and hangs on the job alone."""
    value = 1469598103934665603
    for c in text.encode():
        value = (value ^ c) * 1099511628211 % 2**64
    return value


ADVICE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
FRAMES = {
    "megatron": '  File "/workspace/megatron/pretrain_gpt.py", line 281, in <module>\n    pretrain(train_valid_test_datasets_provider,\n  File "/workspace/megatron/megatron/training/training.py", line 792, in train_step\n    losses_reduced = forward_backward_func(',
    "nemo": '  File "/opt/NeMo/scripts/llm/pretrain.py", line 202, in <module>\n    run.run(exp)\n  File "/opt/NeMo/nemo/lightning/megatron_parallel.py", line 311, in forward\n    microbatch_outputs = step()',
    "torchtitan": '  File "/data/torchtitan/torchtitan/train.py", line 653, in main\n    trainer.train()\n  File "/data/torchtitan/torchtitan/train.py", line 473, in train_step\n    loss.backward()',
    "deepspeed": '  File "/job/train.py", line 417, in <module>\n    main(args)\n  File "/opt/conda/lib/python3.10/site-packages/deepspeed/runtime/engine.py", line 1987, in backward\n    self.optimizer.backward(loss)',
    "hf": '  File "/opt/axolotl/src/axolotl/train.py", line 190, in train\n    trainer.train(resume_from_checkpoint=resume)\n  File "/root/miniconda3/lib/python3.11/site-packages/transformers/trainer.py", line 3782, in training_step\n    self.accelerator.backward(loss, **kwargs)',
    "composer": '  File "/llm-foundry/scripts/train/train.py", line 9, in <module>\n    train_from_yaml(yaml_path, args_list)\n  File "/usr/lib/python3/dist-packages/composer/trainer/trainer.py", line 2887, in _train_microbatch\n    microbatch_loss.backward()',
}
