"""What a job says of itself besides its steps: that it begins, evaluates, saves, beats, ends.

Real lines stand above the patterns. A mark is no evidence against anybody: it says what a
job was at when its steps ended, and whether that end was in order.
"""

import re
from typing import Final

from triage.domain.patterns import compile_re
from triage.parsers.logs.progress.series import MarkKind

# `validation loss at iteration 1000 | lm loss value: 2.3E+00` (Megatron-LM)
# `{'eval_loss': 1.31, 'eval_runtime': 12.1, 'eval_samples_per_second': 80.2}` (transformers)
# `| valid | {"epoch": 1, "valid_loss": "2.1"}` (fairseq)
_EVALUATION_END: Final = (
    r"\bvalid(?:ation)? (?:loss|ppl|set)\b|\beval_(?:loss|runtime)\b|\| valid(?: on| \|)"
    r"|\bvalid_loss\b|\b(?:evaluation|validation) (?:done|finished|completed?|took|results?)\b"
    r"|\(min, max\) time across ranks \(ms\):$|\bevaluate \.{3,}:"
)
# ` [2022-05-18 14:10:00] evaluating: dataset valid-group-2/en, 100 iterations` (Megatron-DeepSpeed)
# `***** Running Evaluation *****` (transformers), `Validation DataLoader 0:  10%|#` (Lightning)
_EVALUATION: Final = (
    r"\bevaluating\b"
    r"|\b(?:running|begin(?:ning)?|start(?:ing)?) (?:the )?(?:evaluation|validation)\b"
    r"|\bvalidation dataloader \d|\bevaluating iter \d"
)
# `successfully saved checkpoint at iteration 500 to /ckpt` (Megatron-LM)
# `Finished saving the checkpoint in 12.31 seconds (staging)` (torchtitan)
_CHECKPOINT_END: Final = (
    r"\bsuccessfully saved checkpoint\b|\bfinished saving\b|\bsaved (?:model )?checkpoint\b"
    r"|\bcheckpoint (?:was )?(?:saved|written|complete[d]?)\b|\bsaved state to\b"
    r"|\bcheckpoint (?:save|saving|write) (?:took|done|finished|completed?)\b"
)
# `saving checkpoint at iteration     500 to /ckpt in torch_dist format` (Megatron-LM)
# `Saving the checkpoint (or staging if async is enabled).` (torchtitan)
_CHECKPOINT: Final = (
    r"\bsaving (?:the |model |a |current )?(?:checkpoint|model|state)\b|\bsave_checkpoint\b"
    r"|\bbegin(?:ning)? (?:to save|checkpoint)|\bstart(?:ing|ed)? (?:to save|checkpoint|saving)"
    r"|\bwriting checkpoint\b"
)
# `iris.worker heartbeat task=5 phase=training status=running`
_HEARTBEAT: Final = r"\bheart-?beat\b"
_NO_HEARTBEAT: Final = (
    r"time(?:d )?-?out|fail|lost|miss|monitor|stop|no heart|stale|error|interval|enabl|start|_ms\b"
    r"|sec\b|port|thread"
)
# `[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1.0, reducing to 1.0`
# `NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 0.00390625` (fairseq)
# `Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.0` (apex)
_OVERFLOW: Final = (
    r"\boverflow\b.{0,80}\b(?:skipping|ignoring)\b|\bgradient overflow\b"
    r"|\bskipping (?:step|update|optimizer step)\b.{0,60}(?:\bscale\b|\binf\b|\bnan\b|overflow)"
)
# `[after training is done] datetime: 2024-05-01 10:00:00`, `[exiting program at iteration 500]`
# `` `Trainer.fit` stopped: `max_steps=100` reached. `` (Lightning)
# `done training in 812.3 seconds` (fairseq)
# `{'train_runtime': 812.3, 'train_samples_per_second': 41.2, 'epoch': 3.0}` (transformers)
# `Training completed. Do not forget to share your model on huggingface.co/models =)`
# `[launch.py:351:main] Process 4120 exits successfully.` (DeepSpeed)
# `Training time 6:12:44` (DETR, MAE, DINO), `Done. Total time: 6:12:44`
# `worker group successfully finished. Waiting 300 seconds for other agents to finish.` (torchrun)
# `Local worker group finished (WorkerState.SUCCEEDED). Waiting 300 seconds ...` (torchrun)
_END: Final = (
    r"\bafter training is done\b|\bexiting program (?:at iteration|after)\b"
    r"|\btraining (?:has |is |was )?(?:successfully )?(?:completed?|finished|done|ended)"
    r"(?: successfully)?(?=\s*(?:[.!,;)\]\"'|]|$|in\b|after\b|at (?:step|iteration)\b|for\b))"
    r"|\b(?:finished|completed|done) training\b|\btrainer\.fit`? stopped: `?max_"
    r"|'train_runtime':|\"train_runtime\":|\bexits successfully\b|\bworkerstate\.succeeded\b"
    r"|\bexit(?:ed|s)?(?: with)? (?:exit )?(?:code |status )?0\b|\bsuccessfully finished\b"
    r"|\bworkers exited: succeeded\b"
    r"|\b(?:job|run|training|task|workers?|all ranks|program)\b.{0,40}"
    r"\b(?:finished|completed|exited|ended) successfully\b"
    r"|\b(?:state|status|phase)[=: ]{1,3}\"?succeeded\b"
    r"|^(?:done\W{0,3})?(?:total (?:training )?|training )time:? \d{1,4}:\d\d:\d\d$"
)
# `***** Running training *****`, `[before the start of training step] datetime: ...`,
# `Training starts at step 1`, and the head of nccl-tests, whose first row is its first step
_BEGIN: Final = (
    r"\brunning training\b|\bbefore the start of training\b|\btraining starts at step\b"
    r"|\b(?:start(?:ing)?|begin(?:ning)?) (?:the )?training\b|^training \.\.\.$"
    r"|\bminbytes \d+ maxbytes \d+ step\b"
)

