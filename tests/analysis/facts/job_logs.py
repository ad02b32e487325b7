"""Job logs of many trainers with one more line in them, and what is said of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import triage
from triage.domain.report import Answer

BEGAN = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
EVERY_S = 10
NODES = ["n1", "n2"]
JOB = {"job_id": "9", "world_size": 8, "nodes": NODES, "gpus_per_node": 4}


def clock(second: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time of the job as text."""
    return (BEGAN + timedelta(seconds=second)).strftime(form)


def megatron(step: int, second: float) -> str:
    """Megatron-LM."""
    return (
        f" [{clock(second)}] iteration {step:8d}/  90000 | elapsed"
        f" time per iteration (ms): 10000.0 | global batch size: 512 | lm loss: 2.1{step % 10}E+00"
        " | loss scale: 1.0 | grad norm: 0.311 | number of skipped iterations: 0 |"
    )


def transformers(step: int, _second: float) -> str:
    """The dicts of the Trainer of transformers, without a step and a clock."""
    return (
        f"{{'loss': 2.{500 - step % 400}, 'grad_norm': 0.5, 'learning_rate': 1e-05,"
        f" 'epoch': {step / 1000:.3f}}}"
    )


def bar(step: int, second: float) -> str:
    """A bar of tqdm, as captured with line ends."""
    return (
        f"  {step // 100}%|##        | {step}/10000"
        f" [{int(second) // 60:02d}:{int(second) % 60:02d}<9:00:00, 10.01s/it, loss=2.31]"
    )


def lightning(step: int, second: float) -> str:
    """Lightning's bar of an epoch."""
    return (
        f"Epoch 2:  {step // 100}%|#         | {step}/10000"
        f" [{int(second) // 60:02d}:{int(second) % 60:02d}<9:00:00,  0.10it/s, v_num=0,"
        " train_loss=2.310]"
    )


def deepspeed(step: int, second: float) -> str:
    """DeepSpeed's engine."""
    return (
        f"[{clock(second)},123] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0,"
        " lr=[1e-05], mom=[(0.9, 0.95)]"
    )


def nemo(step: int, second: float) -> str:
    """NeMo."""
    return (
        f"[NeMo I {clock(second)} log:1] Training epoch 0, iteration {step}/90000 | lr: 1e-05 |"
        f" global_batch_size: 8 | global_step: {step} | reduced_train_loss: 2.1 |"
        " train_step_timing in s: 10.01"
    )


def torchtitan(step: int, second: float) -> str:
    """torchtitan."""
    return (
        f"[rank0]:{clock(second)},100 - root - INFO - step: {step}  loss:  2.3  memory: 40.1GiB"
        "  tps: 5,210  mfu: 40.1%"
    )


def maxtext(step: int, _second: float) -> str:
    """MaxText, whose lines have no clock."""
    return (
        f"completed step: {step}, seconds: 10.013, TFLOP/s/device: 210.4, Tokens/s/device: 6290.1,"
        " total_weights: 65536, loss: 2.310"
    )


FORMS: dict[str, Callable[[int, float], str]] = {
    form.__name__: form
    for form in (
        megatron, transformers, bar, lightning, deepspeed, nemo, torchtitan, maxtext,
    )
}  # fmt: skip


def steps(form: Callable[[int, float], str], first: int, count: int, since_s: float) -> list[str]:
    """``count`` lines of progress, one each :data:`EVERY_S`."""
    return [form(first + k, since_s + EVERY_S * k) for k in range(count)]


def watchdogs(second: float, ranks: Sequence[int] = range(8)) -> list[str]:
    """All ranks give up what they have waited in for ten minutes."""
    stamp = clock(second, "%m%d %H:%M:%S.123456")
    return [
        f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp:685] [Rank {rank}] Watchdog caught collective"
        " operation timeout: WorkNCCL(SeqNum=4242, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024,"
        " Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
        for rank in ranks
    ]


def answer(
    folder: Path,
    lines: Sequence[str],
    kernel: Mapping[str, Sequence[str]] | None = None,
    **facts: object,
) -> Answer:
    """What is said of a job's log, with kernel logs by node."""
    (folder / "job.json").write_text(json.dumps({**JOB, **facts}))
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    for node in NODES:
        (folder / "nodes" / node).mkdir(parents=True, exist_ok=True)
        text = [
            f"2026-11-20T08:30:00.000000+00:00 {node} kernel: perf: interrupt took too long",
            *(kernel or {}).get(node, ()),
        ]
        (folder / "nodes" / node / "kernel.log").write_text("\n".join(text) + "\n")
    return triage.analyze(folder).answer


def culprits(report: Answer) -> list[str | None]:
    """The nodes that are convicted."""
    return [one.node for one in report.suspects if str(one.role) == "culprit"]
