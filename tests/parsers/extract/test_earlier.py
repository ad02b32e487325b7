"""Extracts on the way back: releases before this one can read them, and nothing else is lost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.parsers.extract.test_extract import files_of, same
from triage.domain.exact_json import from_exact_json
from triage.errors import Corrupt
from triage.formats.extractor import Extractor
from triage.parsers.extract.earlier import convert_for_first_release, convert_for_second_release
from triage.parsers.extract.extract import Extract
from triage.parsers.extract.wire import COMPACT, pack, unpack

INCIDENTS = Path(__file__).parents[2] / "incidents"


def read_by_first_release(data: bytes) -> list[Any]:
    """The logs of an extract, unpacked as 0.1.0 does: what is longer than it knows is damage."""
    if data[:4] not in (b"TRX\x01", b"TRX\x02"):
        raise Corrupt("not a stored extract of a known version")
    plain = zstandard.ZstdDecompressor().decompress(data[4:])
    begin = 4 + int.from_bytes(plain[:4], "little")
    values = from_exact_json(plain[4:begin])
    _, _, _, _, logs, _, _, _, _, _, *_ = values
    for log in logs:
        _, _, _, _, _, _, _, _, _, _, rows, _ = log
        for row in rows:
            _, _, _, _, _, _, _, _, _, _, _, _, _, *more = row
            assert len(more) == 13
    return list(logs)


@pytest.fixture(scope="module")
def extracts() -> list[Extract]:
    """Of dumps, kernel logs and job logs, also with steps."""
    names = ("logs-hbm-w8", "logs-gpu-lost-with-dumps-w8")
    folders = [INCIDENTS / name / "files" for name in names]
    found = [one for folder in folders for one in Extractor().extract(files_of(folder))]
    assert any(log.file.progress is not None for one in found for log in one.logs)
    assert any(one.digests for one in found)
    return found


def without_later(one: Extract) -> Extract:
    """What 0.1.0 knows of it."""
    return replace(
        one,
        logs=tuple(
            replace(
                log,
                file=replace(
                    log.file,
                    progress=None,
                    harmless=frozenset(),
                    job_id="",
                    checksum=0,
                    system=False,
                    error_at_end=None,
                ),
                rows=type(log.rows)(replace(row, traits=frozenset()) for row in log.rows),
            )
            for log in one.logs
        ),
    )


@pytest.mark.parametrize("compact", [False, True])
def test_the_first_release_reads_every_extract_that_is_written_for_it(
    extracts: list[Extract], compact: bool
) -> None:
    unread = 0
    for one in extracts:
        data = pack(one, compact=compact)
        try:
            read_by_first_release(data)
        except (Corrupt, ValueError):
            unread += 1

        found = convert_for_first_release(data)

        read_by_first_release(found)
        assert same(unpack(found), without_later(one))
        assert convert_for_first_release(found) is found
    assert unread


def test_the_second_release_is_given_no_compact_form(extracts: list[Extract]) -> None:
    for one in extracts:
        plain = pack(one, compact=False)

        assert convert_for_second_release(plain) is plain
        assert convert_for_second_release(pack(one, compact=True)) == plain
        assert not plain.startswith(COMPACT)


@pytest.mark.parametrize("data", [b"", b"TRX\x01", b"TRX\x01not zstd", COMPACT + b"\x00" * 9])
def test_what_is_damaged_is_said(data: bytes) -> None:
    with pytest.raises(Corrupt):
        convert_for_first_release(data)
