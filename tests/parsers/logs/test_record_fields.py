"""What fields hold, by their names, however they are written."""

import json

import pytest

from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.record_fields import Holds, find_host, name_field, read_fields


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("EventTime", Holds.WHEN), ("event_time", Holds.WHEN), ("@timestamp", Holds.WHEN),
        ("observed_ms", Holds.WHEN), ("k8s.node.name", Holds.HOST), ("_HOSTNAME", Holds.HOST),
        ("windowStart", None), ("finished_at", Holds.WHEN_PRINTED), ("timeout", None),
        ("shortDescription", Holds.TITLE), ("Detail", Holds.DETAIL), ("lvl", Holds.GRADE),
    ],
)  # fmt: skip
def test_a_name_is_compared_by_its_words(name: str, holds: Holds | None) -> None:
    assert next((kind for kind, _ in name_field(name)), None) is holds


def test_the_surest_name_comes_first_whatever_the_order() -> None:
    fields = read_fields({"server": "mail1", "node": "n7", "hostname": "n7.lan"})

    assert fields[Holds.HOST] == ["n7.lan", "n7", "mail1"]


@pytest.mark.parametrize(
    ("entity", "host"), [("gpu-17", "gpu-17"), ("rack4.n7", "rack4.n7"), ("PSU1", None)]
)
def test_what_a_record_is_about_is_a_host_where_it_is_called_as_one(
    entity: str, host: str | None
) -> None:
    assert find_host(read_fields({"entity": entity})) == host


def test_a_number_of_a_guessed_name_is_no_time() -> None:
    took = {"wait_time": 1_700_000_000, "message": "waited"}
    known = {"unix_ms": 1_700_000_000_000, "message": "waited"}

    assert read_envelope(json.dumps(took)).stamp.wall_ns is None
    assert read_envelope(json.dumps(known)).stamp.wall_ns == 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    ("line", "node", "text"),
    [
        ('at=2026-08-09T11:56:11Z level=error host=n7 msg="link is down"', "n7", "link is down"),
        (
            "at=2026-08-09T11:56:11Z event=TASK_EXITED host=n7",
            "n7",
            "at=2026-08-09T11:56:11Z event=TASK_EXITED host=n7",
        ),
        # no pairs alone, and too few
        ('at=2026-08-09T11:56:11Z host=n7 msg="x y" and more', None, None),
        ("at=2026-08-09T11:56:11Z host=n7", None, None),
    ],
)
def test_a_line_of_pairs_is_a_record(line: str, node: str | None, text: str | None) -> None:
    found = read_envelope(line)

    assert (found.node, found.text) == (node, text or line)
