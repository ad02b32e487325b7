"""Nodes to leave out, in the words of launchers."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.domain.hosts import expand
from triage.render.words.commands import format_deepspeed_exclude, format_slurm_exclude, leave_out

POD = {"containers": [{"name": "trainer", "image": "x"}]}
OURS = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n3", "n4"]}
# Where each kind of workload holds its pod templates.
KINDS = {
    "Pod": ({"kind": "Pod", "spec": POD}, 1),
    "Job": ({"kind": "Job", "spec": {"template": {"spec": POD}}}, 1),
    "JobSet": (
        {"kind": "JobSet", "spec": {"replicatedJobs": [
            {"name": "a", "template": {"spec": {"template": {"spec": POD}}}},
            {"name": "b", "template": {"spec": {"template": {"spec": POD}}}},
        ]}},
        2,
    ),
    "Volcano": ({"kind": "Job", "spec": {"tasks": [{"template": {"spec": POD}}]}}, 1),
    "PyTorchJob": (
        {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {
            "Master": {"template": {"spec": POD}}, "Worker": {"template": {"spec": POD}},
        }}},
        2,
    ),
    "List": ({"kind": "List", "items": [{"kind": "Job", "spec": {"template": {"spec": POD}}}]}, 1),
    "ConfigMap": ({"kind": "ConfigMap", "data": {"spec": "containers"}}, 0),
}  # fmt: skip


def terms(spec):
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return spec["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]


@pytest.mark.parametrize("name", KINDS)
def test_every_pod_template_of_a_workload_is_kept_off(name):
    manifest, num_templates = copy.deepcopy(KINDS[name])
    before = json.dumps(manifest)

    assert leave_out(manifest, []) == num_templates
    assert json.dumps(manifest) == before
    assert leave_out(manifest, ["n3", "n4"]) == num_templates
    assert json.dumps(manifest).count(json.dumps(OURS)) == num_templates


def test_what_the_pods_ask_besides_stays():
    asked = {"key": "gpu", "operator": "In", "values": ["h100"]}
    first, second = {"matchExpressions": [asked]}, {"matchFields": [{"key": "metadata.name"}]}
    spec = copy.deepcopy(POD) | {
        "nodeSelector": {"pool": "a"},
        "affinity": {
            "podAffinity": {"x": 1},
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [1],
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [first, second]
                },
            },
        },
    }

    assert leave_out({"spec": spec}, ["n3", "n4"]) == 1

    assert terms(spec) == [
        {"matchExpressions": [asked, OURS]},
        {"matchFields": [{"key": "metadata.name"}], "matchExpressions": [OURS]},
    ]
    assert (spec["affinity"]["podAffinity"], spec["nodeSelector"]) == ({"x": 1}, {"pool": "a"})
    assert "preferredDuringSchedulingIgnoredDuringExecution" in spec["affinity"]["nodeAffinity"]
    # Asked again, nothing is said twice.
    leave_out({"spec": spec}, ["n3", "n4"])
    assert terms(spec)[0]["matchExpressions"] == [asked, OURS]


@pytest.mark.parametrize(
    "broken",
    [{"affinity": "x"}, {"affinity": {"nodeAffinity": []}},
     {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": None}}}],
)  # fmt: skip
def test_an_affinity_that_is_none_is_replaced(broken):
    spec = copy.deepcopy(POD) | broken

    assert leave_out({"spec": spec}, ["n3", "n4"]) == 1

    assert terms(spec) == [{"matchExpressions": [OURS]}]


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(
        st.sampled_from(["spec", "containers", "template", "affinity", "items", "x"]), below
    ),
    max_leaves=30,
))  # fmt: skip
def test_any_json_is_taken_and_stays_json(value):
    leave_out(value, ["n3"])

    json.dumps(value)


def test_a_manifest_that_never_ends_is_refused():
    deep: object = {}
    for _ in range(10_000):
        deep = [deep]

    with pytest.raises(ValueError, match="more than 64 deep"):
        leave_out(deep, ["n3"])


@given(st.lists(st.from_regex(r"[a-z]{1,4}[0-9]{0,4}", fullmatch=True), min_size=1, unique=True))
def test_slurm_reads_back_what_is_left_out(nodes):
    option = format_slurm_exclude(nodes)

    assert expand(option.removeprefix("--exclude=")) == nodes
    assert format_deepspeed_exclude(nodes).removeprefix("--exclude=").split("@") == nodes


def test_nobody_is_left_out_by_no_option():
    assert (format_slurm_exclude([]), format_deepspeed_exclude([])) == ("", "")
