"""One database of each kind for all tests of a file; each test uses names of its own."""

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from tests.support.databases import migrated_postgres, put_migrated_sqlite
from triage.domain.category import Role
from triage.domain.failure_match import Failure
from triage.domain.states import ArtifactState
from triage.settings import Settings
from triage.store.database.engine import Database, open_database
from triage.store.database.ids import make_id
from triage.store.incidents import matching
from triage.store.incidents.revisions import NewAnswer
from triage.store.uploads import artifacts
from triage.store.views import ArtifactView

NOW = datetime(2026, 11, 21, 3, 14, 15, 926535, tzinfo=UTC)
COUNTER = itertools.count()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request, tmp_path_factory) -> Iterator[Database]:
    if request.param == "sqlite":
        folder = tmp_path_factory.mktemp("data")
        put_migrated_sqlite(folder)
        found = open_database(Settings(data_dir=folder))
        yield found
        found.close()
        return
    with migrated_postgres() as url:
        found = open_database(Settings(database_url=url))
        yield found
        found.close()


@pytest.fixture
def unique() -> str:
    """A word that no other test uses."""
    return f"t{next(COUNTER)}"


@pytest.fixture
def opened(database) -> Callable[..., str]:
    """Opens an incident for a job."""

    def of_job(job_id: str, now=NOW, **given) -> str:
        failure = Failure(job_id, collect_within_s=300.0, **given)
        with database.writing() as session:
            return matching.announce(session, failure, 30.0, now)

    return of_job


def new_file(incident_id: str, identity: str, node="n0", now=NOW) -> ArtifactView:
    return ArtifactView(
        id=make_id("art", now),
        incident_id=incident_id,
        identity=identity,
        node=node,
        rank=0,
        kind="job_log",
        filename="a.log",
        sha256="00" * 32,
        size_bytes=10,
        position=0,
        stored_bytes=9,
        state=ArtifactState.STORED,
        reason=None,
        redacted={},
        created_at=now,
        blob_key="blob",
    )


def uploaded(
    database, incident_id: str, *identities: str, now=NOW, stored_bytes: int = 9
) -> tuple[str, dict[str, str]]:
    """One upload with files of these identities: its id, and identity -> id."""
    with database.writing() as session:
        files = [new_file(incident_id, identity, now=now) for identity in identities]
        upload_id, fresh = artifacts.add_upload(session, incident_id, stored_bytes, files)
        return upload_id, {identity: file.id for identity, file in fresh.items()}


def new_answer(*suspects: dict, packed: bytes = b"", provisional: bool = False) -> NewAnswer:
    report = {"verdict": {"category": "gpu"}, "coverage": {}, "suspects": suspects}
    return NewAnswer(packed, report, provisional, inputs=1, seconds=0.1)


def suspect(position: int, node: str | None, **given) -> dict:
    return {
        "position": position, "node": node, "category": "gpu", "role": str(Role.CULPRIT),
        "score": 1.0 / position, "gpus": [], **given,
    }  # fmt: skip
