"""Every format claims its own example and no other one's, wherever files are looked at."""

import io
from pathlib import Path

import pytest

from tests.formats.examples import EXAMPLES, FILE_NAMES
from triage.domain.file_kind import FileKind
from triage.domain.report import Refused
from triage.formats.dumps import read_dumps
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Head
from triage.formats.health.check_format import CheckFormat
from triage.formats.registry import FORMATS, get_stored_kind, identify, identify_stream
from triage.formats.streams import StreamReader
from triage.parsers.files.inputs import InputFile
from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader
from triage.parsers.logs.source import open_stream
from triage.services.uploads.body import identify_file

XID = "NVRM: Xid (PCI:0000:4c:00): 79, GPU has fallen off the bus."
KERNEL = f"[   12.300000] {XID}\n" * 3
JOB, DUMP = EXAMPLES["log"], EXAMPLES["flight_recorder"]


def head_of(text: str, name: str = "file") -> Head:
    return Head(text.encode(), name)


def read(text: str | bytes, stored: FileKind | None = None) -> object:
    data = text if isinstance(text, bytes) else text.encode()
    stream = open_stream(io.BytesIO(data), "file")
    assert stream is not None
    return StreamReader(LineReader(get_standard(), DEFAULT_BOUNDS, templates=False)).read(
        stream, stored
    )


def test_every_format_has_an_example() -> None:
    assert [row.name for row in FORMATS] == list(EXAMPLES)


# Any text may be a log, much JSON a list of records, and many lists fields: these rows stand behind
# all others.
GENERAL = ["json_document", "field_blocks", "log"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_claimed_by_its_own_format_and_no_other(name: str) -> None:
    head = head_of(EXAMPLES[name], FILE_NAMES.get(name, "file"))
    claims = [row.name for row in FORMATS if row.claims(head)]

    assert claims[0] == name
    assert [claim for claim in claims[1:] if claim not in GENERAL] == []
    assert identify(head, head).name == name


def test_general_formats_stand_behind_those_that_they_would_hide() -> None:
    names = [row.name for row in FORMATS]

    assert names[-1] == "log"
    assert names.index("json_document") > max(
        names.index(row.name) for row in FORMATS if isinstance(row, CheckFormat)
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_upload_is_stored_as_what_the_table_says(name: str) -> None:
    head = head_of(EXAMPLES[name], FILE_NAMES.get(name, "file"))
    row = identify(head, head)
    found = identify_file(head.data, head.name, None)

    assert (found.kind, found.binary) == (get_stored_kind(row, head), row is FLIGHT_RECORDER)


def test_lines_say_whether_a_kernel_or_a_job_printed_a_log() -> None:
    kernel, job = head_of(KERNEL), head_of(JOB)

    assert get_stored_kind(identify(kernel, kernel), kernel) is FileKind.KERNEL_LOG
    assert get_stored_kind(identify(job, job), job) is FileKind.JOB_LOG


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "flight_recorder"])
def test_a_stored_file_is_read_as_one_that_nobody_looked_at(name: str) -> None:
    stored = FileKind(identify_file(head_of(EXAMPLES[name]).data, "file", None).kind)

    assert read(EXAMPLES[name], stored) == read(EXAMPLES[name])


def test_a_kind_that_an_older_release_stored_does_not_hide_what_a_file_is() -> None:
    """0.1 may have kept as telemetry what no row of telemetry claims any more."""
    head = head_of(JOB)

    assert identify_stream(head, FileKind.TELEMETRY).name == "log"


def test_a_file_that_is_stored_as_a_log_is_not_decoded_as_a_dump(tmp_path: Path) -> None:
    path = tmp_path / "nccl_trace_rank_3"
    path.write_text(DUMP)

    def dumps_of(kind: FileKind | None) -> int:
        file = InputFile(path, path.name, len(DUMP), kind)
        found = read_dumps([file])
        return len(found.digests) + sum("named like" not in one.why for one in found.refused)

    assert (dumps_of(None), dumps_of(FileKind.FLIGHT_RECORDER), dumps_of(FileKind.JOB_LOG)) == (
        1,
        1,
        0,
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x7fELF\x02\x01", "a program or core dump"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(40), "packed with 7-Zip"),
        (b"\x00" * 80, "zeros"),
    ],
    ids=["elf", "7z", "zeros"],
)
def test_what_no_format_claims_is_refused_with_what_it_is(data: bytes, why: str) -> None:
    outcome = read(data)

    assert isinstance(outcome, Refused)
    assert why in outcome.why


def test_checks_say_which_of_them_are_reports() -> None:
    logs_too = {row.name for row in FORMATS if isinstance(row, CheckFormat) and not row.report}

    assert logs_too == {"nccl_tests"}


@pytest.mark.parametrize(
    ("text", "is_dump"),
    [
        ('{"nccl_version": "2.29.7", "timestamp": "2026-03-14", "communicators_count": 0}', False),
        ('{"nccl_version": "2.21.5", "version": "2.4", "entries": []}', True),
        (
            '{"version":3,"start_time":"2026-03-14 02:40:11","args":["all_reduce_perf"],'
            '"env":[],"nccl_version":22809}',
            False,
        ),
        ('{"average_bus_bandwidth": {"bandwidth": 1.5}, "nccl_version": 22809}', False),
        ('{"notify_type": "MCE", "record_id": "5:1"}', False),
        ('[{"record_id": 5, "pg_id": 1, "state": "scheduled"}]', True),
    ],
    ids=[
        "ras",
        "old dump",
        "nccl-tests",
        "nccl-tests, sorted",
        "error record of firmware",
        "bare list of entries",
    ],
)
def test_json_of_another_tool_is_no_dump(text: str, is_dump: bool) -> None:
    assert FORMATS[0].claims(head_of(text)) is is_dump
