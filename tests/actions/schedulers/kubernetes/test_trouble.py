"""API servers that are away, silent, hostile or not to be asked."""

import http.server
import itertools
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.support.kube import InMemory, Kube, kube_in_memory, write_kubeconfig
from triage.actions.schedulers.interface import (
    PoolView,
    SchedulerAway,
    SchedulerRefused,
    make_scheduler,
)
from triage.actions.schedulers.kubernetes import KubernetesScheduler, open_scheduler
from triage.errors import UsageError
from triage.settings import Settings

REASON = "triage:inc_1:gpu_hbm:0.97"
ROOT = Path(__file__).parents[4]


@pytest.fixture
def memory() -> Iterator[tuple[Kube, InMemory]]:
    """A server in memory with one node."""
    with kube_in_memory() as (kube, inside):
        kube.add_node("gpu-n1")
        yield kube, inside


def scheduler_for(
    kube: Kube, folder: Path, user: str = "actuator", timeout_s: float = 20.0
) -> KubernetesScheduler:
    file = write_kubeconfig(kube, folder / f"{user}.kubeconfig", user)
    return open_scheduler(Settings(act_kubeconfig=str(file), act_timeout_s=timeout_s))


def test_a_writer_that_never_rests_means_later(memory, tmp_path):
    kube, inside = memory
    numbers = itertools.count()

    def label() -> None:
        labels = {"metadata": {"labels": {"beat": str(next(numbers))}}}
        inside.patch("/api/v1/nodes/gpu-n1", "", labels)
        again.append(label)

    again: list = [label]
    inside.before = PopOne(again)
    with pytest.raises(SchedulerAway, match="409"):
        scheduler_for(kube, tmp_path).drain("gpu-n1", REASON)
    assert "unschedulable" not in kube.node("gpu-n1")["spec"]


class PopOne(list):
    """Hands one out for each request, and none in between."""

    def __init__(self, source: list) -> None:
        super().__init__([None])
        self.source = source
        self.turn = False

    def __bool__(self) -> bool:
        self.turn = not self.turn
        return self.turn

    def pop(self, _place: int = 0):
        return self.source.pop(0)


def test_a_refused_condition_leaves_nothing_behind(memory, tmp_path):
    kube, inside = memory
    inside.forbidden = {("actuator", "/status")}
    with pytest.raises(SchedulerRefused, match="403"):
        scheduler_for(kube, tmp_path).drain("gpu-n1", REASON)
    node = kube.node("gpu-n1")
    assert node["spec"] == {}
    assert not node["metadata"].get("annotations")
    assert not node["status"].get("conditions")


def test_a_refused_change_says_so(memory, tmp_path):
    kube, inside = memory
    inside.forbidden = {("actuator", "/api/v1/nodes/gpu-n1")}
    scheduler = scheduler_for(kube, tmp_path)
    for act in (scheduler.node, lambda name: scheduler.drain(name, REASON)):
        with pytest.raises(SchedulerRefused, match="403: actuator cannot GET"):
            act("gpu-n1")


def test_a_token_that_is_not_known_means_later(memory, tmp_path):
    kube, _ = memory
    stale = Kube(kube.url, False, {"actuator": "of-yesterday"})
    with pytest.raises(SchedulerAway, match="401"):
        scheduler_for(stale, tmp_path).node("gpu-n1")


def test_budgets_count_the_nodes_with_gpus(memory, tmp_path):
    kube, _ = memory
    scheduler = scheduler_for(kube, tmp_path)
    for number in range(2, 300):
        kube.add_node(f"gpu-n{number}")
    assert scheduler.pool() == PoolView(299)
    for number in range(2, 12):
        kube.add_node(f"big-n{number}", capacity={"nvidia.com/gpu": "8"})
    kube.add_node("bare", capacity={"nvidia.com/gpu": "0", "cpu": "64"})
    assert scheduler.pool() == PoolView(10)


