"""Tables: the columns asked for, whatever the rows hold."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from triage.render.data import tables
from triage.render.data.tables import TIME, build_table

WRITTEN_DOWN = {
    name: one for name, one in vars(tables).items() if isinstance(one, dict) and name.isupper()
}


@pytest.mark.parametrize("name", WRITTEN_DOWN)
def test_an_empty_table_has_its_columns(name):
    made = build_table((), WRITTEN_DOWN[name])
    assert {c: str(t) for c, t in made.dtypes.items()} == dict(WRITTEN_DOWN[name])
    assert len(made) == 0


def test_a_key_too_many_is_passed_over_and_one_too_few_is_missing():
    made = build_table([{"a": 1, "z": 2}, {}], {"a": "Int64"})
    assert list(made.columns) == ["a"]
    assert made["a"][0] == 1
    assert made["a"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("2026-11-21T03:04:15.123Z", datetime(2026, 11, 21, 3, 4, 15, 123000, tzinfo=UTC)),
        ("2026-11-21T05:04:15+02:00", datetime(2026, 11, 21, 3, 4, 15, tzinfo=UTC)),
        (datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
         datetime(2026, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("0001-01-01T00:00:00+23:00", None),
        ("yesterday", None),
        (None, None),
    ],
)  # fmt: skip
def test_times_are_utc(given, wanted):
    at = build_table([{"at": given}], {"at": TIME})["at"]
    assert str(at.dtype) == TIME
    assert (None if at.isna()[0] else at[0].to_pydatetime()) == wanted


def test_text_that_utf_8_cannot_hold_is_written_out():
    assert build_table([{"a": "x\udcff"}], {"a": "string"})["a"][0] == "x\\udcff"


def test_a_list_is_a_tuple():
    assert build_table([{"a": [1, 2]}], {"a": "object"})["a"][0] == (1, 2)
