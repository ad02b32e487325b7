"""One running service for all tests of the client: API, worker, and a bundled incident."""

import json
from collections.abc import Iterator

import pytest

from tests.services.whole_jobs import GPU_LOST
from tests.workers import running
from triage.client import Client, Incident

JOB = json.loads((GPU_LOST / "job.json").read_text())


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running.serving(tmp_path_factory.mktemp("service"), TRIAGE_QUIET_S="1") as (_, url):
        yield url


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[Client]:
    with Client(address, timeout_s=120) as made:
        yield made


@pytest.fixture(scope="session")
def lost(client: Client) -> Incident:
    """The incident of a GPU that fell off the bus, answered."""
    opened = client.job_failed(JOB)
    sent = client.upload(GPU_LOST, incident=opened)
    return client.wait(sent.id, timeout_s=300)
