"""Whether a job was well, by its progress: hits, and courses that must not be mistaken."""

import random
from pathlib import Path

import pytest

from tests.analysis.progress.logs import clock, course, health, noisy, training
from triage.analysis.progress.job import judge_health
from triage.domain.progress import ChangeKind, Health

NAN = float("nan")


def test_an_even_log_that_just_ends_moved_to_its_end(tmp_path: Path) -> None:
    assert health(tmp_path, training(noisy(5.0, 80))) is Health.MOVING_TO_THE_END


@pytest.mark.parametrize(
    "end",
    [
        "[after training is done] datetime: 2026-03-04 06:00:00",
        "Training completed. Do not forget to share your model on huggingface.co/models =)",
        "`Trainer.fit` stopped: `max_steps=180` reached.",
    ],
)
def test_a_job_that_says_so_ended_in_order(tmp_path: Path, end: str) -> None:
    assert health(tmp_path, [*training(noisy(5.0, 80)), end]) is Health.HEALTHY_END


def test_the_last_of_all_steps_is_an_orderly_end(tmp_path: Path) -> None:
    assert health(tmp_path, training(noisy(5.0, 80), total=179)) is Health.HEALTHY_END


def test_an_end_that_is_followed_by_steps_is_none(tmp_path: Path) -> None:
    lines = training(noisy(5.0, 80))
    lines.insert(40, "[after training is done] datetime: 2026-03-04 06:00:00")
    assert health(tmp_path, lines) is Health.MOVING_TO_THE_END


def test_heartbeats_do_not_hide_a_stop(tmp_path: Path) -> None:
    lines = training(noisy(5.0, 80))
    beats = [f"[{clock(400 + 30 * n)}] worker heartbeat task={n % 8}" for n in range(60)]
    found = course(tmp_path, lines + beats)
    assert found is not None
    kind, text = judge_health(found)
    assert kind is Health.STOPPED
    assert "step 179" in text
    assert found.stopped is not None
    assert found.stopped.since.line == 80


def test_a_silence_that_may_be_anything_is_not_health(tmp_path: Path) -> None:
    lines = [*training(noisy(5.0, 80)), f"[{clock(475)}] INFO uploading metrics"]
    assert health(tmp_path, lines) is Health.UNKNOWN


def test_a_stop_is_told_by_the_log_of_another_rank(tmp_path: Path) -> None:
    lines = training(noisy(5.0, 80))
    other = "".join(f"[{clock(60 * n)}] INFO data loader is alive\n" for n in range(60))
    assert health(tmp_path, lines, rank7=other) is Health.STOPPED


