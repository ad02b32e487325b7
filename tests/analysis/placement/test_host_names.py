"""Names of nodes in other spellings, of pods, and in the names of files."""

import pytest

from triage.analysis.placement.host_names import (
    NamesInPaths,
    map_canonical_names,
    name_in,
    with_pods,
)
from triage.domain.evidence import Evidence, EvidenceRole, Kind

SPELLINGS = [
    ("gpu-17", "gpu-17"),
    ("GPU-17", "gpu-17"),
    ("gpu-17.cluster.local", "gpu-17"),
    ("gpu-17-ib0", "gpu-17"),
    ("gpu-17-mgmt.cluster.local", "gpu-17"),
    ("gpu-17-bmc", "gpu-17"),
    ("gpu-17-ipmi", "gpu-17"),
    ("gpu-17-xcc", "gpu-17"),
    ("gpu-17-nvme", None),
    ("gpu-17:29500", "gpu-17"),
    ("gpu-1", None),
    ("gpu-171", None),
    ("other-17", None),
]


@pytest.mark.parametrize(("text", "node"), SPELLINGS)
def test_knows_a_node_in_other_spellings(text: str, node: str | None) -> None:
    assert name_in(map_canonical_names(["gpu-17", "gpu-18"], []), text) == node


PATHS = [
    ("console-gpu-17.log", "gpu-17"),
    ("gpu-17.netconsole.log", "gpu-17"),
    ("bmc/GPU-17.cluster.local/sel.txt", "gpu-17"),
    ("logs/T-gpu-17_dmesg.txt.gz", "gpu-17"),
    ("nodes/gpu-17/health-event-log.csv", "gpu-17"),
    ("console-gpu-1-2.log", "gpu-1-2"),
    ("gpu-17_and_gpu-18.log", None),
    ("console-gpu-171.log", None),
    ("job-gpu.log", None),
    ("slurm-17.out", None),
]


@pytest.mark.parametrize(("path", "node"), PATHS)
def test_finds_the_one_node_in_a_path(path: str, node: str | None) -> None:
    homes = NamesInPaths(["gpu-17", "gpu-18", "gpu-1", "gpu-1-2"])

    assert homes.of(path) == node


@pytest.mark.parametrize(
    ("spelled", "node"),
    [
        (["n1", "n2", "iso-n1", "iso-n2"], "n1"),
        (["n1", "n2", "iso-n1", "iso-n3"], "iso-n1"),
        (["n1", "n2", "iso-n1"], "iso-n1"),
    ],
)
def test_a_collectors_word_before_all_names_is_none_of_theirs(
    spelled: list[str], node: str
) -> None:
    rows = [
        Evidence("a.log", 1, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "", node=name)
        for name in spelled
    ]
    assert name_in(map_canonical_names([], rows), "iso-n1") == node
    assert name_in(map_canonical_names(["iso-n1", "iso-n2"], rows), "iso-n1") == "iso-n1"


def bound(pod: str, node: str) -> Evidence:
    return Evidence(
        artifact="events.json", line=1, signature="kubernetes.pod_bound", kind=Kind.IDENTITY,
        role=EvidenceRole.NOISE, text="", node=node, fields={"pod": pod},
    )  # fmt: skip


def test_a_pod_means_its_node() -> None:
    names = map_canonical_names(["gpu-17"], [])

    with_pods(names, ["gpu-17"], [bound("llm-0", "gpu-17")])

    assert name_in(names, "llm-0") == "gpu-17"


def test_a_node_means_the_pod_that_the_job_calls_a_node() -> None:
    names = map_canonical_names(["llm-0", "llm-1"], [])

    with_pods(names, ["llm-0", "llm-1"], [bound("llm-0", "gpu-17"), bound("llm-1", "gpu-18")])

    assert name_in(names, "gpu-17.cluster.local") == "llm-0"


def test_a_node_of_two_pods_and_a_pod_of_two_nodes_mean_nothing() -> None:
    names = map_canonical_names(["llm-0", "llm-1"], [])
    rows = [
        bound("llm-0", "gpu-17"),
        bound("llm-1", "gpu-17"),
        bound("x-1", "a"),
        bound("x-1", "b"),
    ]

    with_pods(names, ["llm-0", "llm-1"], rows)

    assert name_in(names, "gpu-17") is None
    assert name_in(names, "x-1") is None


def said_by(node: str) -> Evidence:
    return Evidence("a.log", 1, "x.y", Kind.XID, EvidenceRole.ROOT, "x", node=node)


def test_a_node_is_called_without_its_domain_as_its_sisters_are() -> None:
    rows = [said_by("gpu-18"), said_by("gpu-17.example.org"), said_by("db1.example.org")]

    names = map_canonical_names([], rows)

    assert name_in(names, "gpu-17.example.org") == "gpu-17"
    assert name_in(names, "db1.example.org") == "db1.example.org"
