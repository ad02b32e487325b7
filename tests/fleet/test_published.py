"""Figures that papers print, or that follow from theirs by hand: ours, to the printed digit.

Where each is from stands beside it. Llama 3: "The Llama 3 Herd of Models" (arXiv 2407.21783),
section 3.3.4 and table 5. RSC: "Revisiting Reliability in Large-Scale Machine Learning Research
Clusters" (arXiv 2410.21680). FT-HSDP: arXiv 2602.00277. Epoch: Epoch AI, "Hardware failures
won't limit AI scaling". The figures of node standings are in `test_standing_out.py`.
"""

import math

import numpy as np
import pytest

from triage.domain.category import HARDWARE, LLAMA3_ROW
from triage.domain.llama3 import (
    LLAMA3_COUNTS,
    LLAMA3_GPUS,
    LLAMA3_HOURS,
    LLAMA3_NODES,
    LLAMA3_PARENT,
    LLAMA3_PLANNED,
    LLAMA3_UNEXPECTED,
    Parent,
)
from triage.statistics.dispersion import compute_silence_probability
from triage.statistics.estimate import Estimate
from triage.statistics.ettr import (
    compute_daly_s,
    compute_downtime_budget_min,
    compute_expected_ettr,
    compute_young_s,
    estimate_loss,
    solve_longest_restart_s,
)
from triage.statistics.projection import (
    estimate_job_mtti,
    estimate_run_survival,
)
from triage.statistics.rates import estimate_mtti, estimate_rate
from triage.statistics.spares import (
    estimate_spares_in_repair,
)

GPU_HOURS = LLAMA3_HOURS * LLAMA3_GPUS
NODE_DAYS = LLAMA3_HOURS / 24 * LLAMA3_NODES
HOURS_PER_YEAR = 8_760.0
PER_GPU_HOUR = estimate_rate(LLAMA3_UNEXPECTED, GPU_HOURS, unit="per GPU-h")
MTTI_S = LLAMA3_HOURS * 3600 / LLAMA3_UNEXPECTED
RSC_1, RSC_2 = 6.50e-3, 2.34e-3  # failures a node-day (RSC, section on failure rates)
HARDWARE_STOPS = sum(LLAMA3_COUNTS[row] for row in {LLAMA3_ROW[leaf] for leaf in HARDWARE})


def printed(value: float | None, text: str) -> bool:
    """Whether ``value``, rounded to the digits of ``text``, is what was printed."""
    assert value is not None
    decimals = len(text.partition(".")[2])
    return f"{value:,.{decimals}f}" == text


# What was printed, what we get, and why the two differ.
KNOWN = [
    (
        "3.434",
        estimate_rate(419, NODE_DAYS, unit="", per=1e3).low,
        "low bound per 1,000 node-days: 3.43457 was cut off, not rounded",
    ),
]


@pytest.mark.parametrize(("text", "ours", "why"), KNOWN)
def test_what_is_printed_otherwise_differs_by_its_last_digit(
    text: str, ours: float, why: str
) -> None:
    assert not printed(ours, text), f"mended: {why}"
    assert printed(math.floor(1e3 * ours) / 1e3, text)


# --- Llama 3, table 5 and the text below it


def test_the_table_adds_up_to_the_paper_s_total() -> None:
    assert len(LLAMA3_COUNTS) == 18
    assert LLAMA3_UNEXPECTED == 419
    assert LLAMA3_UNEXPECTED + LLAMA3_PLANNED == 466


@pytest.mark.parametrize(
    ("row", "percent"),
    [
        ("Faulty GPU", "35.3"),  # the paper prints 30.1, which is no share of its own count
        ("GPU HBM3 Memory", "17.2"), ("Software Bug", "12.9"), ("Network Switch/Cable", "8.4"),
        ("Host Maintenance", "7.6"), ("GPU SRAM Memory", "4.5"), ("GPU System Processor", "4.1"),
        ("NIC", "1.7"), ("NCCL Watchdog Timeouts", "1.7"), ("Silent Data Corruption", "1.4"),
        ("GPU Thermal Interface + Sensor", "1.4"), ("SSD", "0.7"), ("Power Supply", "0.7"),
        ("Server Chassis", "0.5"), ("IO Expansion Board", "0.5"), ("Dependency", "0.5"),
        ("CPU", "0.5"), ("System Memory", "0.5"),
    ],
)  # fmt: skip
def test_shares_follow_from_the_counts(row: str, percent: str) -> None:
    assert printed(100 * LLAMA3_COUNTS[row] / LLAMA3_UNEXPECTED, percent)


