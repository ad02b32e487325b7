"""How jobs tell their progress: each framework's own lines, and what it says between them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simulator.incidents.story import Story, Voice

_TOTAL = 500_000


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of training, as a progress line tells it; ``loss`` is text, as it may be nan."""

    number: int
    took_s: float
    loss: float | None
    norm: float
    at_s: float
    tokens: int

    def shown(self, form: str) -> str:
        """The loss in a framework's form."""
        return "nan" if self.loss is None else format(self.loss, form)

    @property
    def norm_shown(self) -> str:
        """The norm of the gradient."""
        return "nan" if self.loss is None else f"{self.norm:.3f}"


_Style = Callable[[Story, _Step], None]


def iterations(story: Story, until_s: float, count: int, *, nan: bool = False) -> None:
    """The progress lines of the job, up to ``until_s`` after the fault."""
    world, chance = story.world, story.chance
    pace = world.chance("pace").uniform(2.0, 12.0)
    tokens = world.chance("tokens").choice((2900, 5400, 9800))
    loss = chance.uniform(1.8, 3.0)
    tell = STYLES[world.software.framework]
    for back in range(count, 0, -1):
        step = _Step(
            story.iteration - back,
            pace * chance.uniform(0.98, 1.02),
            None if nan and back <= 3 else loss + chance.uniform(-0.05, 0.05),
            chance.uniform(0.1, 0.6),
            until_s - pace * back + chance.uniform(-0.02, 0.02),
            tokens + chance.randrange(100),
        )
        tell(story, step)


def _megatron(story: Story, step: _Step) -> None:
    """Megatron-LM as of old."""
    story.log_rank(step.at_s, story.world.ranks - 1, _megatron_line(step))


def _megatron_core(story: Story, step: _Step) -> None:
    """Megatron-LM with a clock of its own and the throughput."""
    last = story.world.ranks - 1
    tflops = f"throughput per GPU (TFLOP/s/GPU): {3100 / step.took_s:.1f} | "
    text = _megatron_line(step, tflops).lstrip()
    stamp = story.wall(step.at_s, last).strftime("%Y-%m-%d %H:%M:%S.%f")
    story.log_rank(step.at_s, last, f" [{stamp}] {text}")


def _megatron_line(step: _Step, more: str = "") -> str:
    return (
        f" iteration {step.number:8d}/  {_TOTAL} | consumed samples: {step.number * 1024:12d} | "
        f"elapsed time per iteration (ms): {step.took_s * 1000:.1f} | {more}learning rate: "
        f"3.000000E-04 | global batch size:  1024 | lm loss: {step.shown('.6E')} | loss scale: "
        f"1.0 | grad norm: {step.norm_shown} | number of skipped iterations:   0 | number of nan "
        "iterations:   0 |"
    )


def _nemo(story: Story, step: _Step) -> None:
    """NeMo 2."""
    text = (
        f"Training epoch 0, iteration {step.number}/{_TOTAL - 1} | lr: 0.0003 | global_batch_size: "
        f"1024 | global_step: {step.number} | reduced_train_loss: {step.shown('.4g')} | "
        f"train_step_timing in s: {step.took_s:.4g} | consumed_samples: {step.number * 1024}"
    )
    story.log_rank(step.at_s, story.world.ranks - 1, (text))


def _nemo_lightning(story: Story, step: _Step) -> None:
    """NeMo 1: Lightning's bar with NeMo's own figures."""
    done = f"{step.number}/{_TOTAL}"
    text = (
        f"\rEpoch 0: :   {100 * step.number / _TOTAL:.0f}%|{'':<10}| {done} [{_clock(step)}<"
        f"{_clock(step, _TOTAL - step.number)}, v_num=0, reduced_train_loss="
        f"{step.shown('.3f')}, global_step={float(step.number)}, consumed_samples="
        f"{float(step.number * 1024)}, train_step_timing in s={step.took_s:.3f}]"
    )
    story.log_rank(step.at_s, 0, (text))


def _lightning(story: Story, step: _Step) -> None:
    """PyTorch Lightning's bar."""
    rate = f"{1 / step.took_s:.2f}it/s"
    text = (
        f"\rEpoch 0:  {step.number % 100:2d}%|{'#' * (step.number % 10):<10}| "
        f"{step.number}/{_TOTAL} [{_clock(step)}<{_clock(step, _TOTAL - step.number)}, {rate}, "
        f"v_num={story.world.job_id[-2:]}, train_loss={step.shown('.3f')}]"
    )
    story.log_rank(step.at_s, 0, (text))


