"""The tables of a fleet and the sentences beside them: what they hold, and of whom."""

import pytest

from tests.fleet.render import fleets
from triage.fleet.render.sentences import select_cause_rows, write_sentences
from triage.fleet.render.tables import get_job_mtti, tabulate, tabulate_projection


def test_causes_are_beside_those_of_llama_3():
    report, _ = fleets.llama3()

    assert len(select_cause_rows(report)) == 18
    table = str(tabulate("causes", select_cause_rows(report), theirs=419))
    assert "Faulty GPU" in table
    assert "35.3 %" in table


def test_a_row_that_differs_is_marked():
    report, _ = fleets.hostile()  # nine of nine are of one row

    assert "differs" in str(tabulate("causes", select_cause_rows(report), theirs=419))
    llama3 = select_cause_rows(fleets.llama3()[0])
    assert "differs" not in str(tabulate("causes", llama3, theirs=419))


def test_time_is_that_of_one_job_where_jobs_are_of_many_sizes():
    report, _ = fleets.with_lemons()
    window = report["over_time"][0]
    size = report["exposure"]["reference_gpus"]

    value = get_job_mtti(report, window)["value"]
    assert value == pytest.approx(window["gpu_hours_between"]["value"] / size)


def test_a_projection_says_what_lies_far_beyond_what_was_measured():
    table = str(tabulate_projection(fleets.llama3()[0]))

    assert "131,072" in table
    assert "times outside the sizes seen" in table


def test_the_rows_that_differ_are_named_the_most_frequent_first():
    report, _ = fleets.llama3()
    rows = [{**one, "differs": True} for one in report["mix"]["rows"]]
    many = {**report, "mix": {**report["mix"], "rows": rows}}

    assert write_sentences("mix", many) == [
        "Other than in the Llama 3 run: Faulty GPU, GPU HBM3 Memory, Software Bug,"
        " Network Switch/Cable and 14 more."
    ]