# `[default] Worker group FAILED. 2/3 attempts left; will restart worker group` (torchrun)
# `Rendezvous complete for workers. Result: restart_count=1 master_addr=...` (torchrun)
# `Detected 1 new nodes from group_rank=0; will restart worker group` (torchrun)
# `Restarting training worker group.`, `RETRY training worker group, attempt 2` (Ray Train)
# `restarting the job from the last checkpoint`, `Restart attempt 2 of 3` (wrappers of launchers)
# `slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-.. DUE TO JOB REQUEUE ***` (Slurm)
_RESTART: Final = (
    r"\b(?:will restart|restarting|resetting)(?: all| the| training| elastic| remaining){0,3}"
    r" (?:workers?(?:[ _]group)?|job|training|run|process(?:es)?|trainers?|ranks|attempt)\b"
    r"|\b(?:job|training|workers?|worker group) (?:will (?:be )?restart(?:ed)?|is restarting)\b"
    r"|\bretry training worker group\b"
    r"|\brestart_count\W{1,3}[1-9]\d{0,3}\b|\brestart (?:attempt|number|count)\W{0,3}[1-9]\d{0,3}\b"
    r"|\bcancelled(?: at \S{10,40})? due to (?:job requeue|node failure)\b"
    r"|\bjob \S{1,40} (?:was |has been |is being )?requeued\b"
)

_TRACEBACK: Final = r"\btraceback \(most recent\b"

_KINDS: Final = tuple(
    (kind, compile_re(pattern, re.IGNORECASE))
    for kind, pattern in (
        (MarkKind.TRACEBACK, _TRACEBACK),
        (MarkKind.RESTART, _RESTART),
        (MarkKind.OVERFLOW, _OVERFLOW),
        (MarkKind.EVALUATION_END, _EVALUATION_END),
        (MarkKind.EVALUATION, _EVALUATION),
        (MarkKind.CHECKPOINT_END, _CHECKPOINT_END),
        (MarkKind.CHECKPOINT, _CHECKPOINT),
        (MarkKind.END, _END),
        (MarkKind.BEGIN, _BEGIN),
        (MarkKind.HEARTBEAT, _HEARTBEAT),
    )
)
_UNBEATEN: Final = compile_re(_NO_HEARTBEAT, re.IGNORECASE)
_EVALUATES: Final = compile_re(
    r"^\W{0,4}(?:valid|eval|test)|\bvalid(?:ation)? (?:loss|ppl)\b|\| valid\b|\bevaluat",
    re.IGNORECASE,
)
# What failed did not happen.
_FAILED: Final = compile_re(
    r"\b(?:fail\w*|error\w*|could not|cannot|unable|not (?:completed?|finished|saved|done))\b"
    r"|\bexception\b|\bunsuccess",
    re.IGNORECASE,
)
_MAX_CHARACTERS: Final = 400


def find_mark(text: str) -> MarkKind | None:
    """What a line says besides a step; None for a line that says nothing of the kind.

    >>> mark_of("saving checkpoint at iteration     500 to /ckpt in torch_dist format")
    <MarkKind.CHECKPOINT: 'checkpoint'>
    """
    text = text[:_MAX_CHARACTERS]
    for kind, pattern in _KINDS:
        if pattern.search(text) is None:
            continue
        if kind is MarkKind.HEARTBEAT and _UNBEATEN.search(text) is not None:
            return None
        if kind not in (MarkKind.OVERFLOW, MarkKind.RESTART) and _FAILED.search(text) is not None:
            return None
        return kind
    return None


def is_evaluation(text: str) -> bool:
    """Whether a line with numbers is of an evaluation, and of no step."""
    return _EVALUATES.search(text[:_MAX_CHARACTERS]) is not None
