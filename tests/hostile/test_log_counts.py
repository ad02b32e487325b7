"""Counts that count nothing, and rows that are no rows: each was found by fuzzing."""

from pathlib import Path

import pytest

import triage
from triage.parsers.logs.progress.line import is_step, read_values

LINES = {
    "no number": "[rank 0] step nan loss 6.9 grad_norm 1.2",
    "no end": "[rank 0] step inf loss 6.9 grad_norm 1.2",
    "an exponent": "{{'loss': 0.3, 'epoch': 1.8, 'global_step/max_steps': '15{:02}e1590'}}",
    "a total without end": "iteration {} / 1e999 | lm loss: 6.4 | grad norm: 96000.000",
    "an epoch without end": "epoch 1e999 step {} loss 2.31",
    "more than is exact": "step {}000000000000000000000000 loss 2.31",
}


@pytest.mark.parametrize("name", LINES)
def test_a_count_that_counts_nothing_leaves_the_rest_of_the_incident(
    name: str, tmp_path: Path
) -> None:
    log = tmp_path / "rank_0.log"
    log.write_text("".join(LINES[name].format(step) + "\n" for step in range(10, 40)))
    report = triage.analyze(tmp_path)
    assert [one.artifact for one in report.answer.coverage.unreadable] == []
    assert report.to_dict()["coverage"]["lines_read"] == 30


def test_a_loss_may_be_no_number_and_a_count_stays() -> None:
    counter, values = read_values("step 17 loss nan grad_norm inf")
    assert (counter, is_step(counter, values)) == ("step", True)
    assert values["step"] == 17
    assert len(values) == 3


def test_a_carriage_return_inside_a_row_of_an_event_table_costs_that_row(tmp_path: Path) -> None:
    (tmp_path / "sel.csv").write_bytes(
        b"Date,Sensor Name,Event\n"
        b"03/14/2026 02:39:12,FAN4\rx,Lower Critical going low\n"
        b"03/14/2026 02:40:12,FAN5,Lower Critical going low\n"
    )
    report = triage.analyze(tmp_path)
    assert report.answer.coverage.unreadable == ()