@pytest.mark.parametrize(
    ("parent", "count"),
    [
        (Parent.GPU, 268), (Parent.HOST, 21), (Parent.NETWORK, 35), (Parent.DEPENDENCY, 56),
        (Parent.MAINTENANCE, 32), (Parent.UNKNOWN, 7),
    ],
)  # fmt: skip
def test_rows_add_up_to_their_parents(parent: Parent, count: int) -> None:
    assert sum(n for row, n in LLAMA3_COUNTS.items() if LLAMA3_PARENT[row] is parent) == count


def test_hardware_is_about_78_percent_as_the_paper_says() -> None:
    assert HARDWARE_STOPS == 324
    assert printed(100 * 268 / LLAMA3_UNEXPECTED, "64.0")
    assert printed(100 * HARDWARE_STOPS / LLAMA3_UNEXPECTED, "77.3")
    assert printed(100 * (HARDWARE_STOPS + 7) / LLAMA3_UNEXPECTED, "79.0")
    assert printed(100 * (LLAMA3_UNEXPECTED - 3) / LLAMA3_UNEXPECTED, "99.3")


# --- rates with exact intervals (Garwood 1936), on the counts of Llama 3


@pytest.mark.parametrize(
    ("found", "value", "low", "high"),
    [
        (estimate_mtti(419, LLAMA3_HOURS), "3.093", "2.811", "3.412"),
        (estimate_mtti(419, GPU_HOURS), "50,677", "46,049", "55,902"),
        (estimate_rate(419, GPU_HOURS, unit="", per=1e6), "19.73", "17.89", "21.72"),
        (estimate_rate(419, NODE_DAYS, unit="", per=1e3), "3.789", None, "4.169"),
    ],
    ids=["MTTI h", "GPU-h between", "per 1e6 GPU-h", "per 1,000 node-days"],
)
def test_the_llama3_rate_in_all_its_units(
    found: Estimate, value: str, low: str | None, high: str
) -> None:
    assert printed(found.value, value)
    assert low is None or printed(found.low, low)
    assert printed(found.high, high)
    assert found.n == 419


def test_the_llama3_exposure() -> None:
    assert GPU_HOURS == 21_233_664
    assert printed(estimate_rate(419, LLAMA3_HOURS, unit="", per=24).value, "7.759")
    assert printed(estimate_rate(466, LLAMA3_HOURS, unit="", per=24).value, "8.630")


@pytest.mark.parametrize(
    ("count", "between", "percent_a_year"),
    [(268, "79,230", "11.06"), (HARDWARE_STOPS, "65,536", "13.37"), (148 + 72, "96,517", "9.08")],
    ids=["GPU rows", "all hardware", "faulty GPU and HBM3: the quoted 9 %"],
)
def test_parts_of_the_llama3_table(count: int, between: str, percent_a_year: str) -> None:
    assert printed(estimate_mtti(count, GPU_HOURS).value, between)
    yearly = estimate_rate(count, GPU_HOURS, unit="", per=100 * HOURS_PER_YEAR)
    assert printed(yearly.value, percent_a_year)


@pytest.mark.parametrize(
    ("per_node_day", "per_million", "between"),
    [(RSC_1, "33.9", "29,538"), (RSC_2, "12.2", "82,051")],
    ids=["RSC-1", "RSC-2"],
)
def test_rsc_rates_per_gpu_hour(per_node_day: float, per_million: str, between: str) -> None:
    per_gpu_hour = per_node_day / 8 / 24

    assert printed(1e6 * per_gpu_hour, per_million)
    assert printed(1 / per_gpu_hour, between)
    assert RSC_2 < (estimate_rate(419, NODE_DAYS, unit="").value or 0) < RSC_1


@pytest.mark.parametrize(
    ("events", "low", "high"),
    [(1, "17.9", "3,950"), (3, "11.4", "161.6"), (10, "5.44", "20.85"), (30, "2.33", "4.94")],
)
def test_small_samples_of_100_hours(events: int, low: str, high: str) -> None:
    found = estimate_mtti(events, 100.0)

    assert printed(found.low, low)
    assert printed(found.high, high)


def test_after_no_event_there_is_a_bound_alone() -> None:
    found = estimate_mtti(0, 100.0)

    assert found.value is None
    assert found.high is None
    assert printed(found.low, "27.1")
    assert printed(estimate_rate(0, 1.0, unit="").high, "3.689")


# --- projection to N GPUs (RSC, figure of MTTF over size; Epoch: a failure every 50,000 h)

HOURS_AT = [
    (1_024, "49.5", "28.8", "80.1", "48.8"),
    (8_192, "6.19", "3.61", "10.0", "6.10"),
    (16_384, "3.09", "1.80", "5.01", "3.05"),
    (24_576, "2.06", "1.20", "3.34", "2.03"),
    (32_768, "1.55", "0.90", "2.50", "1.53"),
    (100_000, "0.507", "0.295", "0.821", "0.500"),
    (131_072, "0.387", "0.225", "0.626", "0.381"),
]
MINUTES_AT = [
    (100_000, "30.4", "17.7", "49", "30"),  # Epoch prints 30 min at 100K
    (1_000_000, "3.04", "1.77", "4.92", "3.0"),  # and 3 min at 1M
]


