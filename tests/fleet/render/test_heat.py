"""Heat over a fleet: a swing that was found is told, noise is not, and nodes come with figures."""

import math
import re

import numpy as np
import pytest

from tests.fleet.render import fleets
from triage.fleet.render.page import render
from triage.fleet.render.sentences import write_sentences
from triage.fleet.render.tables import tabulate_hot_nodes, tabulate_racks
from triage.statistics.daily_cycle import fit_daily_cycle

HOURS = np.arange(24 * 28)


def telemetry(amplitude=0.0075, **more):
    chance = np.random.default_rng(5)
    wave = amplitude * np.cos(2 * math.pi * (HOURS - 13) / 24)
    step = 10 * (1 + wave + chance.normal(0, 0.003, len(HOURS)))
    by_hour = [float(step[hour::24].mean() / step.mean()) for hour in range(24)]
    swing = {
        "step_time": fit_daily_cycle(HOURS, step).to_dict(),
        "inlet": fit_daily_cycle(HOURS, step).to_dict(),
        "step_by_hour": by_hour,
    }
    return {"num_nodes": 2, "nodes": [], "racks": [], "daily_swing": swing, **more}


def rack(name, ahead, trend=0.0):
    return {"rack": name, "day": [1], "inlet_c": [27.25], "num_nodes": 16, "ahead_c": ahead,
            "trend_c_per_week": trend}  # fmt: skip


def test_a_swing_is_told_peak_to_peak_with_its_hour():
    [sentence] = write_sentences("swing", telemetry())

    assert sentence.startswith("Step time swings by 1.5 % (1.4 to 1.6) over the day")
    assert "longest around 13:0" in sentence or "longest around 12:5" in sentence


def test_noise_is_no_swing():
    [sentence] = write_sentences("swing", telemetry(0.0))

    assert sentence.startswith("No daily swing of step time is told from noise")


def test_without_step_time_there_is_nothing():
    for nothing in ({}, {"daily_swing": None}):
        assert write_sentences("swing", nothing) == []
        assert tabulate_racks(nothing) is None
        assert tabulate_hot_nodes(nothing) is None


def test_the_table_has_a_row_an_hour():
    report, standings = fleets.one_stop()
    page = render({**report, "telemetry": telemetry()}, standings)

    table = page[page.index("Step time by hour, UTC") :]
    assert re.findall(r">(\d\d:00)<", table)[:24] == [f"{hour:02d}:00" for hour in range(24)]


@pytest.mark.parametrize(
    ("racks", "named"),
    [
        ([rack("r1", 0.2), rack("r2", -0.2)], []),
        ([rack("r1", 3.0), rack("r2", -0.2)], ["r1"]),
        ([rack("r1", 0.2, 2.0), rack("r2", None)], ["r1"]),
    ],
    ids=["alike", "warmer", "warming"],
)
def test_a_rack_is_named_where_it_is_warmer_than_the_others(racks, named):
    table = tabulate_racks({"racks": racks})

    assert [row[0] for row in (table.rows if table else ())] == named


def test_nodes_with_something_to_tell_come_by_name():
    rows = [
        {"node": "n1<b>", "telemetry_days": 3.0, "throttled_hours": 12.5, "gpu_temp_max_c": 91.0},
        {"node": "n2", "telemetry_days": 3.0, "throttled_hours": 0.0, "ecc_growth": 0.0},
    ]
    [row] = tabulate_hot_nodes({"nodes": rows, "num_nodes": 2}).rows

    assert (row[0], row[-1]) == ("n1<b>", "91")


def test_heat_has_its_place_in_the_report():
    report, standings = fleets.one_stop()

    assert "Heat and counters" in render({**report, "telemetry": telemetry()}, standings)
    assert "Heat and counters" not in render(report, standings)
