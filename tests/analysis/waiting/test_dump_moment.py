"""When a rank was dumped is told without its history where the history could not say it."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

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
