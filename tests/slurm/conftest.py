"""One real cluster for all tests of a process; each test leaves its nodes idle."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.slurm import SlurmCluster, slurm_cluster


@pytest.fixture(scope="session")
def running_cluster() -> Iterator[SlurmCluster]:
    """A cluster of six nodes. The name of its folder is short: sockets are in it."""
    with (
        TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder,
        slurm_cluster(Path(folder), num_nodes=6) as cluster,
    ):
        yield cluster


@pytest.fixture
def cluster(
    running_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SlurmCluster]:
    """The cluster with idle nodes, found by this process's clients."""
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, running_cluster.env[name])
    yield running_cluster
    running_cluster.make_idle()
