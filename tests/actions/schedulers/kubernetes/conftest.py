"""API servers for tests: in memory, recorded, and a real one where its programs are.

``TRIAGE_TEST_KUBE_RECORD=1`` keeps what the real one says; see docs/kubernetes.md.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kube import Kube, kube_in_memory, missing_programs, real_kube, write_kubeconfig
from tests.support.kube_recorded import recording, replaying
from triage.actions.schedulers.kubernetes import KubernetesScheduler, open_scheduler
from triage.settings import Settings

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """A real API server; without its programs the test is skipped by name."""
    missing = missing_programs()
    if missing:
        pytest.skip(f"no {' and '.join(missing)} here")
    with real_kube(tmp_path_factory.mktemp("kube")) as kube:
        yield kube


@pytest.fixture
def real(real_server: Kube) -> Iterator[Kube]:
    """The real one, without the nodes and pods of other tests."""
    yield real_server
    for kind in ("pods", "nodes"):
        for one in real_server.request("GET", f"/api/v1/{kind}")[1]["items"]:
            space = one["metadata"].get("namespace")
            place = f"namespaces/{space}/{kind}" if space else kind
            path = f"/api/v1/{place}/{one['metadata']['name']}"
            assert real_server.request("DELETE", path, {"gracePeriodSeconds": 0})[0] == 200


@pytest.fixture
def conversation(request: pytest.FixtureRequest) -> str:
    """The name of the test with its parameters, but for the server that it runs on."""
    node = request.node
    words = [getattr(node, "originalname", node.name)]
    if hasattr(node, "callspec"):
        words += [one for one in node.callspec.id.split("-") if one not in SERVERS]
    return "-".join(words)


SERVERS = ("in memory", "recorded", "real")


@pytest.fixture(params=SERVERS)
def kube(request: pytest.FixtureRequest, conversation: str) -> Iterator[Kube]:
    """Each server in turn."""
    file = RECORDED / f"{conversation}.jsonl"
    if request.param == "recorded":
        with replaying(file) as found:
            yield found
    elif request.param == "in memory":
        with kube_in_memory() as (found, _):
            yield found
    elif os.environ.get("TRIAGE_TEST_KUBE_RECORD"):
        with recording(request.getfixturevalue("real"), file) as found:
            yield found
    else:
        yield request.getfixturevalue("real")


@pytest.fixture
def scheduler(kube: Kube, tmp_path: Path) -> KubernetesScheduler:
    """The backend, as the administrator."""
    file = write_kubeconfig(kube, tmp_path / "kubeconfig")
    return open_scheduler(Settings(act_kubeconfig=str(file), act_timeout_s=20.0))
