"""A record out of a notebook's own tables: the same answers, and what cannot be is refused."""

import pandas as pd
import pytest

from tests.fleet.records import one_job
from triage.errors import UnknownFormat, UsageError
from triage.reliability import fleet_report, record_from_frames

DAY = pd.Timestamp("2026-03-02", tz="UTC")


def table(stops=(30.0, 55.0, 90.0), hours=120.0, **columns):
    """One job of 64 GPUs that stops at these hours and begins again at once."""
    starts = [0.0, *stops]
    frame = pd.DataFrame(
        {
            "job_id": [f"j{k}" for k in range(len(starts))],
            "started_at": [DAY + pd.Timedelta(hours=one) for one in starts],
            "ended_at": [DAY + pd.Timedelta(hours=one) for one in [*stops, hours]],
            "ending": ["unexpected"] * len(stops) + ["completed"],
            "num_gpus": 64,
            "nodes": "n[0-7]",
        }
    )
    return frame.assign(**columns)


def test_it_answers_as_a_record_of_the_service_does():
    ours = fleet_report(record_from_frames(table()))
    theirs = fleet_report(one_job(120, [30, 55, 90]))

    assert ours.rates.mtti == theirs.rates.mtti
    assert ours.rates.per_thousand_node_days == theirs.rates.per_thousand_node_days
    assert ours.exposure.gpu_hours == theirs.exposure.gpu_hours


def test_the_order_of_rows_does_not_matter():
    frame = table()
    mixed = frame.sample(frac=1, random_state=3)

    assert fleet_report(record_from_frames(mixed)) == fleet_report(record_from_frames(frame))


def test_a_planned_end_is_in_no_rate():
    report = fleet_report(record_from_frames(table(ending="planned")))

    assert (report.stops.unexpected, report.stops.planned) == (0, 3)


def test_what_still_runs_counts_until_the_end():
    frame = table()
    frame.loc[3, ["ended_at", "ending"]] = [pd.NaT, "running"]
    record = record_from_frames(frame, until=DAY + pd.Timedelta(hours=200))

    assert fleet_report(record).exposure.job_hours == pytest.approx(200)


def test_a_period_of_part_of_a_microsecond_ends_with_a_whole_one():
    end = DAY + pd.Timedelta(hours=100) + pd.Timedelta(nanoseconds=1_999)

    record = record_from_frames(table(), until=end)

    assert record.until_ns == (DAY + pd.Timedelta(hours=100)).value + 1_000


def test_runs_are_cut_to_the_period():
    record = record_from_frames(
        table(), since=DAY + pd.Timedelta(hours=24), until="2026-03-05T00:00:00"
    )

    report = fleet_report(record)
    assert report.exposure.job_hours == pytest.approx(48)
    assert report.stops.unexpected == 2


def test_outages_are_counted_and_those_that_last():
    out = pd.DataFrame(
        {"node": ["n1", "n9"], "from_at": [DAY, DAY], "to_at": [DAY + pd.Timedelta(days=2), pd.NaT]}
    )
    repairs = fleet_report(record_from_frames(table(), outages=out)).repairs

    assert (repairs.outages, repairs.still_out) == (2, 1)


def test_what_was_out_before_the_record_is_no_outage_that_began_in_it():
    out = pd.DataFrame(
        {
            "node": ["n1", "n9"],
            "from_at": [DAY - pd.Timedelta(days=3), DAY + pd.Timedelta(days=1)],
            "to_at": [DAY + pd.Timedelta(days=2)] * 2,
        }
    )
    repairs = fleet_report(record_from_frames(table(), outages=out, since=DAY)).repairs

    assert (repairs.outages, repairs.began) == (2, 1)


def test_an_empty_table_is_an_empty_record():
    record = record_from_frames(table().iloc[:0])

    assert fleet_report(record).stops.unexpected == 0
    assert record.nodes == ()


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ended_at": DAY - pd.Timedelta(hours=1)}, "line 2: ended_at '2026-03-01T23:00:00"),
        ({"started_at": "soon"}, "line 2: started_at 'soon' is no time"),
        ({"num_gpus": -1}, "line 2: num_gpus '-1' is no whole number"),
        ({"num_gpus": "many"}, "line 2: num_gpus 'many' is no whole number"),
        ({"cause": "gremlins"}, "line 2: cause 'gremlins' is no category"),
        ({"nodes": "n[0-"}, "line 2: nodes: the host list"),
    ],
)
def test_a_table_of_which_no_row_can_be_is_refused_with_the_first(columns, said):
    with pytest.raises(UsageError) as refused:
        record_from_frames(table(**columns))

    assert said in str(refused.value)


def test_a_row_that_cannot_be_is_counted_and_stops_no_other():
    frame = table()
    frame.loc[1, "cause"] = "gremlins"
    record = record_from_frames(frame)

    assert len(record.runs.start_ns) == 3
    assert record.notes == ("rows that could not be read left out: 1",)


def test_runs_without_names_of_jobs_are_each_a_run():
    assert record_from_frames(table().drop(columns="job_id")).runs.interrupted.sum() == 3


def test_a_run_that_never_started_is_left_out():
    record = record_from_frames(table(started_at=pd.NaT))

    assert record.notes == ("jobs that never started left out: 4",)


def test_a_column_that_is_needed_is_named():
    with pytest.raises(UnknownFormat, match="job_id and started_at"):
        record_from_frames(table().drop(columns="started_at"))


def test_a_record_does_not_end_before_it_begins():
    with pytest.raises(UsageError, match="since has to be before until"):
        record_from_frames(table(), since=DAY, until=DAY - pd.Timedelta(days=1))
