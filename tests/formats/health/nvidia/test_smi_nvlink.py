"""Errors of NVLinks since the driver was loaded: a link that recovered warns."""

import pytest

from tests.formats.health.reading import format_of, verdicts

UUID = "GPU-6b1f0c25-54a1-9d0e-77aa-0c5f3e1b2a95"


def errors(**counts):
    text = f"GPU 5: NVIDIA H200 (UUID: {UUID})\n"
    return text + "".join(f"\t Link 11: {what} Errors: {n}\n" for what, n in counts.items())


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ({"Replay": 0, "Recovery": 0, "CRC": 0}, ("pass", None)),
        ({"Replay": 14, "Recovery": 0, "CRC": 903}, ("pass", None)),
        ({"Replay": 14, "Recovery": 2, "CRC": 903}, ("warn", "nvlink")),
        ({"Recovery": "N/A"}, ("pass", None)),
    ],
)
def test_a_link_that_recovered_warns(counts, wanted):
    assert verdicts(errors(**counts)) == {("gpu.nvlink_errors", UUID, *wanted)}


@pytest.mark.parametrize("text", [errors(), "GPU 5: step 3\n\t Link 11: up\n"])
def test_other_lists_of_gpus_are_none(text):
    assert format_of(text) == "log"
