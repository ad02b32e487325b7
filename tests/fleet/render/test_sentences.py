"""The answers in sentences: what is there is said with its interval, what is not is left out."""

import numpy as np
import pandas as pd
import pytest

from tests.fleet.render import fleets
from triage.fleet.render.sentences import format_period, is_empty, list_headlines, plan_answers
from triage.fleet.report.what_if import spares_for
from triage.reliability import fleet_report, fleet_standings, record_from_frames


def texts(told):
    report, standings = told
    return [one.text for one in list_headlines(report, standings)]


def test_the_llama_3_run_is_told_with_its_published_figures():
    said = " ".join(texts(fleets.llama3()))

    assert "A job of 16,384 GPUs stops every 3.1 h (2.8 to 3.4)." in said
    assert "Faulty GPU fails most: 148 of 419 (35.3 %; 35.3 % in Llama 3)." in said
    assert "Checkpoint every 7.9 min" in said
    assert "With 15 spares, 2,048 nodes are there 99 % of the time." in said
    assert "No node of 2,048 interrupts jobs more than chance does." in said


def test_planned_interruptions_are_named_and_not_counted():
    report, standings = fleets.llama3()
    [rate] = [one for one in list_headlines(report, standings) if one.key == "rate"]

    assert "419 unexpected interruptions in 54 days" in rate.why
    assert "47 planned ones not counted" in rate.why


def test_lemons_come_by_name_and_an_accused_switch_before_them_all_by_its_own():
    said = list_headlines(*fleets.with_lemons())
    [lemons] = [one for one in said if one.key == "nodes"]
    [leaf] = [one for one in said if one.key == "leaves"]

    assert lemons.tone == leaf.tone == "bad"
    assert lemons.text.startswith("5 lemons to take out: n00")
    assert leaf.text.startswith("Leaf switch leaf001: ")


def test_more_lemons_than_fit_are_counted():
    report, standings = fleets.with_lemons()
    [lemon, *_] = [one for one in standings["nodes"] if one["grade"] == "lemon"]
    many = [{**lemon, "node": f"n{number:05d}"} for number in range(40)]
    said = list_headlines(report, {**standings, "nodes": many, "counts": {"lemon": 40}})

    assert "n00013 and 26 more." in next(one.text for one in said if one.key == "nodes")


def test_an_empty_fleet_says_nothing_and_is_known_as_empty():
    report, standings = fleets.nothing()

    assert is_empty(report, standings)
    assert list_headlines(report, standings) == []
    assert not is_empty(*fleets.one_stop())


def test_checks_that_wait_are_named():
    report, standings = fleets.one_stop()

    assert "3 checks due or failing." in [one.text for one in list_headlines(report, standings, 3)]


def test_days_without_a_record_point_at_the_collector():
    report, standings = fleets.llama3()
    silent = {**report["silent_days"], "days": ["2026-03-09"]}
    said = list_headlines({**report, "silent_days": silent}, standings)

    [one] = [each for each in said if "2026-03-09" in each.text]
    assert one.text.startswith("1 day without a record")
    assert "collector" in one.why


def test_a_rate_that_changed_is_told_and_one_that_did_not_is_not():
    report, standings = fleets.llama3()
    assert not [one for one in list_headlines(report, standings) if one.text.startswith("Since")]
    ratio = {**report["comparison"]["ratio"], "value": 1.9, "low": 1.4, "high": 2.5}
    changed = {**report, "comparison": {**report["comparison"], "ratio": ratio, "differs": True}}

    [one] = [each for each in list_headlines(changed, standings) if each.text.startswith("Since")]
    assert "jobs stop more often than before: 1.9 (1.4 to 2.5) times as often" in one.text
    assert one.tone == "bad"


def test_a_plan_far_from_what_was_seen_carries_its_warning():
    from tests.fleet.records import example_record
    from triage.fleet.report.options import FleetOptions
    from triage.fleet.report.report import fleet_report

    def said(gpus):
        options = FleetOptions(reference_gpus=gpus, sizes=(8, gpus))
        found = fleet_report(example_record(), options=options)
        spares = spares_for(found, gpus // 8, repair_days=7).to_dict()
        return [one.text for one in plan_answers(found.to_dict(), spares)]

    far, near = said(131_072), said(16_384)

    assert "A job of 131,072 GPUs stops every 23 min (21 to 26)." in far
    assert any(one.startswith("Beware: 131,072 GPUs are more than 4 times") for one in far)
    assert not any(one.startswith("Beware") for one in near)
    assert any("2,048 nodes are there 99 % of the time" in one for one in near)


def test_the_period_is_told_by_its_days():
    assert format_period(fleets.llama3()[0]) == "2 Mar 2026 to 25 Apr 2026 UTC (54 days), cluster a"


@pytest.mark.parametrize(("number", "said"), [(3, "cannot tell: less than"), (80, "With ")])
def test_spares_are_foretold_or_said_to_be_unknown(number: int, said: str) -> None:
    days = np.linspace(1, 99, number)
    rows = {"node": [f"n{k}" for k in range(number)], "from_day": days, "to_day": days + 0.5}
    record = record_from_frames(
        outages=pd.DataFrame(rows), nodes=100, since="2000-01-01", until="2000-04-10"
    )
    report = fleet_report(record).to_dict()

    found = {one.key: one for one in list_headlines(report, fleet_standings(record).to_dict())}
    assert found["nodes"].text == "No node of 100 fails more often than chance has it."
    answer = next(one for key, one in found.items() if key != "nodes")
    assert said in answer.text
    assert "outages" in answer.why
