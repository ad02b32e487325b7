"""The words of trainers for the numbers of a step, and the literals that find their lines.

Names are compared without case, ``_`` and ``-`` being spaces. A name of several parts
(``throughput/tokens_per_second``, ``actor/pg_loss``) is known whole or by its last part.
"""

from typing import Final

from triage.parsers.logs.progress.series import Quantity

# One of these is in every line that is looked at; each is at least four letters long.
LITERALS: Final = (
    "loss", "step:", "step=", "step ", "step[", 'step"', "step'", "steps:", "steps=", "steps ",
    "iter:", "iter=", "iter ", "iter[", "iteration", "num_updates", "batch=", "batch:", "batch ",
    "it/s", "s/it", "/step:", "step/s", "s/step", "epoch", "batches_per_sec", "throughput",
    "tokens/s", "samples/s", "tokens_per", "samples_per", "forward-compute",
    "heartbeat", "overflow", "skipping ", "evaluati", "validation", "valid_", "eval_",
    "checkpoint", "train_runtime", "running training", "training com", "training fin",
    "training done", "training is", "training has", "training was", "training suc", "training end",
    "total time", "total training time", "training time",
    "start of training", "training start", "ing training", "training ...", "trainer.fit",
    "successfully", "ith code 0", "xit code 0", "exit 0", "ed: succ", "exiting program",
    "succeeded", "warmup iters", "done training",
    "finished training", "completed training", "finished saving", "saving the", "saved state",
    "traceback (most", "will restart", "restarting", "restart_count", "job requeue",
    "requeued", "due to node failure", "will be restart", "resetting",
    "retry training", "restart attempt", "restart number", "restart count",
)  # fmt: skip

_STEP, _TOTAL, _EPOCH = Quantity.STEP, Quantity.TOTAL, Quantity.EPOCH

NAMES: Final[dict[str, Quantity]] = {
    **dict.fromkeys(
        ("step", "steps", "iteration", "iter", "iterations", "global step", "train step",
         "training step", "completed step", "current step", "num updates", "update", "updates",
         "batch idx", "trainer/global step", "finished step", "optimizer step", "it", "batch",
         "global steps", "global step/max steps"),
        _STEP,
    ),
    **dict.fromkeys(("max steps", "total steps", "max iterations", "total iters"), _TOTAL),
    **dict.fromkeys(("epoch", "epochs"), _EPOCH),
    **dict.fromkeys(
        ("elapsed time per iteration", "time per iteration", "iter time", "step time",
         "iteration time", "train step timing", "train step time", "time per step",
         "seconds per step", "sec per step", "batch time", "time/batch", "time per batch",
         "seconds", "dt", "time",
         "sec/step", "s/step", "ms/step", "timing s/step", "avg iter time", "steptime", "time/step",
         "time/iter", "itertime", "seconds per iteration", "average step time", "step duration",
         "time metrics/end to end (s)", "duration", "step took", "took", "train batch time",
         "train speed (s/it)"),
        Quantity.STEP_S,
    ),
    **dict.fromkeys(
        ("it/s", "steps per sec", "steps per second", "steps/s", "steps/sec", "step/s", "ups",
         "batches per sec", "batches per second", "iter/s", "iters/s", "iterations per second",
         "train steps per second", "batches/s",
         "train speed (iter/s)"),
        Quantity.STEPS_PER_S,
    ),
    **dict.fromkeys(
        ("samples/sec", "samples/s", "samples per sec", "samples per second", "sps", "seq/s",
         "images/sec", "images/s", "imgs/s", "img/s", "examples/s", "examples per second",
         "sequences per second", "sequences/s", "running avg samples per sec", "currsamplespersec",
         "runningavgsamplespersec"),
        Quantity.SAMPLES_PER_S,
    ),
    **dict.fromkeys(
        ("tps", "wps", "tokens/s", "tok/s", "tokens/sec", "tokens per sec", "tokens per second",
         "tokens per second per gpu", "tokens/s/device", "tokens/s/gpu", "tokens per sec per gpu",
         "tgs", "tokens/gpu/s", "tokens/sec/gpu", "tokens per gpu per second", "token throughput",
         "tok/sec", "throughput/device/tokens per sec", "tokens per second per device"),
        Quantity.TOKENS_PER_S,
    ),
    **dict.fromkeys(
        ("tflops", "tflop/s", "tflop/s/gpu", "tflop/s/device", "throughput per gpu (tflop/s/gpu)",
         "throughput per gpu", "tflops per gpu", "tflops/gpu", "model tflops", "model flops",
         "gpu flops", "hardware tflops", "tflops per device"),
        Quantity.TFLOPS,
    ),
    **dict.fromkeys(("mfu", "mfu (%)"), Quantity.MFU),
    **dict.fromkeys(("loss scale", "lossscale", "grad scale", "cur scale"), Quantity.LOSS_SCALE),
    **dict.fromkeys(
        ("grad norm", "gnorm", "norm", "gradient norm", "global grad norm", "gradnorm",
         "total norm", "grad norm total", "global norm"),
        Quantity.GRAD_NORM,
    ),
    **dict.fromkeys(("number of skipped iterations", "skipped"), Quantity.SKIPPED),
    **dict.fromkeys(("number of nan iterations",), Quantity.NAN_STEPS),
    **dict.fromkeys(("global batch size", "batch size", "gbs", "bsz"), Quantity.BATCH),
    **dict.fromkeys(
        ("data wait", "data time", "data wait time", "data loading", "data load time",
         "dataloading", "data", "batch load time", "data loading time",
         "time metrics/data loading (s)"),
        Quantity.DATA_S,
    ),
    **dict.fromkeys(("forward compute", "backward compute"), Quantity.COMPUTE_S),
}  # fmt: skip

# Where a line counts in two ways, the one that does not begin again with each epoch is meant.
RANKED_STEPS: Final = (
    "global step/max steps", "global step", "trainer/global step", "num updates",
    "global steps", "iteration", "step",
)  # fmt: skip

# Parts of a name that say: measured beside the training.
EVALUATED: Final = frozenset(
    {"val", "valid", "validation", "eval", "evaluation", "test", "dev", "aux", "z", "zloss"}
)

UNITS: Final = {
    "ms": 1e-3, "msec": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "s": 1.0, "sec": 1.0, "secs": 1.0,
    "seconds": 1.0, "min": 60.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9,
}  # fmt: skip
