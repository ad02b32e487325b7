"""gpud's states and events: dated results of parts, and never lines of a log."""

import json

import pytest

from tests.formats.health.agents import gpud_event, gpud_state
from tests.formats.health.reading import checks_of, format_of, logs_of, verdicts

UUID = "GPU-6b1f0c25-54a1-9d0e-77aa-0c5f3e1b2a95"
LOST = f"XID 79 (GPU has fallen off the bus) detected on {UUID}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (gpud_state(reason=LOST), ("gpud.error_xid", UUID, "fail", "gpu")),
        (gpud_state("Degraded", "1 link drop: mlx5_5", "accelerator-nvidia-infiniband"),
         ("gpud.infiniband", None, "warn", "network")),
        (gpud_state("Healthy", "ok", "disk"), ("gpud.disk", None, "pass", None)),
        (gpud_state("Initializing", "", "disk"), ("gpud.disk", None, "skipped", None)),
        (gpud_event(message="XID 48 detected on PCI:0000:6d:00"),
         ("gpud.error_xid", "0000:6d:00", "fail", "gpu_hbm")),
        (gpud_event("Warning", "XID 48 detected on PCI:0000:6d:00"),
         ("gpud.error_xid", "0000:6d:00", "warn", "gpu_hbm")),
        (gpud_event("Info", "all is well"), ("gpud.error_xid", None, "pass", None)),
        (gpud_event("Critical", "XID 31 detected on PCI:0000:6d:00"),
         ("gpud.error_xid", "0000:6d:00", "fail", "software_user")),
    ],
)  # fmt: skip
def test_a_state_or_an_event_is_of_its_part(text, wanted):
    assert verdicts(text) == {wanted}


def test_times_are_kept_and_nodes_are_the_folders(tmp_path):
    (row,) = logs_of(tmp_path, n4__gpud=gpud_state(reason=LOST)).evidence

    assert (row.node, row.weak, row.fields["gpu_uuid"]) == ("n4", False, UUID)
    assert row.stamp.zone_s == 0


def test_a_quoted_xid_is_no_line_of_a_log(tmp_path):
    logs = logs_of(tmp_path, n4__gpud=gpud_event(message=LOST))

    assert {row.family for row in logs.evidence} == {"check"}


@pytest.mark.parametrize("cut", [0.5, 0.7, 0.9])
def test_what_is_cut_keeps_whole_components(cut):
    parts = json.loads(gpud_state(reason=LOST)) * 20
    text = json.dumps(parts, indent=2)
    checks = checks_of(text[: int(len(text) * cut)])

    assert checks is not None
    assert 20 * cut - 2 <= len(checks.results) <= 20 * cut + 1
    assert "not valid JSON" in checks.not_understood[0].why


@pytest.mark.parametrize(
    "text",
    [
        '[{"component": "x", "value": 3}]',
        '[{"component": "train", "events": [{"name": "step", "value": 3}]}]',
        '{"component": "accelerator-nvidia-error-xid"}',
    ],
)
def test_other_json_is_none(text):
    assert format_of(text) != "gpud"


def test_an_unknown_state_passes_for_nothing():
    checks = checks_of(gpud_state("Exploded", LOST))

    assert checks is not None
    assert not checks.results
    assert checks.not_understood
