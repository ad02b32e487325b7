"""Steps that mixed precision leaves out: noise, whatever stopped the job behind them."""

from pathlib import Path

import pytest

from tests.analysis.facts.job_logs import answer, culprits, megatron, steps, watchdogs

SKIPPED = (
    "found NaN/Inf in grad norm at iteration 419, skipping iteration, reducing loss scale to 32768",
    "WARNING:megatron: found NaN/Inf in grad norm; skipping iteration, loss scale 65536 -> 32768",
    "[rank0]: found inf in grad norm, skipping this step",
    "Found NaN/Inf gradient norm, skipping this optimizer step (loss scale 32768 -> 16384)",
    "rank 3: skipping this step, reducing loss scale to 16384",
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
)
STEPS = steps(megatron, 400, 20, 0)


@pytest.mark.parametrize("line", SKIPPED)
@pytest.mark.parametrize("at", [12, 20])
def test_the_hang_behind_a_skipped_step_is_judged_by_itself(
    line: str, at: int, tmp_path: Path
) -> None:
    silent = [rank for rank in range(8) if rank != 5]
    told = answer(tmp_path, [*STEPS[:at], line, *STEPS[at:], *watchdogs(801, silent)])
    assert (told.verdict.kind, str(told.verdict.category)) == ("hang", "nccl_timeout")
    assert [one.ranks for one in told.suspects] == [(5,)]


@pytest.mark.parametrize("line", SKIPPED)
def test_a_skipped_step_is_no_trouble(line: str, tmp_path: Path) -> None:
    told = answer(tmp_path, [*STEPS[:12], line, *STEPS[12:]])
    assert told.verdict.kind == "healthy"


@pytest.mark.parametrize(
    ("line", "category"),
    [
        (
            "AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3,"
            " node: n1",
            "sdc",
        ),
        ("RuntimeError: NaN in grad norm at iteration 420", "numerical"),
        ("ValueError: found Inf in grad norm; no step was skipped before", "numerical"),
        ("Exception: Current loss scale already at minimum - cannot decrease scale anymore.",
         "numerical"),
    ],
)  # fmt: skip
def test_what_ends_a_job_is_no_skipped_step(line: str, category: str, tmp_path: Path) -> None:
    told = answer(tmp_path, [*STEPS, f"[rank3]: {line}", *watchdogs(801, [0, 1, 2, 4, 5, 6, 7])])
    assert str(told.verdict.category) == category, told.verdict.summary
    assert culprits(told) in ([], ["n1"])
