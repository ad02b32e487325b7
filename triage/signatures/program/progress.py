"""Lines of progress: where a job was, and that it moved.

The most frequent lines of any log, and noise for a verdict. Each trainer prints
one text that nobody else does, so that one literal finds its lines.
"""

import re
from collections.abc import Sequence

from triage.domain.evidence import Blame, Kind
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

NUMBER = r"[-+]?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,4})?|nan|inf)"

LOSS = re.compile(
    rf"\b(?:\w{{1,20}}_|lm )?loss(?:es)?['\"]?\s?[:=]\s{{0,4}}['\"]?({NUMBER})", re.IGNORECASE
)
GRAD_NORM = re.compile(rf"grad[ _]norm['\"]?\s?[:=]\s{{0,4}}['\"]?({NUMBER})", re.IGNORECASE)
STEP_TIME_MS = re.compile(rf"elapsed time per iteration \(ms\): ({NUMBER})")
STEP_TIME_S = re.compile(
    rf"(?:train_step_timing in s|\btime|iter_time|step_time)['\"]?\s?[:=]\s{{0,4}}({NUMBER})"
)


def values(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Loss, norm and step time of the line, as printed."""
    text = match.string
    fields: dict[str, str] = {}
    for name, pattern in (("loss", LOSS), ("grad_norm", GRAD_NORM), ("step_time_s", STEP_TIME_S)):
        one = pattern.search(text)
        if one is not None:
            fields[name] = one[1]
    milliseconds = STEP_TIME_MS.search(text)
    if milliseconds is not None:
        fields["step_time_s"] = f"{float(milliseconds[1]) / 1000:.6g}"
    return Reading(fields=fields)


PROGRESS = Family("progress", Kind.PROGRESS, blame=Blame.NOBODY, quiet=True, read=values)

PROGRESS.noise(
    "megatron",
    r"iteration\s{1,12}(?P<iteration>\d{1,12})/\s{0,12}(?P<iterations>\d{1,12}) \|",
    literals=("elapsed time per iteration",),
    matches=(
        " [2026-03-04 05:06:07] iteration       10/     100 | consumed samples: 2560 | elapsed"
        " time per iteration (ms): 4512.7 | learning rate: 1.5E-04 | global batch size: 256 | lm"
        " loss: 9.8E+00 | loss scale: 1.0 | grad norm: 3.141 | number of skipped iterations: 0 |",
    ),
    near_misses=("elapsed time per iteration is averaged",),
    source="Megatron-LM: training_log",
)
PROGRESS.noise(
    "nemo",
    r"(?:iteration|global_step)[ :=]{1,3}(?P<iteration>\d{1,12}(?:\.0|e\+\d)?)",
    literals=("train_step_timing in s", "reduced_train_loss"),
    matches=(
        "Training epoch 0, iteration 10/99 | lr: 1e-05 | global_batch_size: 8 | global_step: 10 |"
        " reduced_train_loss: 9.1 | train_step_timing in s: 1.21",
    ),
    near_misses=("reduced_train_loss is logged",),
    source="NeMo",
)
PROGRESS.noise(
    "deepspeed",
    r"\bstep=(?P<iteration>\d{1,12}), skipped=(?P<skipped>\d{1,12})",
    literals=(", skipped=",),
    matches=("[Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]",),
    near_misses=("rows=4, skipped=2",),
    source="DeepSpeed: runtime/engine.py",
)
PROGRESS.noise(
    "transformers",
    r"\{'loss': .{0,400}'epoch': '?(?P<epoch>[\d.]{1,20})",
    literals=("'learning_rate': ",),
    matches=("{'loss': 1.204, 'grad_norm': 0.51, 'learning_rate': 1e-05, 'epoch': 0.12}",),
    near_misses=("{'learning_rate': 1e-05}",),
    source="transformers: Trainer.log",
)
PROGRESS.noise(
    "torchtitan",
    r"step:\s{1,12}(?P<iteration>\d{1,12})\s{1,8}loss:",
    literals=("  tps: ",),
    matches=(
        "step: 40  loss:  4.1231  grad_norm:  1.2  memory: 40.1GiB(50.2%)  tps: 3,201  mfu: 41.1%",
    ),
    near_misses=("tokens  tps: 3",),
    source="torchtitan: metrics",
)
PROGRESS.noise(
    "mmengine",
    r"Epoch ?(?:\(train\) )?\s{0,8}\[(?P<epoch>\d{1,9})\]\[\s{0,8}(?P<iteration>\d{1,12})/"
    r"(?P<iterations>\d{1,12})\]",
    literals=(" data_time: ",),
    matches=(
        "mmdet - INFO - Epoch [1][50/1749]  lr: 2.0e-02, eta: 1:59:21, time: 1.92, data_time:"
        " 0.004, memory: 5280, loss: 0.67, grad_norm: 0.06",
    ),
    near_misses=("the data_time: column",),
    source="OpenMMLab",
)
PROGRESS.noise(
    "fairseq",
    r"\"num_updates\": \"?(?P<iteration>\d{1,12})",
    literals=("train_inner | ", '"num_updates": '),
    matches=('train_inner | {"epoch": 1, "loss": "9.1", "num_updates": "100", "gnorm": "2.1"}',),
    near_misses=("train_inner | starting",),
    source="fairseq",
)
PROGRESS.noise(
    "plain",
    r"\b(?:[Ss]tep|[Ii]ter(?:ation)?|global_step)[ :=\[]{1,3}(?P<iteration>\d{1,12})\b"
    r".{0,160}?\b(?:\w{1,20}_)?loss\w{0,20}['\"]?\s?[:=]",
    literals=("step:", "step ", "iter:", "iteration:", "global_step="),
    matches=(
        "step:12 - actor/pg_loss:0.013 - critic/score:0.5",
        "global_step: 1200, lr: 0.001, loss: 1.859309",
        "Step 120 | loss: 2.31 | lr 3e-4",
    ),
    near_misses=("step 4: the loss is computed",),
    source="many trainers",
)
PROGRESS.noise(
    "bar",
    r"(?P<iteration>\d{1,12})/(?P<iterations>\d{1,12}) \[[\d:.]{1,20}<[\d:.?]{1,20}, *"
    r"(?P<rate>[\d.?]{1,12} ?(?:it/s|s/it|s/step|step/s))",
    literals=("it/s", "s/it", "s/step", "step/s"),
    matches=(
        "Epoch 0:  93%|####| 16633/95232 [5:43:21<25:20,  0.90it/s, v_num=0, train_loss=3.4]",
    ),
    near_misses=("throughput 3 it/s",),
    source="tqdm",
)

SIGNATURES = PROGRESS.signatures()