def _torchtitan(story: Story, step: _Step) -> None:
    """TorchTitan."""
    stamp = story.wall(step.at_s, 0)
    text = (
        f"[titan] {stamp:%Y-%m-%d %H:%M:%S},{stamp.microsecond // 1000:03d} - root - INFO - step: "
        f"{step.number:2d}  loss: {step.shown('7.4f')}  grad_norm: {step.norm_shown}  memory: "
        f"61.27GiB(77.38%)  tps: {step.tokens:,}  tflops: {step.tokens / 7.9:.2f}  mfu: "
        f"{step.tokens / 78.1:.2f}%"
    )
    story.log_rank(step.at_s, 0, (text))


def _deepspeed(story: Story, step: _Step) -> None:
    """DeepSpeed, and the line of Megatron-DeepSpeed beside it."""
    text = (
        f"[logging.py:{story.world.chance('line').choice((68, 96, 128))}:log_dist] [Rank 0] "
        f"step={step.number}, skipped=0, lr=[0.0003, 0.0003], mom=[(0.9, 0.95), (0.9, 0.95)]"
    )
    story.log_rank(step.at_s, 0, (text), voice=Voice.LOGGING)
    samples = 1024 / step.took_s
    text = (
        f"steps: {step.number} loss: {step.shown('.4f')} iter time (s): {step.took_s:.3f} "
        f"samples/sec: {samples:.3f}"
    )
    story.log_rank(step.at_s, 0, (text))


def _transformers(story: Story, step: _Step) -> None:
    """Hugging Face's Trainer: a bar, and a dictionary now and then."""
    part = 100 * step.number // _TOTAL
    text = (
        f"\r {part:2d}%|{'█' * (part // 10):<10}| {step.number}/{_TOTAL} [{_clock(step)}<"
        f"{_clock(step, _TOTAL - step.number)}, {step.took_s:5.2f}s/it]"
    )
    story.log_rank(step.at_s, 0, (text))
    text = (
        f"{{'loss': {step.shown('.4f')}, 'grad_norm': {step.norm_shown}, 'learning_rate': "
        f"2.9e-05, 'epoch': {step.number / _TOTAL:.2f}}}"
    )
    story.log_rank(step.at_s, 0, (text))


def _composer(story: Story, step: _Step) -> None:
    """Composer: some lines a batch."""
    story.log_rank(
        step.at_s,
        0,
        f"[batch={step.number}/{_TOTAL}]:",
        f"\t Train time/batch: {step.number - 1}",
        f"\t Train throughput/batches_per_sec: {1 / step.took_s:.4f}",
        f"\t Train loss/train/total: {step.shown('.4f')}",
    )


def _plain(story: Story, step: _Step) -> None:
    """A loop that somebody wrote."""
    text = (
        f"step: {step.number}  loss: {step.shown('.6E')}  memory: 61.2GiB(77%)  tps: "
        f"{step.tokens}  mfu: 38.{step.tokens % 100:02d}%"
    )
    story.log_rank(step.at_s, 0, (text), voice=Voice.LOGGING, source="root")


def _clock(step: _Step, steps: int = 0) -> str:
    """Hours, minutes and seconds of so many steps, as a bar shows them."""
    seconds = int((steps or step.number % 4000) * step.took_s)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return (f"{hours}:" if hours else "") + f"{minutes:02d}:{seconds % 60:02d}"