@contextmanager
def answering(status: int, body: bytes, headers: dict[str, str] | None = None) -> Iterator[str]:
    """A server that says the same to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "raised"),
    [
        (500, b"{}", SchedulerAway),
        (503, b"apiserver is shutting down", SchedulerAway),
        (429, b'{"kind":"Status","message":"too many requests"}', SchedulerAway),
        (410, b"{}", SchedulerAway),
        (302, b"", SchedulerRefused),
        (400, b"\xff\xfe", SchedulerRefused),
        (422, b'{"message":["odd"]}', SchedulerRefused),
        (200, b"<html>login</html>", SchedulerAway),
        (200, b"[1]", SchedulerAway),
        (200, b"[" * 100_000, SchedulerAway),
    ],
)
def test_answers_of_all_kinds(tmp_path, status, body, raised):
    with answering(status, body, {"Location": "http://127.0.0.1:1/"}) as url:
        scheduler = scheduler_for(Kube(url, False, {"actuator": "t"}), tmp_path)
        with pytest.raises(raised):
            scheduler.node("gpu-n1")
        with pytest.raises(raised):
            scheduler.pool()


@pytest.mark.parametrize(
    "node", [{}, {"metadata": 7, "spec": [], "status": "x"}, {"spec": {"taints": {"a": 1}}}]
)
def test_nodes_of_odd_shapes(tmp_path, node):
    with answering(200, json.dumps(node).encode()) as url:
        scheduler = scheduler_for(Kube(url, False, {"actuator": "t"}), tmp_path)
        with pytest.raises(SchedulerAway, match="is this an API server"):
            scheduler.node("gpu-n1")


def test_a_silent_server_costs_the_time_limit_and_no_more(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        scheduler = scheduler_for(Kube(url, False, {"actuator": "t"}), tmp_path, timeout_s=0.5)
        began = time.monotonic()
        with pytest.raises(SchedulerAway, match=r"no answer within 0\.5 s"):
            scheduler.drain("gpu-n1", REASON)
        assert time.monotonic() - began < 10


def test_no_server_is_away(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    scheduler = scheduler_for(Kube(f"http://127.0.0.1:{port}", False, {"actuator": "t"}), tmp_path)
    with pytest.raises(SchedulerAway):
        scheduler.node("gpu-n1")


@pytest.mark.parametrize("text", [None, "", "{", "clusters: 7", "a: &a [*a]", "\x00"])
def test_settings_that_lead_nowhere_are_told_at_once(tmp_path, text):
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match="TRIAGE_ACT_KUBECONFIG"):
        open_scheduler(Settings(act_kubeconfig=str(file)))


def test_outside_a_pod_a_kubeconfig_is_asked_for(monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UsageError, match="service account of this pod"):
        open_scheduler(Settings())


def test_without_the_client_its_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, KubernetesScheduler.__module__)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(UsageError, match=r"nccl-triage\[kubernetes\]"):
        make_scheduler(Settings(act_system="kubernetes"))


@pytest.mark.parametrize("kube", ["recorded", "real"], indirect=True)
def test_the_rights_of_the_manifest_suffice_and_are_no_more(kube, tmp_path):
    """On a server with RBAC: all acts go with them, and nothing else does."""
    for document in yaml.safe_load_all(
        (ROOT / "examples/kubernetes/service/actuator-rbac.yaml").read_text("utf-8")
    ):
        if document["kind"] == "ServiceAccount":
            continue
        if document["kind"] == "ClusterRoleBinding":
            subject = {"kind": "User", "name": "actuator", "apiGroup": "rbac.authorization.k8s.io"}
            document["subjects"] = [subject]
        path = f"/apis/{document['apiVersion']}/{document['kind'].lower()}s"
        assert kube.request("POST", path, document)[0] in (201, 409)
    kube.add_node("rbac-n1")
    scheduler = scheduler_for(kube, tmp_path)
    scheduler.drain("rbac-n1", REASON)
    assert scheduler.node("rbac-n1").drained
    scheduler.undrain("rbac-n1", REASON, "")
    assert scheduler.pool().size == 1
    core = scheduler.core
    for forbidden in (
        lambda: core.delete_node("rbac-n1"),
        core.list_secret_for_all_namespaces,
        lambda: core.list_namespaced_config_map("default"),
        lambda: core.delete_collection_namespaced_pod("default"),
    ):
        with pytest.raises(Exception, match="403"):
            forbidden()
