"""Lines of progress of real trainers to numbers, beside lines that only look like them."""

import math

import pytest

from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.progress.line import is_step, read_values

TOLD = {
    "megatron": (
        " [2026-03-04 05:06:07] iteration       10/     100 | consumed samples: 2560 | elapsed time"
        " per iteration (ms): 4512.7 | throughput per GPU (TFLOP/s/GPU): 312.4 | learning rate:"
        " 1.5E-04 | global batch size: 256 | lm loss: 9.8E+00 | loss scale: 1.0 | grad norm: 3.141"
        " | number of skipped iterations: 0 | number of nan iterations:   2 |",
        "iteration",
        {"step": 10, "total": 100, "step_s": 4.5127, "tflops": 312.4, "batch": 256, "loss": 9.8,
         "loss_scale": 1, "grad_norm": 3.141, "skipped": 0, "nan_steps": 2},
    ),
    "megatron loss nan": (
        " iteration 7250/ 159576 | elapsed time per iteration (ms): 18715.0 | lm loss: nan |"
        " loss scale: 1.0 | grad norm: inf | number of nan iterations:  10 |",
        "iteration",
        {"step": 7250, "total": 159576, "step_s": 18.715, "loss": math.nan, "loss_scale": 1,
         "grad_norm": math.inf, "nan_steps": 10},
    ),
    "megatron deepspeed": (
        " samples/sec: 331.2 | iteration     3071/ 320000 | elapsed time per iteration (ms):"
        " 12044.1 | learning rate: 6.000E-05 | loss scale: 1.0 | number of skipped iterations: 5 |",
        "iteration",
        {"step": 3071, "total": 320000, "samples_per_s": 331.2, "step_s": 12.0441,
         "loss_scale": 1, "skipped": 5},
    ),
    "nemo": (
        "Training epoch 0, iteration 10/99 | lr: 1e-05 | global_batch_size: 8 | global_step: 10 |"
        " reduced_train_loss: 9.1 | train_step_timing in s: 1.21 | consumed_samples: 88",
        "global step",
        {"epoch": 0, "step": 10, "batch": 8, "loss": 9.1, "step_s": 1.21},
    ),
    "nemo, a later epoch": (
        "Training epoch 2, iteration 10/99 | global_step: 208 | reduced_train_loss: 9.1",
        "global step",
        {"epoch": 2, "step": 208, "loss": 9.1},
    ),
    "deepspeed": (
        "[2022-05-16 20:14:00,000] [INFO] [logging.py:68:log_dist] [Rank 0] step=3071, skipped=25,"
        " lr=[6e-05], mom=[[0.9, 0.999]]",
        "step",
        {"step": 3071, "skipped": 25},
    ),
    "deepspeed engine": (
        "steps: 10 loss: 2.3456 iter time (s): 1.234 samples/sec: 414.2",
        "steps",
        {"step": 10, "loss": 2.3456, "step_s": 1.234, "samples_per_s": 414.2},
    ),
    "transformers": (
        "{'loss': 1.204, 'grad_norm': 0.51, 'learning_rate': 1e-05, 'epoch': 0.12}",
        "",
        {"loss": 1.204, "grad_norm": 0.51, "epoch": 0.12},
    ),
    "transformers, in quotes": (
        "{'loss': '1.204', 'grad_norm': 'nan', 'learning_rate': '1e-05', 'epoch': '0.12'}",
        "",
        {"loss": 1.204, "grad_norm": math.nan, "epoch": 0.12},
    ),
    "swift": (
        "{'loss': 0.3011, 'grad_norm': 0.839, 'epoch': 1.975, 'global_step/max_steps':"
        " '1590/1590', 'train_speed(s/it)': 4.29}",
        "global step/max steps",
        {"loss": 0.3011, "grad_norm": 0.839, "epoch": 1.975, "step": 1590, "total": 1590,
         "step_s": 4.29},
    ),
    "tqdm": (
        " 12%|#2        | 120/1000 [01:02<07:35,  1.93s/it]",
        "bar",
        {"step": 120, "total": 1000, "elapsed_s": 62, "step_s": 1.93},
    ),
    "tqdm of days": (
        " 12%|#2        | 120/1000 [1 day, 1:01:02<07:35,  2.00it/s, loss=0.5]",
        "bar",
        {"step": 120, "total": 1000, "elapsed_s": 90062, "step_s": 0.5, "loss": 0.5},
    ),
    "lightning": (
        "Epoch 0:  93%|####| 16633/95232 [5:43:21<25:20,  0.50it/s, v_num=0, train_loss=3.4]",
        "bar",
        {"step": 16633, "total": 95232, "elapsed_s": 20601, "step_s": 2, "epoch": 0, "loss": 3.4},
    ),
    "torchtune": (
        "1|120|Loss: 1.2345678: 12%|#2        | 120/1000 [01:02<07:35,  1.93s/it]",
        "bar",
        {"step": 120, "total": 1000, "elapsed_s": 62, "step_s": 1.93, "loss": 1.2345678},
    ),
    "torchtune on disk": (
        "Step 1 | loss:2.33 lr:0.0002 tokens_per_second_per_gpu:412.3 peak_memory_active:21.2",
        "step",
        {"step": 1, "loss": 2.33, "tokens_per_s": 412.3},
    ),
    "torchtitan": (
        "[titan] 2024-10-01 10:00:00,123 - root - INFO - step: 40  loss:  4.1231  grad_norm:  1.2"
        "  memory: 40.1GiB(50.2%)  tps: 3,201  tflops: 380.12  mfu: 41.1%",
        "step",
        {"step": 40, "loss": 4.1231, "grad_norm": 1.2, "tokens_per_s": 3201, "tflops": 380.12,
         "mfu": 41.1},
    ),
    "fairseq json": (
        '2021-12-02 03:10:31 | INFO | train_inner | {"epoch": 1, "loss": "2.400", "ppl": "8.20",'
        ' "wps": "125000", "num_updates": "60101", "gnorm": "0.400", "loss_scale": "8192.0"}',
        "num updates",
        {"epoch": 1, "loss": 2.4, "tokens_per_s": 125000, "step": 60101, "grad_norm": 0.4,
         "loss_scale": 8192},
    ),
    "fairseq": (
        "epoch 001:    100 / 1599 loss=15.2, nll_loss=14.9, ppl=32000, wps=5000.1, ups=0.4,"
        " bsz=12, num_updates=100, lr=1e-07, gnorm=2.1, loss_scale=128, train_wall=24, wall=0",
        "num updates",
        {"epoch": 1, "step": 100, "loss": 15.2, "tokens_per_s": 5000.1, "steps_per_s": 0.4,
         "batch": 12, "grad_norm": 2.1, "loss_scale": 128},
    ),
    "openmmlab": (
        "mmdet - INFO - Epoch [1][50/1749]  lr: 2.0e-02, eta: 1:59:21, time: 1.92, data_time:"
        " 0.004, memory: 5280, loss: 0.67, grad_norm: 0.06",
        "step",
        {"epoch": 1, "step": 50, "total": 1749, "step_s": 1.92, "data_s": 0.004, "loss": 0.67,
         "grad_norm": 0.06},
    ),
    "verl": (
        "step:12 - actor/pg_loss:-0.013 - critic/score:0.5 - timing_s/step:34.1",
        "step",
        {"step": 12, "loss": -0.013, "step_s": 34.1},
    ),
    "maxtext": (
        "completed step: 10, seconds: 5.213, TFLOP/s/device: 210.4, Tokens/s/device: 6290.123,"
        " total_weights: 65536, loss: 8.213",
        "completed step",
        {"step": 10, "step_s": 5.213, "tflops": 210.4, "tokens_per_s": 6290.123, "loss": 8.213},
    ),
    "levanter": (
        "2026-08-03T22:20:39.535Z INFO levanter.tracker step=159 train/loss=2.8504"
        " throughput/tokens_per_second=3829342 throughput/mfu=39.06",
        "step",
        {"step": 159, "loss": 2.8504, "tokens_per_s": 3829342, "mfu": 39.06},
    ),
    "units that multiply": (
        "[INFO|DP=0|node-12] iteration: 40000 / 3120000 | consumed_tokens: 94.4B |"
        " time_per_iteration_ms: 3078 | data_wait_ms: 40 | tokens_per_sec: 767K | lm_loss: 2.3",
        "iteration",
        {"step": 40000, "total": 3120000, "step_s": 3.078, "data_s": 0.04,
         "tokens_per_s": 767000, "loss": 2.3},
    ),
    "timers of a rank": (
        "ms-000 timers (ms) | forward-compute: 1199.0 | backward-compute: 2312.0 |"
        " grads-all-reduce: 360.2 | optimizer: 48.1",
        "",
        {"compute_s": 3.511},
    ),
    "nanogpt": (
        "iter 100: loss 3.2123, time 153.20ms, mfu 12.3%",
        "iter",
        {"step": 100, "loss": 3.2123, "step_s": 0.1532, "mfu": 12.3},
    ),
    "llm.c": (
        "step   12/18865 | loss 7.412300 (-0.09z)| norm 0.9123 (+0.2z)| lr 1.00e-04 | 1200.12 ms |"
        " 48.5% bf16 MFU | 400000 tok/s",
        "step",
        {"step": 12, "total": 18865, "loss": 7.4123, "grad_norm": 0.9123, "step_s": 1.20012,
         "tokens_per_s": 400000},
    ),
    "imagenet example": (
        "Epoch: [0][ 100/5005]  Time  0.321 ( 0.400)  Data  0.002 ( 0.011)  Loss 6.9e+00 (7.0e+00)",
        "step",
        {"epoch": 0, "step": 100, "total": 5005, "step_s": 0.321, "data_s": 0.002, "loss": 6.9},
    ),
    "slim": (
        "I1121 10:00:00.000000 139 learning.py:512] global step 100: loss = 2.33 (0.411 sec/step)",
        "global step",
        {"step": 100, "loss": 2.33, "step_s": 0.411},
    ),
    "composer, first line": ("[batch=12/1000]:", "batch", {"step": 12, "total": 1000}),
    "composer, another": ("\t Train loss/train/total: 2.3", "", {"loss": 2.3}),
    "words alone": ("step 120 loss 2.31", "step", {"step": 120, "loss": 2.31}),
    "words, nan": ("step 120 loss nan", "step", {"step": 120, "loss": math.nan}),
    "key=value": (
        "iter=120 dt=153ms loss=2.3", "iter", {"step": 120, "step_s": 0.153, "loss": 2.3}
    ),
    "json": (
        '{"step": 120, "loss": 2.31, "step_time": 0.4, "ts": "2026-01-01T00:00:00Z"}',
        "step",
        {"step": 120, "loss": 2.31, "step_s": 0.4},
    ),
    "a loss of training beside one of evaluation": (
        "step 250: train loss 3.1, val loss 3.2", "step", {"step": 250, "loss": 3.1}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_reads_what_a_trainer_prints(name: str) -> None:
    line, counter, wanted = TOLD[name]
    found_counter, values = read_values(read_envelope(line).text)
    assert found_counter == counter
    assert is_step(found_counter, values)
    assert {str(key): value for key, value in values.items()} == pytest.approx(wanted, nan_ok=True)


SILENT = (
    "Map: 100%|####| 1000/1000 [00:02<00:00, 423.11 examples/s]",
    "Loading checkpoint shards: 100%|####| 2/2 [00:01<00:00, 1.1it/s]",
    "Evaluating:  10%|#| 5/50 [00:01<00:11, 4.1it/s]",
    "Sanity Checking DataLoader 0: 100%|##| 2/2 [00:00<00:00, 8.1it/s]",
    "saving checkpoint at step 100 to /ckpt/step_100",
    "validation loss at iteration 1000 | lm loss value: 2.3E+00 | lm loss PPL: 9.9E+00 |",
    "the loss is computed in 4 steps",
    "Step 3/12 : RUN pip install torch",
    "slurmstepd: error: *** STEP 4711.0 ON n3 CANCELLED AT 2026-01-10T15:27:25 ***",
    "packet loss: 0%",
    "0 packets lost, time 4012ms",
    "eval_loss = 2.31",
    "nvme0: I/O 12 QID 3 timeout, aborting",
    "Iteration over the data set takes long",
    "NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM",
)


@pytest.mark.parametrize("line", SILENT)
def test_tells_no_step_where_there_is_none(line: str) -> None:
    text = read_envelope(line).text
    assert not is_step(*read_values(text))


def test_any_text_is_data() -> None:
    for line in (
        "9" * 5000,
        "step " + "1" * 5000 + " loss 2",
        "loss: " + "nan " * 900,
        "\x00|<|/s",
    ):
        read_values(line)
