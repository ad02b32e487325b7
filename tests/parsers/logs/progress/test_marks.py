"""What a job says of itself besides its steps, beside lines that use the same words."""

import pytest

from triage.parsers.logs.progress.marks import find_mark

MARKS = [
    ("end", "[after training is done] datetime: 2025-04-01 10:11:12"),
    ("end", "[exiting program at iteration 500] datetime: 2025-04-01 10:11:12"),
    ("end", "`Trainer.fit` stopped: `max_steps=100` reached."),
    ("end", "Training completed. Do not forget to share your model on huggingface.co/models =)"),
    ("end", "{'train_runtime': 812.3, 'train_samples_per_second': 41.2, 'epoch': 3.0}"),
    ("end", "done training in 812.3 seconds"),
    ("end", "[launch.py:351:main] Process 4120 exits successfully."),
    ("end", "Local worker group finished (WorkerState.SUCCEEDED). Waiting 300 seconds"),
    ("end", "[titan] root - INFO - Training completed"),
    ("end", "Process exited with code 0"),
    ("end", "Training time 6:12:44"),
    ("end", "Done. Total time: 6:12:44"),
    (None, "Epoch: [3] Total time: 0:05:20 (0.2512 s / it)"),
    (None, "Training time 6:12:44 exceeds the limit, exiting"),
    ("traceback", "Traceback (most recent call last):"),
    ("traceback", '{"message": "Traceback (most recent):\\n  File t.py, line 3"}'),
    ("restart", "*** JOB 9 ON n1 CANCELLED AT 2026-03-04T05:06:07 DUE TO JOB REQUEUE ***"),
    ("restart", "*** JOB 9 ON n1 CANCELLED DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***"),
    (None, "Process exited with code 1"),
    (None, "Training epoch 3 completed"),
    (None, "training completed with errors on 3 ranks"),
    (None, "failed to finish training in time"),
    (None, "Saving the training arguments"),
    ("evaluation", "evaluating: dataset valid-group-2/en, 100 iterations"),
    ("evaluation", "***** Running Evaluation *****"),
    ("evaluation_end", "{'eval_loss': 1.31, 'eval_runtime': 12.1, 'epoch': 1.0}"),
    ("evaluation_end", "validation loss at iteration 1000 | lm loss value: 2.3E+00"),
    (None, "eval_interval ................ 1000"),
    ("checkpoint", "saving checkpoint at iteration     500 to /ckpt in torch_dist format"),
    ("checkpoint", "Saving the checkpoint (or staging if async is enabled)."),
    ("checkpoint_end", "successfully saved checkpoint at iteration 500 to /ckpt"),
    ("checkpoint_end", "Finished saving the checkpoint in 12.31 seconds (staging)"),
    (None, "checkpoint directory: /ckpt"),
    (None, "Error: could not save: saving checkpoint failed"),
    ("heartbeat", "iris.worker heartbeat task=5 phase=training status=running"),
    (None, "Heartbeat monitor timed out! Process will be terminated"),
    (None, "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC: 480"),
    ("overflow", "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1.0"),
    ("overflow", "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 0.5"),
    ("overflow", "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.0"),
    (None, "stack overflow in worker"),
    (None, "skipping step 12 of the installation"),
    ("begin", "***** Running training *****"),
    ("begin", "[before the start of training step] datetime: 2025-04-01 10:11:12"),
    ("begin", "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5"),
]


@pytest.mark.parametrize(("kind", "line"), MARKS, ids=[line[:40] for _, line in MARKS])
def test_names_what_the_job_is_at(kind: str | None, line: str) -> None:
    found = find_mark(line)
    assert (None if found is None else str(found)) == kind
