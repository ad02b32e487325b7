"""Drains and their undoing on Kubernetes."""

import hashlib
import json
import threading
from contextlib import suppress

import pytest

from tests.support.kube import Kube, write_kubeconfig
from triage.actions.schedulers.interface import (
    NodeView,
    NoSuchNode,
    SchedulerAway,
    SchedulerRefused,
)
from triage.actions.schedulers.kubernetes import (
    CONDITION,
    DRAIN,
    TAINT,
    KubernetesScheduler,
    describe_foreign_cordon,
    open_scheduler,
)
from triage.settings import Settings

REASON = "triage:inc_1:gpu_hbm:0.97"


@pytest.fixture
def node(kube: Kube, conversation: str) -> str:
    """A node of its own for each test, of the same name each time."""
    name = f"gpu-{hashlib.sha256(conversation.encode()).hexdigest()[:8]}"
    kube.add_node(name, nodeInfo=node_info("boot-1"), capacity={"nvidia.com/gpu": "8"})
    return name


def node_info(boot: str) -> dict[str, str]:
    keys = (
        "machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion",
        "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture",
    )  # fmt: skip
    return {**dict.fromkeys(keys, "x"), "bootID": boot}


def marks(found: dict) -> tuple[bool, list[str], str | None, list[str]]:
    """(cordoned, taints, annotation, conditions) of a node."""
    spec = found["spec"]
    taints = [
        f"{one['key']}={one.get('value', '')}:{one['effect']}"
        for one in spec.get("taints", [])
        # The real server's admission adds it when a node is made; its controller is not here.
        if one["key"] != "node.kubernetes.io/not-ready"
    ]
    stands = [f"{one['type']}={one['status']}" for one in found["status"].get("conditions", [])]
    annotation = found["metadata"].get("annotations", {}).get(DRAIN)
    return spec.get("unschedulable", False), taints, annotation, stands


def test_a_drain_stands_in_four_places(scheduler: KubernetesScheduler, kube: Kube, node: str):
    assert scheduler.node(node) == NodeView(node)
    scheduler.drain(node, REASON)
    cordoned, taints, annotation, conditions = marks(kube.node(node))
    assert cordoned
    assert taints == [f"{TAINT}=gpu_hbm:NoSchedule"]
    assert json.loads(annotation) == {"reason": REASON, "before": {"unschedulable": False}}
    assert conditions == [f"{CONDITION}=True"]
    told = kube.node(node)["status"]["conditions"][0]
    assert (told["reason"], told["message"]) == ("GpuHbm", REASON)
    seen = scheduler.node(node)
    assert (seen.drained, seen.reason, seen.by) == (True, REASON, "triage")


def test_undrain_leaves_the_node_as_it_was(scheduler: KubernetesScheduler, kube: Kube, node: str):
    other = {"key": "pool", "value": "a", "effect": "NoSchedule"}
    kube.patch(node, {"metadata": {"annotations": {"a/b": "c"}}, "spec": {"taints": [other]}})
    before = marks(kube.node(node))
    view = scheduler.node(node)
    scheduler.drain(node, REASON)
    assert f"{TAINT}=gpu_hbm:NoSchedule" in marks(kube.node(node))[1]
    scheduler.undrain(node, REASON, view.reason)
    assert marks(kube.node(node)) == before
    assert kube.node(node)["metadata"]["annotations"] == {"a/b": "c"}
    assert not scheduler.node(node).drained


def test_the_same_act_again_changes_nothing(scheduler: KubernetesScheduler, kube: Kube, node: str):
    for act in (scheduler.drain, scheduler.undrain):
        act(node, REASON)
        version = kube.node(node)["metadata"]["resourceVersion"]
        act(node, REASON)
        # A revision of the answer may have another confidence; it is the same incident's drain.
        act(node, "triage:inc_1:gpu_hbm:0.99")
        assert kube.node(node)["metadata"]["resourceVersion"] == version


def test_a_drain_that_was_cut_short_is_completed(
    scheduler: KubernetesScheduler, kube: Kube, node: str
):
    scheduler.drain(node, REASON)
    kube.patch(node, {"spec": {"unschedulable": None}})
    path = f"/api/v1/nodes/{node}/status"
    kube.request("PATCH", path, {"status": {"conditions": []}}, "application/merge-patch+json")
    scheduler.drain(node, REASON)
    assert marks(kube.node(node)) == (
        True,
        [f"{TAINT}=gpu_hbm:NoSchedule"],
        '{"reason":"triage:inc_1:gpu_hbm:0.97","before":{"unschedulable":false}}',
        [f"{CONDITION}=True"],
    )


def test_the_cordon_of_somebody_else_is_told_and_stays(
    scheduler: KubernetesScheduler, kube: Kube, node: str
):
    kube.patch(node, {"spec": {"unschedulable": True}})
    seen = scheduler.node(node)
    assert seen.drained
    assert seen.reason.startswith("cordoned")
    assert not seen.reason.startswith("triage:")
    scheduler.undrain(node, REASON, "")
    assert marks(kube.node(node))[0]
    scheduler.drain(node, REASON)
    scheduler.undrain(node, REASON, seen.reason)
    assert marks(kube.node(node)) == (True, [], None, [])


def test_who_cordoned_is_known_by_the_record_of_writers():
    def wrote(manager: str, at: str, *fields: str) -> dict[str, object]:
        spec = {key: {} for key in fields}
        return {"manager": manager, "time": at, "fieldsV1": {"f:spec": spec}}

    cordon = "f:unschedulable"
    writers = [
        wrote("kubelet", "2026-11-26T09:00:00Z", "f:taints"),
        wrote("autoscaler", "2026-11-24T08:00:00Z", cordon),
        wrote("kubectl-cordon", "2026-11-25T08:00:00Z", cordon, "f:taints"),
    ]
    found = describe_foreign_cordon({"managedFields": writers})
    assert found == ("cordoned at 2026-11-25T08:00:00Z", "kubectl-cordon")
    for unknown in ({}, {"managedFields": writers[:1]}):
        assert describe_foreign_cordon(unknown) == ("cordoned", "")


