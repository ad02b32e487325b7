"""The Kubernetes examples: their form and rights, and the DaemonSet's script, run as it stands."""

import re
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.collectors.scripted import (
    ROOT,
    TOKEN,
    Service,
    accepted,
    bare_environment,
    dump,
    service,
)

PATIENCE_S = 180
MANIFESTS = sorted((ROOT / "examples" / "kubernetes").glob("*.yaml"))
POD = "0b7e7f3c-2d50-4d8e-9a55-6c1f0e3a9d21"
OTHER = "9f1d2c3b-4a5e-4f60-8b7a-1c2d3e4f5a6b"
# Rights that a collector may add to none, each with its reason in the manifest.
CAPABILITIES = {"SYSLOG"}


@cache
def documents() -> dict[str, dict[str, Any]]:
    found = {}
    for path in MANIFESTS:
        for one in yaml.safe_load_all(path.read_text("utf-8")):
            found[one.get("kind", path.name)] = one
    return found


def pods() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each pod of the examples beside the container of ours in it."""
    workloads = [one["spec"] for one in documents().values() if "template" in one.get("spec", {})]
    specs = [one["template"]["spec"] for one in workloads]
    return [
        (spec, one)
        for spec in specs
        for one in [*spec["containers"], *spec.get("initContainers", [])]
        if "/nccl-triage" in one["image"]
    ]


def test_the_manifests_agree_with_each_other() -> None:
    found = documents()
    assert set(found) == {"ConfigMap", "ServiceAccount", "NetworkPolicy", "DaemonSet", "Job",
                          "PrometheusRule", "alertmanager-route.yaml"}  # fmt: skip
    pod = found["DaemonSet"]["spec"]["template"]["spec"]
    volumes = {one["name"] for one in pod["volumes"]}
    mounted = {one["name"] for one in pod["containers"][0]["volumeMounts"]}
    assert volumes == mounted
    job = found["Job"]["spec"]["template"]["spec"]
    deadline = re.search(r"--deadline (\d+)", job["initContainers"][0]["command"][-1])
    assert deadline
    assert int(deadline[1]) < job["terminationGracePeriodSeconds"]
    rule = found["PrometheusRule"]["spec"]["groups"][0]["rules"][0]
    receiver = found["alertmanager-route.yaml"]["receivers"][1]
    assert rule["labels"]["receiver"] == receiver["name"]
    assert receiver["webhook_configs"][0]["url"].endswith("/v1/hooks/alertmanager")


def test_a_collector_has_the_least_rights() -> None:
    assert len(pods()) == 2
    for pod, container in pods():
        rights = container["securityContext"]
        profile = {**pod.get("securityContext", {}), **rights}["seccompProfile"]
        assert profile == {"type": "RuntimeDefault"}
        assert rights["capabilities"]["drop"] == ["ALL"]
        assert set(rights["capabilities"].get("add", [])) <= CAPABILITIES
        assert rights["readOnlyRootFilesystem"] is True
        assert (rights["privileged"], rights["allowPrivilegeEscalation"]) == (False, False)
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"} & set(pod)
        assert set(container["resources"]["limits"]) == {"cpu", "memory", "ephemeral-storage"}
        assert re.search(r":\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$", container["image"])


def test_only_the_collector_of_the_nodes_is_root_and_writes_its_spool_alone() -> None:
    (pod, container), (_, sidecar) = pods()
    assert sidecar["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["runAsUser"] == 0
    hosts = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    assert set(hosts.values()) == {"/var/lib/triage/jobs", "/var/log/pods", "/var/spool/triage"}
    writable = {m["name"] for m in container["volumeMounts"] if not m.get("readOnly")}
    assert writable & set(hosts) == {"spool"}


def test_the_collector_of_the_nodes_has_no_account_and_reaches_the_service_alone() -> None:
    found = documents()
    template = found["DaemonSet"]["spec"]["template"]
    assert template["spec"]["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]
    assert found["ServiceAccount"]["automountServiceAccountToken"] is False
    policy = found["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == template["metadata"]["labels"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {8000, 53}
    assert all(rule["to"] for rule in policy["egress"])


class Node:
    """A node of a cluster: folders of jobs, logs of pods, and the script of the ConfigMap."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "watch.sh"
        self.script.write_text(documents()["ConfigMap"]["data"]["watch.sh"])
        (folder / "token").write_text(TOKEN)
        (folder / "kern.log").write_text("line\n")

    def log(self, pod: str) -> None:
        path = self.folder / "pods" / pod / "train" / "0.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"of {pod}\n")

    def watch(self, there: Service) -> None:
        place = self.folder
        environment = bare_environment(
            place, NODE_NAME="n3", ONCE="1", JOBS=f"{place}/jobs", PODS=f"{place}/pods",
            MARKS=f"{place}/marks", SPOOL=f"{place}/spool", KERNEL_LOG=f"{place}/kern.log",
            TRIAGE_TOKEN_FILE=f"{place}/token", TRIAGE_URL=there.url,
        )  # fmt: skip
        done = subprocess.run(
            ["/bin/sh", str(self.script)], env=environment, cwd=place, capture_output=True,
            text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_the_watch_of_the_daemonset_sends_new_dumps_once(node) -> None:
    dump(node.folder / "jobs" / "research" / "pretrain" / POD, 3)
    node.log(f"research_pretrain-0-abc_{POD}")
    with service(accepted()) as there:
        for _ in range(2):
            node.watch(there)

    (request,) = there.requests
    assert request.path == "/v1/jobs/research%2Fpretrain/bundle?node=n3"
    assert set(request.members) == {
        "fr/trace_rank_3",
        "nodes/n3/kernel.log",
        f"nodes/n3/research_pretrain-0-abc_{POD}/train/0.log",
    }


def test_a_folder_sends_the_logs_of_its_own_pod_alone(node) -> None:
    dump(node.folder / "jobs" / "research" / "pretrain" / POD, 3)
    for pod in ("research_pretrain-0-abc_" + OTHER, "research_other_" + OTHER,
                "bank_secret-app_" + POD, "kube-system_etcd-0_" + OTHER):  # fmt: skip
        node.log(pod)
    node.log("research_pretrain-0-abc_" + POD)
    with service(accepted()) as there:
        node.watch(there)

    logs = [name for name in there.requests[0].members if name.endswith(".log")]
    assert sorted(logs) == [
        "nodes/n3/kernel.log",
        f"nodes/n3/research_pretrain-0-abc_{POD}/train/0.log",
    ]


BAD_NAMES = (
    "*", "?*", "[a-z]*", "a b", "a\nb", "$(id)", "`id`", "-rf", "--help", "a;b", "a&b", "'", '"',
    "..", "..a", ".a", "a-", "A", "é", "{pod}", "a_b", "a*", "\\", "a" * 254, "%2F", "~",
)  # fmt: skip


@pytest.mark.parametrize("level", ["namespace", "job", "pod"])
def test_no_name_of_a_folder_makes_the_watch_send_anything(node, level) -> None:
    good = {"namespace": "research", "job": "pretrain", "pod": POD}
    for name in BAD_NAMES:
        with suppress(OSError):  # not every file system has all of them
            dump(node.folder.joinpath("jobs", *(good | {level: name}).values()), 3)
    for pod in (f"kube-system_etcd_{OTHER}", f"bank_secret-app_{POD}", f"research_x_{POD}"):
        node.log(pod)
    with service(accepted()) as there:
        node.watch(there)

        assert there.requests == []
        assert list((node.folder / "marks").iterdir()) == []

        # None of them keeps it from the others.
        dump(node.folder.joinpath("jobs", *good.values()), 3)
        node.watch(there)
        assert len(there.requests) == 1


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_linked_folder_is_passed_by(node, level) -> None:
    dump(node.folder / "elsewhere" / "x" / "y" / "z", 3)
    parts = ("research", "pretrain", POD)
    link = node.folder.joinpath("jobs", *parts[: level + 1])
    link.parent.mkdir(parents=True)
    inner = {0: ("pretrain", POD), 1: (POD,), 2: ()}[level]
    dump(node.folder.joinpath("elsewhere", *inner), 3)
    link.symlink_to(node.folder / "elsewhere")
    with service(accepted()) as there:
        node.watch(there)

    assert there.requests == []


@pytest.mark.parametrize(
    ("name", "sent"),
    [("a", True), ("a.b-c", True), ("0", True), ("a" * 247, True), ("a" * 254, False)],
    ids=lambda value: str(value)[:8],
)
def test_names_as_kubernetes_gives_them_are_sent(node, name, sent) -> None:
    dump(node.folder / "jobs" / "research" / name / POD, 3)
    with service(accepted()) as there:
        node.watch(there)

    assert len(there.requests) == sent
