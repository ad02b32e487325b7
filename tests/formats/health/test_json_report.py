"""JSON of tools: cut, hostile, one behind the other."""

import json

import pytest

from tests.support.spent import spent_s
from triage.formats.format import Head
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, find_text, iterate_documents, parse_zoned_time
from triage.formats.registry import identify_checks, identify_stream
from triage.parsers.logs.source import LogStream


def documents(text):
    return list(iterate_documents(text, Reading("x")))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ('{"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('[{"a": 1}, {"a": 2}, {"a"', [[{"a": 1}, {"a": 2}]]),
        ('[{"a": [1, 2]}, {"b": "text that ends nev', [[{"a": [1, 2]}]]),
        ('[{"a": "\\"}{"}, {"b":', [[{"a": '"}{'}]]),
        ('{"a": 1', []),
        ('[{"a": 1}]]]]}', [[{"a": 1}]]),
        ("no JSON", []),
    ],
)
def test_what_stands_whole_is_kept(text, wanted):
    assert documents(text) == wanted


def test_what_is_no_json_is_listed_with_its_line():
    reading = Reading("x")
    list(iterate_documents('{"a": 1}\n\n{"b": nothing}\n', reading))

    assert [place.line for place in reading.not_understood] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 2_000_000,
        '{"a":' * 400_000,
        '"' + '\\"' * 2_000_000,
        '[{"a": "' + '\\"' * 2_000_000 + "\\",
        "[1,[1]," * 300_000,
        '{"a": 1e999999}' * 1000 + "{",
        '[{"a": ' + "9" * 4000 + "}, {",
        "\x00" * 1_000_000,
    ],
    ids=["deep list", "deep object", "quotes", "open text", "lists", "huge", "digits", "zeros"],
)
def test_hostile_text_ends_soon_and_raises_nothing(text):
    assert spent_s(lambda: documents(text), 10.0) < 10


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-03-14T02:40:59Z", "2026-03-14T02:40:59+00:00"),
        ("2026-03-14T02:40:59.123456789Z", "2026-03-14T02:40:59.123456+00:00"),
        ("2026-03-14T03:40:59+01:00", "2026-03-14T02:40:59+00:00"),
        ("2026-03-14T02:40:59", None),  # without a zone it cannot be placed
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_a_time_needs_its_zone(text, wanted):
    found = parse_zoned_time(text)
    assert (found and found.isoformat()) == wanted


def test_a_text_is_one_line_and_bounded():
    assert find_text({"a": " x\n y "}, "b", "a") == "x y"
    assert len(find_text({"a": "x" * 10_000}, "a")) <= 2000
    assert find_text({"a": True, "b": ["x"]}, "a", "b") == ""


class Endless:
    """A document that goes on for 100 MB; how much of it was asked for is counted."""

    def __init__(self, begin: bytes, piece: bytes) -> None:
        self.begin, self.piece, self.num_bytes = begin, piece, 0

    def read(self, size: int) -> bytes:
        if self.num_bytes >= 100 << 20:
            return b""
        text = self.begin + self.piece * 3 if self.num_bytes == 0 else self.piece
        start = 0 if self.num_bytes == 0 else (self.num_bytes - len(self.begin)) % len(self.piece)
        data = text[start:] + self.piece * (size // len(self.piece) + 1)
        self.num_bytes += size
        return data[:size]


BEGINNINGS = [
    ('[{"component": "accelerator-nvidia-error-xid", "states": [', '{"health": "Unhealthy"},'),
    ('{"healthEvent": {"checkName": "x", "isHealthy": false, "z": [', '"XID 79 detected",'),
    ('{"DCGM Diagnostic": "DCGM Multi-Node Diagnostic", "z": [', "["),
    ('{"body": {"GPU": {"children": {"3": {"x": ["Errors",', '{"a": '),
    ('[{"gpu": 5, "ecc": {"total_uncorrectable_count": 1}},', '{"gpu": 6},'),
]


@pytest.mark.parametrize(("begin", "piece"), BEGINNINGS)
def test_a_document_of_a_hundred_megabytes_is_read_at_its_beginning(begin, piece):
    source = Endless(begin.encode(), piece.encode())
    head = source.read(64 << 10)
    stream = LogStream("x.json", head, source.read)
    row = identify_stream(Head(head))
    assert isinstance(row, CheckFormat)
    outcomes = []

    def read() -> None:
        outcomes.append(row.read(stream, lambda _stream: pytest.fail("its lines are no log")))

    # A stream is read once.
    assert spent_s(read, 20.0, attempts=1) < 20
    [outcome] = outcomes
    assert source.num_bytes <= 18 << 20
    assert any("16 MiB" in note for note in outcome.file.notes)
    assert len(outcome.rows) <= 100_000


@pytest.mark.parametrize("arguments", [7, True, 1.5, "x", {}, None])
def test_arguments_of_an_event_that_are_no_list_are_passed_over(arguments: object) -> None:
    event = {
        "@odata.type": "#LogEntry.v1_15_0.LogEntry",
        "Created": "2026-03-14T02:40:58+00:00",
        "MessageId": "ResourceEvent.1.0.ResourceErrorsDetected",
        "MessageArgs": arguments,
        "Message": "errors",
    }
    text = json.dumps({"Members": [event]})
    row = identify_checks(text.encode())

    assert row is not None
    assert row.checks(text.encode(), "events.json").results