def test_a_quarantine_of_nvsentinel_is_left(scheduler: KubernetesScheduler, kube: Kube, node: str):
    scheduler.drain(node, REASON)
    quarantine = {"quarantineHealthEvent": "[]", "quarantineHealthEventIsCordoned": "True"}
    kube.patch(node, {"metadata": {"annotations": quarantine}})
    scheduler.undrain(node, REASON, "")
    assert marks(kube.node(node))[0]
    seen = scheduler.node(node)
    assert (seen.reason, seen.by) == ("quarantined for a health event", "NVSentinel")


def test_another_incident_of_ours_keeps_the_node(
    scheduler: KubernetesScheduler, kube: Kube, node: str
):
    scheduler.drain(node, REASON)
    version = kube.node(node)["metadata"]["resourceVersion"]
    for act in (scheduler.drain, scheduler.undrain):
        with pytest.raises(SchedulerRefused, match="another incident: triage:inc_1:"):
            act(node, "triage:inc_10:gpu_hbm:0.97")
    assert kube.node(node)["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="broken"),
        pytest.param("[]", id="list"),
        pytest.param('"triage:inc_1:gpu:1"', id="text"),
        pytest.param('{"reason":7}', id="number"),
        pytest.param('{"reason":"by hand"}', id="others"),
        pytest.param("[" * 3000, id="deep"),
    ],
)
def test_an_annotation_that_is_not_ours_is_no_drain_of_ours(
    scheduler: KubernetesScheduler, kube: Kube, node: str, text: str
):
    kube.patch(node, {"metadata": {"annotations": {DRAIN: text}}, "spec": {"unschedulable": True}})
    assert scheduler.node(node).reason.startswith("cordoned")
    scheduler.undrain(node, REASON, "")
    assert marks(kube.node(node))[0]


def test_a_change_of_an_older_version_is_refused_and_the_node_looked_at_again(
    scheduler: KubernetesScheduler, kube: Kube, node: str, monkeypatch: pytest.MonkeyPatch
):
    change = scheduler._change_node

    def late(*asked):
        # Between look and change a person cordons: the next try keeps that in mind.
        monkeypatch.undo()
        kube.patch(node, {"spec": {"unschedulable": True}})
        change(*asked)

    monkeypatch.setattr(scheduler, "_change_node", late)
    with pytest.raises(SchedulerAway, match=r"409: .*has been modified"):
        scheduler.drain(node, REASON)
    scheduler.drain(node, REASON)
    assert marks(kube.node(node))[0]
    scheduler.undrain(node, REASON, "")
    assert marks(kube.node(node)) == (True, [], None, [])


def test_the_pool_is_one_list_with_what_any_service_of_ours_took_out(
    scheduler: KubernetesScheduler, kube: Kube, node: str
):
    kube.add_node(f"{node}-cpu")
    for number in range(3):
        kube.add_node(f"{node}-{number}", capacity={"nvidia.com/gpu": "8"})
    scheduler.drain(f"{node}-0", "triage:inc_of_another:nic:0.96")
    scheduler.drain(f"{node}-1", REASON)
    kube.patch(f"{node}-1", {"spec": {"unschedulable": None}})  # the taint still holds
    kube.patch(f"{node}-2", {"spec": {"unschedulable": True}})
    pool = scheduler.pool()
    assert (pool.size, set(pool.out)) == (4, {f"{node}-0", f"{node}-1"})
    assert all(pool.out.values()), "since when is told"
    kube.patch(f"{node}-1", {"spec": {"taints": None}})
    assert set(scheduler.pool().out) == {f"{node}-0"}


@pytest.mark.parametrize("kube", ["in memory", "real"], indirect=True)
def test_two_actuators_act_once(kube: Kube, node: str, tmp_path):
    file = write_kubeconfig(kube, tmp_path / "kubeconfig")
    errors: list[Exception] = []

    def act(incident: int) -> None:
        mine = open_scheduler(Settings(act_kubeconfig=str(file), act_timeout_s=20.0))
        ready.wait()
        for _ in range(4):  # whose change came late tries again, as a worker does
            with suppress(SchedulerAway):
                try:
                    mine.drain(node, f"triage:inc_{incident}:gpu_hbm:0.97")
                except SchedulerRefused as error:
                    errors.append(error)
                return

    ready = threading.Barrier(4)
    threads = [threading.Thread(target=act, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(errors) == 3
    winner = json.loads(marks(kube.node(node))[2])["reason"]
    assert all(winner in str(error) for error in errors)


def test_nodes_that_are_not_there(scheduler: KubernetesScheduler):
    for act in (scheduler.drain, scheduler.undrain, lambda n, _: scheduler.node(n)):
        with pytest.raises(NoSuchNode, match="knows no node gpu-absent"):
            act("gpu-absent", REASON)
        with pytest.raises(SchedulerRefused, match="no name of a node"):
            act("a/../b", REASON)


def test_only_reasons_of_ours_are_written(scheduler: KubernetesScheduler, kube: Kube, node: str):
    for act in (scheduler.drain, scheduler.undrain):
        with pytest.raises(SchedulerRefused, match="no reason of ours"):
            act(node, "by hand")
    assert marks(kube.node(node)) == (False, [], None, [])
