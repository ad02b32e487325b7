"""The whole way: a failure is analysed, its node drained in Kubernetes, and given back."""

import json

import pytest

from tests.actions.sites import NODE, Site
from tests.support.kube import Kube
from triage.actions.schedulers.kubernetes import DRAIN, KubernetesScheduler

# Reasons name incidents, whose ids are others each time: no recording holds them.
pytestmark = pytest.mark.parametrize("kube", ["in memory", "real"], indirect=True)
OTHERS = tuple(f"gpu-01{number:02d}" for number in range(3, 10))


@pytest.fixture
def site(ctx, scheduler: KubernetesScheduler, kube: Kube) -> Site:
    """The service in mode auto, with a cluster of eight nodes."""
    for name in (NODE, *OTHERS):
        kube.add_node(name, capacity={"nvidia.com/gpu": "8"})
    found = Site(ctx, act_system="kubernetes")
    found.scheduler = scheduler
    return found


def test_a_convicted_node_is_drained_and_given_back(site: Site, kube: Kube) -> None:
    incident = site.incident()
    [act] = site.acts()
    assert site.states() == [("drain", "done")], act.error
    node = kube.node(NODE)
    assert node["spec"]["unschedulable"] is True
    marks = json.loads(node["metadata"]["annotations"][DRAIN])
    assert marks["reason"].startswith(f"triage:{incident}:")
    assert not any(kube.node(other)["spec"].get("unschedulable") for other in OTHERS)

    site.decide("undo", act.id)
    site.work()
    assert site.states() == [("drain", "undone"), ("undrain", "done")]
    node = kube.node(NODE)
    assert "unschedulable" not in node["spec"]
    assert DRAIN not in node["metadata"].get("annotations", {})


def test_a_node_that_others_cordoned_is_left_alone(site: Site, kube: Kube) -> None:
    kube.patch(NODE, {"spec": {"unschedulable": True}})
    version = kube.node(NODE)["metadata"]["resourceVersion"]
    site.incident()
    assert ("drain", "done") not in site.states()
    assert kube.node(NODE)["metadata"]["resourceVersion"] == version