STYLES: Final[dict[str, _Style]] = {
    "megatron": _megatron, "megatron-core": _megatron_core, "nemo": _nemo,
    "nemo-lightning": _nemo_lightning, "lightning": _lightning, "torchtitan": _torchtitan,
    "deepspeed": _deepspeed, "transformers": _transformers, "composer": _composer, "plain": _plain,
}  # fmt: skip
# What a job says beside its steps; all of it is harmless.
CHATTER: Final = {
    "megatron": (
        "saving checkpoint at iteration {step:7d} to /mnt/ckpt in torch_dist format",
        "  successfully saved checkpoint from iteration {step:7d} to /mnt/ckpt [ t 1/8, p 1/4 ]",
        "    save-checkpoint ................................: ({n}.52, {n}.81)",
        "    evaluate .......................................: ({n}.10, {n}.93)",
        " validation loss at iteration {step} | lm loss value: 2.114302E+00 | lm loss PPL: "
        "8.283833E+00 |",
        "[Rank 0] (after {step} iterations) memory (MB) | allocated: 61262.3 | max allocated: "
        "70211.9 | reserved: 74310.0 | max reserved: 74310.0",
    ),
    "nemo": (
        "[NeMo I {at} nemo_logging:393] Scheduled async checkpoint save for "
        "/results/checkpoints/step={step}-last.ckpt",
        "[NeMo I {at} nemo_logging:393] Async checkpoint save for step {step} "
        "(/results/checkpoints/step={step}-last.ckpt) finalized successfully.",
        "[NeMo I {at} nemo_logging:393] Async finalization time took 0.00{n} s",
        "[NeMo W {at} nemo_logging:405] /usr/local/lib/python3.10/dist-packages/torch/distributed/"
        "checkpoint/planner_helpers.py:316: FutureWarning: Please use DTensor instead and we are "
        "deprecating ShardedTensor.",
    ),
    "lightning": (
        "Epoch 0, global step {step}: 'val_loss' was not in top 3",
        "/usr/lib/python3/dist-packages/lightning/pytorch/trainer/connectors/logger_connector/"
        "result.py:434: It is recommended to use `self.log('val_loss', ..., sync_dist=True)` when "
        "logging on epoch level in distributed setting to accumulate the metric across devices.",
        "Metric val_loss improved by 0.0{n} >= min_delta = 0.0. New best score: 2.114",
    ),
    "torchtitan": (
        "[titan] {at},0{n:02d} - root - INFO - Saving the checkpoint (or staging if async is "
        "enabled).",
        "[titan] {at},0{n:02d} - root - INFO - Finished saving the checkpoint (or staging if async "
        "is enabled)in {n}.31 seconds.",
        "[titan] {at},0{n:02d} - root - INFO - [GC] Peforming periodical GC collection 0.{n:02d} "
        "seconds",
    ),
    "deepspeed": (
        "[{at},345] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving "
        "/mnt/ckpt/global_step{step}/mp_rank_00_model_states.pt...",
        "[{at},345] [WARNING] [stage3.py:2104:step] {n} pytorch allocator cache flushes since last "
        "step. this happens when there is high memory pressure and is detrimental to performance. "
        "if this is happening frequently consider adjusting settings to reduce memory consumption.",
        "[{at},345] [INFO] [timer.py:260:stop] epoch=0/micro_step={step}/global_step={step}, "
        "RunningAvgSamplesPerSec=151.7, CurrSamplesPerSec=152.1, MemAllocated=41.2GB, "
        "MaxMemAllocated=70.3GB",
    ),
    "transformers": (
        "Saving model checkpoint to /mnt/ckpt/checkpoint-{step}",
        "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
        "/usr/lib/python3/dist-packages/torch/nn/parallel/_functions.py:71: UserWarning: Was asked "
        "to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze "
        "and return a vector.",
    ),
    "": (
        "wandb: Network error (ReadTimeout), entering retry loop.",
        "wandb: 429 encountered (Filestream rate limit exceeded, retrying in {n}.2 seconds.), "
        "retrying request",
        "/usr/lib/python3/dist-packages/torch/utils/checkpoint.py:429: UserWarning: "
        "torch.utils.checkpoint: please pass in use_reentrant explicitly",
        "huggingface/tokenizers: The current process just got forked, after parallelism has "
        "already been used. Disabling parallelism to avoid deadlocks...",
        "checkpoint saved in {n}.2 s (step {step})",
        "eval step {step}: val loss 2.31",
        "prefetched shard {n}, 4096 samples in buffer",
    ),
}  # fmt: skip


def chatter(story: Story, since_s: float, count: int) -> None:
    """What the job says between ``since_s`` and the fault beside its progress."""
    chance, framework = story.chance, story.world.software.framework
    pace = story.world.chance("pace").uniform(2.0, 12.0)
    own = next(
        (lines for name, lines in CHATTER.items() if name and framework.startswith(name)), ()
    )
    for _ in range(count):
        text = chance.choice(own if own and chance.random() < 0.7 else CHATTER[""])
        at = since_s * chance.random() ** 2 - 1.0
        step = max(story.iteration + int(at / pace), 1)
        stamp = f"{story.wall(at, 0):%Y-%m-%d %H:%M:%S}"
        story.log_rank(at, 0, text.format(step=step, n=chance.randrange(1, 40), at=stamp))