def hours_between(per_node_day: float, nodes: int) -> float:
    return estimate_job_mtti(estimate_rate(1, 24 / per_node_day, unit=""), nodes).value or 0.0


@pytest.mark.parametrize(("gpus", "llama3", "rsc_1", "rsc_2", "epoch"), HOURS_AT)
def test_hours_between_interruptions_at_n_gpus(
    gpus: int, llama3: str, rsc_1: str, rsc_2: str, epoch: str
) -> None:
    assert printed(estimate_job_mtti(PER_GPU_HOUR, gpus).value, llama3)
    assert printed(hours_between(RSC_1, gpus // 8), rsc_1)
    assert printed(hours_between(RSC_2, gpus // 8), rsc_2)
    assert printed(50_000 / gpus, epoch)


@pytest.mark.parametrize(("gpus", "llama3", "rsc_1", "rsc_2", "epoch"), MINUTES_AT)
def test_minutes_between_interruptions_at_the_far_end(
    gpus: int, llama3: str, rsc_1: str, rsc_2: str, epoch: str
) -> None:
    assert printed(60 * (estimate_job_mtti(PER_GPU_HOUR, gpus).value or 0), llama3)
    assert printed(60 * hours_between(RSC_1, gpus // 8), rsc_1)
    assert printed(60 * hours_between(RSC_2, gpus // 8), rsc_2)
    assert printed(60 * 50_000 / gpus, epoch)


@pytest.mark.parametrize(("gpus", "paper"), [(16_384, "1.8"), (131_072, "0.23")])
def test_rsc_s_own_projections(gpus: int, paper: str) -> None:
    hours = hours_between(RSC_1, gpus // 8)

    assert hours == pytest.approx(float(paper), abs=0.0051 if gpus > 16_384 else 0.051)


def test_rsc_s_two_measured_points_are_on_one_line_and_not_on_that_of_the_projections() -> None:
    # 47.7 days at 8 GPUs and 7.9 h at 1,024 (RSC, figure of MTTF over size).
    assert printed(47.7 * 24 / 128, "8.9")
    assert printed(1e3 / 47.7, "21")
    assert printed(1e3 * 24 / (128 * 7.9), "24")
    assert printed(hours_between(RSC_1, 128), "28.8")


def test_ft_hsdp_s_two_statements_are_of_two_conditions() -> None:
    # "a failure every 18 min at 100K GPUs"; "2.3 per 1,000 servers a day".
    assert printed(1e3 * 24 / (12_500 * 18 / 60), "6.4")
    assert printed(60 * hours_between(2.3e-3, 12_500), "50")


@pytest.mark.parametrize(
    ("gpus", "hours", "percent"),
    [(16_384, 1, "72.4"), (16_384, 3, "37.9"), (1_024, 24, "61.6")],
)
def test_survival_at_the_llama3_rate(gpus: int, hours: float, percent: str) -> None:
    assert printed(100 * (estimate_run_survival(PER_GPU_HOUR, gpus, hours).value or 0), percent)


# --- checkpoints (Young 1974, Daly 2006) at the Llama 3 MTTI


@pytest.mark.parametrize(
    ("cost_s", "young", "daly", "percent"),
    [
        (2.43, "232.6", "231.0", "2.09"),
        (2.5, "236.0", None, "2.12"),
        (10, "471.9", "465.3", "4.24"),
        (20, "667.4", "654.1", "5.99"),
        (60, "1,155.9", "1,116.3", "10.4"),
    ],
)
def test_checkpoint_intervals_at_the_llama3_rate(
    cost_s: float, young: str, daly: str | None, percent: str
) -> None:
    assert printed(MTTI_S, "11,135")
    assert printed(compute_young_s(cost_s, MTTI_S), young)
    assert daly is None or printed(compute_daly_s(cost_s, MTTI_S), daly)
    assert printed(100 * estimate_loss(cost_s, MTTI_S), percent)


def test_four_minutes_for_a_save_of_two_and_a_half_seconds() -> None:
    # arXiv 2605.17821: "4 minutes, 2.5 s, 2.1 %" for Llama 3.
    assert printed(compute_young_s(2.5, MTTI_S) / 60, "3.93")
    assert printed(100 * estimate_loss(2.5, MTTI_S), "2.12")


# --- downtime budget of the Llama 3 run at more than 90 % effective time


def test_each_interruption_may_cost_a_quarter_of_an_hour() -> None:
    assert printed(compute_downtime_budget_min(LLAMA3_HOURS, 466, wanted=0.9), "16.7")
    assert printed(compute_downtime_budget_min(LLAMA3_HOURS, 419, wanted=0.9), "18.6")
    assert printed(LLAMA3_GPUS / 60, "273")


def test_what_a_faster_triage_would_save() -> None:
    saved = 419 * (60 - 5) / 60 * LLAMA3_GPUS

    assert printed(saved / 1e6, "6.29")
    assert printed(100 * saved / GPU_HOURS, "29.6")


# --- ETTR: RSC's closed form at the Llama 3 rate, checkpoint interval by Young


@pytest.mark.parametrize(
    ("restart_min", "write_s", "percent"),
    [(5, 20, "91.6"), (2, 10, "94.8"), (10, 20, "88.9"), (5, 60, "87.6"), (15, 60, "82.4"),
     (8, 20, "89.996")],
)  # fmt: skip
def test_ettr_at_the_llama3_rate(restart_min: float, write_s: float, percent: str) -> None:
    form = compute_expected_ettr(
        86_400 / MTTI_S,
        restart_s=60 * restart_min,
        interval_s=compute_young_s(write_s, MTTI_S),
        write_s=write_s,
    )

    assert printed(100 * form.share, percent)
    assert form.valid


def test_over_90_percent_needs_a_restart_just_under_8_minutes() -> None:
    interval_s = compute_young_s(20, MTTI_S)
    longest = solve_longest_restart_s(0.9, 86_400 / MTTI_S, interval_s=interval_s, write_s=20)

    assert longest is not None
    assert 470 < longest < 480


@pytest.mark.parametrize(("restart_min", "write_s", "percent"), [(5, 60, "47.1"), (2, 10, "76.6")])
def test_ettr_of_100_000_gpus_at_the_rsc_1_rate(
    restart_min: float, write_s: float, percent: str
) -> None:
    mtti_s = 3600 * hours_between(RSC_1, 12_500)
    form = compute_expected_ettr(
        86_400 / mtti_s,
        restart_s=60 * restart_min,
        interval_s=compute_young_s(write_s, mtti_s),
        write_s=write_s,
    )

    assert printed(100 * form.share, percent)
    assert form.valid == (form.loss <= 0.25)


# --- spares: repair pipeline (Poisson)

LLAMA3_NODE_RATE = 419 / NODE_DAYS
LLAMA3_HARDWARE = HARDWARE_STOPS / NODE_DAYS
IMBUE = 0.03 / 7  # Imbue: about 3 % of machines break a week, 511 hosts


@pytest.mark.parametrize(
    ("nodes", "per_node_day", "days", "mean", "at_95", "at_99", "at_999", "percent"),
    [
        (2_048, LLAMA3_NODE_RATE, 1, "7.8", 13, 15, 18, "0.73"),
        (2_048, LLAMA3_NODE_RATE, 7, "54.3", 67, 72, 78, "3.5"),
        (2_048, LLAMA3_HARDWARE, 7, "42.0", 53, 58, 63, "2.8"),
        (2_048, RSC_1, 7, "93.2", 109, 116, 124, "5.7"),
        (511, IMBUE, 7, "15.3", 22, 25, 29, "4.9"),
        (511, IMBUE, 14, "30.7", 40, 44, 49, "8.6"),
        (128, LLAMA3_HARDWARE, 7, "2.6", 6, 7, 9, "5.5"),
    ],
    ids=["Llama 3, a day", "Llama 3, a week", "Llama 3 hardware", "RSC-1", "Imbue, a week",
         "Imbue, two weeks", "Llama 3 hardware, 128 nodes"],
)  # fmt: skip
def test_spares_by_the_repair_pipeline(
    nodes: int, per_node_day: float, days: float, mean: str,
    at_95: int, at_99: int, at_999: int, percent: str,
) -> None:  # fmt: skip
    spares = estimate_spares_in_repair(nodes, per_node_day, days)

    assert printed(spares.mean_down, mean)
    assert (spares.at_95, spares.at_99, spares.at_999) == (at_95, at_99, at_999)
    assert printed(spares.percent, percent)


def test_imbue_s_three_percent_a_week_is_between_llama3_and_rsc_1() -> None:
    assert printed(1e3 * IMBUE, "4.29")
    assert printed(511 * 0.03, "15.3")
    assert printed(7 * 24 / (511 * 0.03), "10.96")
    assert LLAMA3_NODE_RATE < IMBUE < RSC_1


# --- a silent day at 16,384 GPUs


def test_a_silent_day_of_the_llama3_run_means_a_broken_collector() -> None:
    daily = estimate_rate(419, LLAMA3_HOURS, unit="", per=24).value

    assert printed(daily, "7.76")
    assert printed(100 * compute_silence_probability(daily or 0), "0.04")
    assert np.isclose(compute_silence_probability(daily or 0), math.exp(-419 / 54))
