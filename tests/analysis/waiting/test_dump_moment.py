"""When a rank was dumped: never before what it holds; and told without its history where that
could not say it.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.analysis.by_hand import HUNG, SECOND, Record, answer, convicted, write
from triage.analysis.waiting.dump_moment import dump_moment
from triage.domain.rank_digest import MISSING, OpenHistory, Past, RankDigest
from triage.formats.dumps import read_dumps
from triage.parsers.files.inputs import find_inputs

INCIDENTS = Path(__file__).parents[2] / "incidents"
FOLDERS = sorted(path for path in INCIDENTS.iterdir() if any(path.rglob("fr/*")))


@dataclass(frozen=True, slots=True)
class AlwaysRead(OpenHistory):
    """A history that has to be read."""

    any_fresh = True


class NeverRead(OpenHistory):
    """A history that nobody may read."""

    def read(self) -> Past:
        raise AssertionError


def digests_of(folder: Path) -> list[RankDigest]:
    return read_dumps(find_inputs([folder]).files, threads=1).digests


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_history_would_have_said_the_same(folder: Path) -> None:
    for digest in digests_of(folder):
        read = replace(digest, history=AlwaysRead(digest.history.read()))
        for waits in (True, False):
            found = dump_moment(digest, digest.rank, waits=waits)
            assert found == dump_moment(read, digest.rank, waits=waits)


def test_of_a_hang_without_timing_no_history_is_read() -> None:
    quiet = [
        replace(digest, history=NeverRead(digest.history.read()))
        for folder in FOLDERS
        for digest in digests_of(folder)
        if not digest.history.any_fresh and not (digest.pending.started != MISSING).any()
    ]
    assert len(quiet) > 50
    assert all(dump_moment(digest, digest.rank, waits=True) is None for digest in quiet)


def restarted(rank: int, waits_ns: int) -> Record:
    """A rank that gave up an operation, of which a look of that time dated the start, and went on
    in a group made anew; rank 2 does not come to the last operation there.
    """
    record = Record(8, {"1": ("default_pg", range(8))})
    record.steps(20)
    noticed = record.issue("all_reduce", done=False)
    noticed["time_discovered_started_ns"] = noticed["time_created_ns"] + SECOND // 10
    record.steps(20, group="1")
    if rank != 2:
        last = record.issue("all_reduce", group="1", done=False)
        last["time_discovered_started_ns"] = last["time_created_ns"] + waits_ns
    return record


@pytest.mark.parametrize(("waits_ns", "kind"), [(HUNG, "hang"), (SECOND // 100, "healthy")])
def test_an_earlier_dump_tells_no_moment_of_this_one(
    waits_ns: int, kind: str, tmp_path: Path
) -> None:
    told = answer(write(tmp_path, {rank: restarted(rank, waits_ns) for rank in range(8)}))
    assert str(told.verdict.kind) == kind
    assert convicted(told) == ({2} if kind == "hang" else set())


def test_what_was_issued_later_is_older_than_the_dump(tmp_path: Path) -> None:
    """The only stamp of what all wait in is that of a look right after it began."""
    records = {rank: Record(8, step=9 * SECOND) for rank in range(8)}
    for rank, record in records.items():
        record.steps(20)
        if rank != 3:
            first = record.issue("all_reduce", done=False)
            first["time_discovered_started_ns"] = first["time_created_ns"] + SECOND // 10
            for _ in range(3):
                record.issue("all_reduce", done=False, queued=True)
    told = answer(write(tmp_path, records))
    assert str(told.verdict.kind) == "hang"
    assert convicted(told) == {3}
