"""The picture of a job's course: drawn where there is a curve, and true to what changed."""

import re

import pytest

from triage.domain.progress import (
    Change,
    ChangeKind,
    Curve,
    Health,
    JobProgress,
    ProgressPoint,
    SlowRank,
)
from triage.render.pictures.progress import as_svg, as_table

SECOND = 1_000_000_000
NOW = 1_772_600_000 * SECOND


def at(step: int, text: str = "train.log") -> ProgressPoint:
    return ProgressPoint(text, step + 1, step, NOW + step * SECOND)


def progress(count: int = 40, changes: tuple[Change, ...] = (), **fields: object) -> JobProgress:
    curve = Curve(
        step=tuple(range(count)),
        at_ns=tuple(NOW + step * SECOND for step in range(count)),
        step_time=tuple(5.0 + step % 3 / 10 for step in range(count)),
        loss=tuple(3 - step / count for step in range(count)),
    )
    defaults: dict[str, object] = {
        "first": at(0), "last": at(count - 1), "until_ns": NOW + 200 * SECOND, "curve": curve,
        "changes": changes, "health": Health.STOPPED, "said": "It stopped.",
    }  # fmt: skip
    return JobProgress(**{**defaults, **fields})


STOP = Change(ChangeKind.STOPPED, "the job stopped moving after step 39", at(39))


def test_draws_step_time_and_loss() -> None:
    svg = as_svg(progress())
    assert svg.count("stroke-linejoin") == 2
    assert "step time (s)" in svg
    assert "silence" not in svg


def test_marks_the_stop_and_the_silence_behind_it() -> None:
    svg = as_svg(progress(changes=(STOP,)))
    assert "stopped" in svg
    silence = re.search(r'class="silence" d="M([\d.]+) \d+H([\d.]+)', svg)
    assert silence is not None
    assert float(silence[2]) - float(silence[1]) > 500


def test_what_came_back_is_not_drawn() -> None:
    past = Change(ChangeKind.LOSS_NOT_A_NUMBER, "the loss came back", at(9), lasting=False)
    assert 'class="change"' not in as_svg(progress(changes=(past,)))
    assert "The loss came back." in as_table(progress(changes=(past,)))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_draws_nothing_of_too_few_points(count: int) -> None:
    assert as_svg(progress(count)) == ""


def test_draws_nothing_without_progress() -> None:
    assert as_svg(None) == ""
    assert as_table(None) == ""


def test_a_curve_without_times_goes_by_steps() -> None:
    shown = progress()
    curve = Curve(shown.curve.step, (None,) * 40, shown.curve.step_time, shown.curve.loss)
    assert "step 39" in as_svg(progress(curve=curve))


def test_a_rate_is_drawn_as_multiples_of_the_usual() -> None:
    shown = progress().curve
    times = tuple(value / 1e7 for value in shown.step_time if value is not None)
    svg = as_svg(progress(curve=Curve(shown.step, shown.at_ns, times, shown.loss, False)))
    assert "usual = 1" in svg


def test_foreign_text_is_escaped() -> None:
    evil = Change(ChangeKind.STOPPED, "<script>alert(1)</script>", at(39, "<b>.log"))
    shown = progress(changes=(evil,), said="<i>")
    assert "<script>" not in as_svg(shown) + as_table(shown)
    assert "<b>" not in as_table(shown)


def test_slow_ranks_stand_in_the_table() -> None:
    slow = SlowRank(5, "n3", None, 1.1, 16, at(3), "its own computing")
    assert "Rank 5 on n3 takes 1.10 times as long" in as_table(progress(slow_ranks=(slow,)))
