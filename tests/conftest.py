"""What tests of the service share: a context on each database, and readers in this process."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.support.databases import drop_template, migrated_postgres, put_migrated_sqlite

if TYPE_CHECKING:
    from triage.domain.report import Refused
    from triage.domain.standing import Prior
    from triage.sandbox.pool import Analysis, Extracted, FileToRead
    from triage.services.context import Context
    from triage.services.perform import Tools


# The same tree gives the same result, on a busy machine too; `--hypothesis-profile default` is
# for trying other examples.
settings.register_profile(
    "repeatable",
    derandomize=True, deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """What a command sets up for its log lines ends with its test.

    Its handler would else write to the stderr that was captured for that test alone.
    """
    root = logging.getLogger()
    level, handlers, said = root.level, list(root.handlers), structlog.get_config()
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    structlog.configure(**said)


@pytest.fixture(scope="session", autouse=True)
def no_template_is_left() -> Iterator[None]:
    """The server is as it was when all tests have run."""
    yield
    drop_template()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a migrated database; the empty text for SQLite in the data directory."""
    if request.param == "sqlite":
        yield ""
    else:
        with migrated_postgres() as url:
            yield url


@pytest.fixture
def ctx(tmp_path: Path, database_url: str) -> Iterator["Context"]:
    """A context with an empty, migrated database."""
    from triage.services.context import open_context
    from triage.settings import Settings

    settings = Settings(
        data_dir=tmp_path / "data", database_url=database_url, quiet_s=30.0, min_free_bytes=0,
        webhook_allow=("127.0.0.0/8",),
    )  # fmt: skip
    if not database_url:
        put_migrated_sqlite(settings.data_dir)
    found = open_context(settings)
    yield found
    found.close()


class ReadersHere:
    """What :class:`SandboxPool` does, in this process: quick, and nothing to kill."""

    def extract(
        self, files: Sequence["FileToRead"], facts_json: bytes = b"{}", *, deadline_s: float
    ) -> list["Extracted"]:
        from triage.domain.exact_json import to_exact_json
        from triage.parsers.extract import Extractor
        from triage.parsers.extract_wire import pack
        from triage.parsers.inputs import InputFile
        from triage.parsers.job_file import parse_job
        from triage.report import evidence_rows
        from triage.sandbox.child import state_of
        from triage.sandbox.pool import Extracted

        inputs = [InputFile(one.path, one.artifact, one.size_bytes) for one in files]
        ranks = {one.artifact: one.rank for one in files if one.rank is not None}
        facts, _ = parse_job(facts_json)
        return [
            Extracted(pack(one), to_exact_json(evidence_rows(one, facts)), *state_of(one))
            for one in Extractor().extract(inputs, ranks)
        ]

    def analyse(
        self,
        packed: Iterable[bytes],
        facts_json: bytes = b"{}",
        refused: Iterable["Refused"] = (),
        notes: Iterable[str] = (),
        at: datetime | None = None,
        *,
        deadline_s: float,
        standings: Mapping[str, "Prior"] | None = None,
    ) -> "Analysis":
        from triage.domain.answer_wire import answer_to_bytes
        from triage.domain.fleet import job_from_dict
        from triage.parsers.extract_wire import unpack
        from triage.report import study_of
        from triage.sandbox.pool import Analysis

        facts = replace(job_from_dict(orjson.loads(facts_json)), standings=dict(standings or {}))
        study = study_of(map(unpack, packed), facts, list(refused), list(notes), at)
        return Analysis(
            report=orjson.dumps(study.report.to_dict()),
            timeline=b"[]",
            answer=answer_to_bytes(study.report.answer),
            dated=study.dated,
            seconds=0.0,
            peak_mib=0.0,
        )

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def tools() -> "Tools":
    """A worker's tools, with readers in this process."""
    from triage.notify.guard import Guard
    from triage.services.perform import Tools

    return Tools(ReadersHere(), Guard(("127.0.0.0/8",)), "test:1:w_1")