def test_a_long_checkpoint_is_no_stop(tmp_path: Path) -> None:
    """Saves of ten minutes were seen before; eight minutes into the next one nothing is told."""
    times = noisy(5.0, 60)
    lines, save = training(times), "saving checkpoint at iteration {} to /ckpt"
    late: list[str] = []
    for number, line in enumerate(lines):
        late.append(line.replace(line[2:25], clock(5.0 * number + 600 * (number // 20))))
        if number % 20 == 19:
            late.append(
                f" [{clock(5.0 * number + 600 * (number // 20) + 1)}] {save.format(number)}"
            )
            if number < 59:
                late.append(f" successfully saved checkpoint at iteration {number}")
    late.append(f"[{clock(295 + 1200 + 480)}] DEBUG still here")
    found = course(tmp_path, late)
    assert judge_health(found)[0] is Health.UNKNOWN
    assert found is not None
    assert found.doing == "checkpoint"


def test_an_evaluation_without_an_end_is_not_health(tmp_path: Path) -> None:
    lines = training(noisy(110.0, 14))
    found = course(tmp_path, [*lines, f"[{clock(1700)}] evaluating: dataset valid, 100 iterations"])
    assert judge_health(found)[0] is Health.UNKNOWN


def test_a_job_that_begins_and_prints_no_step_is_not_health(tmp_path: Path) -> None:
    found = course(tmp_path, ["***** Running training *****", "  Num examples = 1,000"])
    assert judge_health(found)[0] is Health.UNKNOWN


def test_a_job_that_begins_again_and_again_gets_nowhere(tmp_path: Path) -> None:
    attempt = training(noisy(5.0, 3), first=4101)
    lines = [line for _ in range(4) for line in [*attempt, "launcher: in-job restart"]]
    assert health(tmp_path, lines) is Health.STOPPED


def test_a_job_that_was_restarted_and_went_on_is_well(tmp_path: Path) -> None:
    times = noisy(5.0, 80)
    lines = training(times)[:40]
    more = [line.replace(" 13", " 12").replace("  1", "  1") for line in training(times)[30:]]
    assert health(tmp_path, lines + more) is Health.MOVING_TO_THE_END


@pytest.mark.parametrize("slower", [0.055, 0.1, 0.43, 2.0])
@pytest.mark.parametrize("left", [8, 40, 70])
def test_a_lasting_change_of_the_step_time_is_found(
    tmp_path: Path, slower: float, left: int
) -> None:
    times = noisy(5.0, left) + noisy(5.0 * (1 + slower), 80 - left, seed=2)
    found = course(tmp_path, training(times))
    assert found is not None
    assert judge_health(found)[0] is Health.SLOWED
    assert found.slowed is not None
    assert found.slowed.since.step == pytest.approx(100 + left, abs=3)
    assert found.slowed.after / found.slowed.before - 1 == pytest.approx(
        slower, abs=0.012, rel=0.02
    )


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(5))
def test_noise_is_no_change(tmp_path: Path, noise: float, seed: int) -> None:
    times = [max(t, 0.5) for t in noisy(5.0, 300, noise, seed)]
    assert health(tmp_path, training(times)) is Health.MOVING_TO_THE_END


def test_two_per_cent_are_no_change(tmp_path: Path) -> None:
    assert health(tmp_path, training(noisy(5, 100) + noisy(5.1, 100))) is Health.MOVING_TO_THE_END


def test_a_job_that_became_faster_is_well(tmp_path: Path) -> None:
    assert health(tmp_path, training(noisy(8, 30) + noisy(5, 90))) is Health.MOVING_TO_THE_END


def test_a_slow_phase_that_went_away_is_past(tmp_path: Path) -> None:
    times = noisy(5, 60) + noisy(7, 60) + noisy(5, 60)
    assert health(tmp_path, training(times)) is Health.MOVING_TO_THE_END


@pytest.mark.parametrize("every", [10, 25, 50])
def test_checkpoints_at_equal_distances_are_no_slow_down(tmp_path: Path, every: int) -> None:
    times = noisy(5.0, 300)
    for number in range(every - 1, 300, every):
        times[number] *= 12
    assert health(tmp_path, training(times)) is Health.MOVING_TO_THE_END


def test_slow_steps_now_and_then_are_told_with_when_they_began(tmp_path: Path) -> None:
    rng = random.Random(4)
    times = [
        t * (2.5 if n > 150 and rng.random() < 0.3 else 1) for n, t in enumerate(noisy(5, 300))
    ]
    found = course(tmp_path, training(times))
    assert found is not None
    assert found.slowed is not None
    assert found.slowed.kind is ChangeKind.SPIKES
    assert found.slowed.since.step == pytest.approx(251, abs=8)


def test_a_larger_batch_takes_longer_and_is_no_slow_down(tmp_path: Path) -> None:
    small = training(noisy(5, 50), extra=" global batch size: 256 |")
    large = training(noisy(10, 50), first=150, extra=" global batch size: 512 |")
    assert health(tmp_path, small + large) is Health.MOVING_TO_THE_END


def test_steps_that_take_longer_and_do_more_are_no_slow_down(tmp_path: Path) -> None:
    small = training(noisy(5, 50), extra=" tokens per second: 9000 |")
    large = training(noisy(10, 50), first=150, extra=" tokens per second: 9100 |")
    assert health(tmp_path, small + large) is Health.MOVING_TO_THE_END


DIVERGED = {
    "nan": ([*[2.0] * 40, *[NAN] * 5], Health.DIVERGED),
    "nan at the very end": ([*[2.0] * 40, NAN], Health.DIVERGED),
    "nan from the start": ([NAN] * 20, Health.DIVERGED),
    "nan that came back": ([*[2.0] * 20, NAN, *[2.0] * 20], Health.MOVING_TO_THE_END),
    "exploded": ([*noisy(2, 60), *noisy(7, 30)], Health.DIVERGED),
    "jumped and stayed above": (
        [*noisy(6.4, 40, 0.002), 9.0, 14.0, 11.0, 8.0, *noisy(7.1, 30, 0.002)], Health.DIVERGED,
    ),
    "a spike that came back": (
        [*noisy(2, 60), 5.0, 4.0, 3.0, *noisy(2, 30)], Health.MOVING_TO_THE_END,
    ),
    "explodes at the very end": ([*noisy(2, 60), 5.0, 9.5, 18.0], Health.DIVERGED),
    "a little more at the very end": ([*noisy(2, 60), 2.6, 2.6, 2.6], Health.MOVING_TO_THE_END),
    "falls": ([9 / (1 + n / 10) for n in range(120)], Health.MOVING_TO_THE_END),
    "noisy": (noisy(1.0, 200, 0.3), Health.MOVING_TO_THE_END),
    "rises a little with other data": ([*noisy(2, 60), *noisy(2.1, 60)], Health.MOVING_TO_THE_END),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVERGED)
def test_a_loss_is_held_against_its_own_past(tmp_path: Path, name: str) -> None:
    losses, wanted = DIVERGED[name]
    assert health(tmp_path, training(noisy(5.0, len(losses)), losses)) is wanted


def scaled(scales: list[float], skipped: list[int]) -> list[str]:
    return [
        f" [{clock(5.0 * n)}] iteration {100 + n:8d}/   90000 | elapsed time per iteration (ms):"
        " 5000.0"
        f" | loss scale: {scale} | number of skipped iterations: {left_out} |"
        for n, (scale, left_out) in enumerate(zip(scales, skipped, strict=True))
    ]


def test_a_loss_scale_that_only_falls_has_diverged(tmp_path: Path) -> None:
    scales = [65536.0] * 30 + [65536.0 / 2**n for n in range(1, 18)]
    found = course(tmp_path, scaled(scales, [0] * 47))
    assert found is not None
    assert found.diverged is not None
    assert found.diverged.kind is ChangeKind.LOSS_SCALE_COLLAPSED


def test_a_loss_scale_that_is_being_found_is_well(tmp_path: Path) -> None:
    scales = [2.0**32 / 2**n for n in range(17)] + [2.0**15] * 60
    lines = scaled(scales, [1] * 17 + [0] * 60)
    assert health(tmp_path, lines) is Health.MOVING_TO_THE_END


def test_updates_that_are_all_left_out_have_diverged(tmp_path: Path) -> None:
    lines = scaled([1.0] * 60, [0] * 30 + [1] * 30)
    found = course(tmp_path, lines)
    assert found is not None
    assert found.diverged is not None
    assert found.diverged.since.step == 130


def timers(slow: set[int], factor: float = 1.1) -> list[str]:
    rng = random.Random(2)
    lines = []
    for step in range(12):
        for rank in range(32):
            took = 3500 * rng.uniform(0.99, 1.01) * (factor if rank in slow else 1)
            lines.append(f"[rank{rank}]: timers (ms) | forward-compute: {took:.1f} |")
        lines.append(training([5.0], first=step)[0])
    return lines


@pytest.mark.parametrize("slow", [{5}, {8, 9, 10, 11}, {5, 21}])
def test_ranks_that_compute_longer_than_their_peers_are_named(
    tmp_path: Path, slow: set[int]
) -> None:
    found = course(tmp_path, timers(slow))
    assert found is not None
    assert {one.rank for one in found.slow_ranks} == slow
    assert found.slow_ranks[0].ratio == pytest.approx(1.1, abs=0.02)


@pytest.mark.parametrize("slow", [{24, 25, 26, 27, 28, 29, 30, 31}, {0, 1, 2, 3}, {3, 11, 19, 27}])
def test_stages_and_members_that_have_more_to_do_are_not_named(
    tmp_path: Path, slow: set[int]
) -> None:
    found = course(tmp_path, timers(slow))
    assert found is not None
    assert found.slow_ranks == ()


def test_ranks_that_differ_by_noise_are_not_named(tmp_path: Path) -> None:
    rng = random.Random(2)
    lines = [
        f"[rank{rank}]: step {step} | loss: 2.0 | step_time: {5 * rng.uniform(0.97, 1.03):.3f}"
        for step in range(12)
        for rank in range(16)
    ]
    found = course(tmp_path, lines)
    assert found is not None
    assert found.slow_ranks == ()


def test_a_log_without_times_moves_where_a_step_is_near_its_end(tmp_path: Path) -> None:
    lines = [f"step {n} loss {3 - n / 100:.3f}" for n in range(50)]
    assert health(tmp_path, lines) is Health.MOVING_TO_THE_END
    assert health(tmp_path, [*lines, *["something else"] * 40]) is Health.UNKNOWN


def test_no_progress_at_all_is_no_health(tmp_path: Path) -> None:
    found = course(tmp_path, ["NCCL INFO Bootstrap : Using eth0", "hello"])
    assert found is None
    assert judge_health(found)[0] is Health.UNKNOWN


def test_the_order_of_files_moves_nothing(tmp_path: Path) -> None:
    from triage.analysis.facts.on_one_clock import on_one_clock
    from triage.analysis.progress.job import measure_progress
    from triage.domain.job import Job
    from triage.formats.gather import gather

    for name in "abc":
        (tmp_path / f"{name}.log").write_text("\n".join(training(noisy(5, 40))) + "\n")
    files = on_one_clock(gather([tmp_path], None)[2], None, Job(), None).logs.files
    assert measure_progress(files) == measure_progress(files[::-1])


@pytest.mark.parametrize("scale", [0.01, 1.0, 60.0])
def test_scaling_time_moves_no_answer(tmp_path: Path, scale: float) -> None:
    times = noisy(5, 60) + noisy(5.5, 60)
    found = course(tmp_path, training(times, scale=scale))
    assert found is not None
    assert found.slowed is not None
    assert found.slowed.since.step == pytest.approx(160, abs=3)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_a_log_cut_to_a_few_lines_is_read(tmp_path: Path, count: int) -> None:
    # One line shows no movement.
    wanted = Health.MOVING_TO_THE_END if count > 1 else Health.UNKNOWN
    assert health(tmp_path, training(noisy(5, count))) is wanted
