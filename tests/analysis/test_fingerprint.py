"""Fingerprints: what makes two answers the same kind of failure, and what does not."""

import pytest

from triage.analysis.fingerprint import (
    MAX_DISTANCE,
    Fingerprint,
    Stratum,
    make_fingerprint,
    measure_distance,
)

XID_79 = ("kernel.xid", "NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus.")
XID_48 = ("kernel.xid", "NVRM: Xid (PCI:0000:5d:00): 48, An uncorrectable double bit error (DBE)")
NIC = ("kernel.nic", "mlx5_core 0000:1e:00.0: Port module event[error]: Cable unplugged")
PYTHON = ("job.python", "TypeError: unsupported operand types in forward")
KEY = ("job.python", "KeyError: no such shard of the corpus")
WAITS = ("fr.host_stall", "3 ranks wait in all_reduce 4701 of mesh_tp (pg 1)")
LINE_74 = ("fr.host_stall", "its last operation came from: rec at /opt/train.py:74 < x at y:1")
LINE_96 = ("fr.host_stall", "its last operation came from: loss at /opt/train.py:96 < x at y:1")


def report(*because, kind="hang", category="gpu", node="n3", gpus=(), groups=(), role="culprit"):
    suspects = []
    if node is not None:
        reasons = [
            {"detector": detector, "text": text, "line": None if detector.startswith("fr.") else 1}
            for detector, text in because
        ]
        suspects = [
            {"node": node, "gpus": list(gpus), "role": role, "because": reasons,
             "category": category}
        ]  # fmt: skip
    return {
        "verdict": {"kind": kind, "category": category, "cordon": [node] if node else []},
        "suspects": suspects,
        "groups": [{"op": op, "desc": desc, "pg": "7"} for op, desc in groups],
    }


def fingerprint(*because, **changes) -> Fingerprint:
    found = make_fingerprint(report(*because, **changes))
    assert found is not None
    return found


def distance(one, other):
    return measure_distance(one, other)


def test_it_has_unit_length():
    found = fingerprint(XID_79, gpus=["0000:5d:00"])
    assert sum(value * value for value in found.features.values()) == pytest.approx(1.0, abs=1e-3)
    assert distance(found, found) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            fingerprint(XID_79, node="n3", gpus=["0000:5d:00"]),
            fingerprint((XID_79[0], XID_79[1].replace("5d", "1b").replace("pid=1", "pid=77")),
                        node="n9", gpus=["0000:1b:00"]),
            id="another node, GPU and process",
        ),
        pytest.param(
            fingerprint(XID_79), fingerprint(XID_79, WAITS, kind="crash"), id="another ending"
        ),
        pytest.param(
            fingerprint(PYTHON, category="software_user", node="n1"),
            fingerprint(PYTHON, category="software_user", node="n2"),
            id="one bug on two nodes",
        ),
        pytest.param(
            fingerprint(XID_79, groups=[("all_reduce", "mesh_tp")]),
            fingerprint(XID_79, groups=[("send", "mesh_pp")]),
            id="hardware that failed in another operation",
        ),
    ],
)  # fmt: skip
def test_the_same_kind(one, other):
    assert distance(one, other) <= MAX_DISTANCE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            fingerprint(XID_79), fingerprint(XID_48, category="gpu_hbm"), id="another code"
        ),
        pytest.param(fingerprint(XID_79), fingerprint(NIC, category="nic"), id="another part"),
        pytest.param(
            fingerprint(PYTHON, category="software_user"),
            fingerprint(KEY, category="software_framework"),
            id="another error",
        ),
        pytest.param(
            fingerprint(LINE_74, category="host_stall", groups=[("all_reduce", "mesh_tp")]),
            fingerprint(KEY, category="storage", groups=[("all_reduce", "mesh_tp")]),
            id="the same operation alone",
        ),
    ],
)  # fmt: skip
def test_another_kind(one, other):
    assert distance(one, other) > MAX_DISTANCE


@pytest.mark.parametrize(
    ("closer", "farther"),
    [
        pytest.param(
            fingerprint(XID_79, gpus=["0000:5d:00"]),
            fingerprint(XID_79, node="n9", gpus=["0000:5d:00"]),
            id="the same part of the node",
        ),
        pytest.param(fingerprint(XID_79), fingerprint(XID_79, kind="crash"), id="ending"),
    ],
)
def test_what_is_shared_brings_nearer(closer, farther):
    wanted = fingerprint(XID_79, gpus=["0000:5d:00"])
    assert distance(wanted, closer) < distance(wanted, farther)


def test_the_line_of_code_brings_software_nearer():
    wanted = fingerprint(LINE_74, category="host_stall", node="n1")
    same = fingerprint(LINE_74, category="host_stall", node="n2")
    assert distance(wanted, same) < distance(wanted, fingerprint(LINE_96, category="host_stall"))


@pytest.mark.parametrize(
    ("category", "stratum"),
    [
        ("gpu_hbm", Stratum.HARDWARE), ("network", Stratum.HARDWARE),
        ("software_user", Stratum.SOFTWARE), ("storage", Stratum.SOFTWARE),
        ("nccl_timeout", Stratum.UNKNOWN), ("straggler", Stratum.UNKNOWN),
    ],
)  # fmt: skip
def test_hardware_is_never_near_software(category, stratum):
    found = fingerprint(WAITS, category=category)
    assert found.stratum is stratum
    for other in ("gpu", "software_framework", "nccl_timeout"):
        far = fingerprint(WAITS, category=other)
        if far.stratum is not stratum:
            assert distance(found, far) == 1.0


def test_no_name_number_or_address_is_a_feature():
    line = ("kernel.nic", "n3 alpha: eth0 of 0000:1e:00.0 at 10.1.2.3 lost 17 frames <a@b.example>")
    found = fingerprint(line, category="nic", node="alpha")
    words = {name for name in found.features if name.startswith("words:")}
    assert words == {"words:lost", "words:frames"}


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"kind": "healthy", "category": "none", "node": None}, id="healthy"),
        pytest.param(
            {"kind": "inconclusive", "category": "none", "node": None}, id="nothing known"
        ),
    ],
)
def test_what_has_none(facts):
    assert make_fingerprint(report(**facts)) is None


def test_an_unknown_cause_at_an_operation_has_one():
    facts = {"kind": "inconclusive", "category": "none", "node": None}
    found = make_fingerprint(report(**facts, groups=[("all_reduce", "mesh_tp")]))
    assert found is not None
    assert found.stratum is Stratum.UNKNOWN
