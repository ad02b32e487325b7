"""NVLinks that are down, where others of the node are up."""

import pytest

from tests.formats.health.agents import nvlink_status
from tests.formats.health.reading import checks_of, format_of, verdicts


@pytest.mark.parametrize(
    ("links", "wanted"),
    [
        ({"gpu0": "UUU", "gpu3": "UDU"}, {("gpu 0", "pass"), ("gpu 3", "fail")}),
        ({"gpu0": "UUU", "gpu3": "DDD"}, {("gpu 0", "pass"), ("gpu 3", "fail")}),
        # PCIe cards without a bridge: no link of the node is up
        ({"gpu0": "DDD", "gpu3": "DDD"}, {("gpu 0", "warn"), ("gpu 3", "warn")}),
        ({"gpu0": "XX_", "gpu3": "UU_"}, {("gpu 0", "pass"), ("gpu 3", "pass")}),
        ({"gpu0": "UU", "switch8": "UD_"}, {("gpu 0", "pass"), ("nvswitch 8", "warn")}),
    ],
)
def test_a_link_that_is_down_fails_where_others_are_up(links, wanted):
    found = verdicts(nvlink_status(**links))

    assert {(part, outcome) for _, part, outcome, _ in found} == wanted


def test_the_links_number_is_told():
    checks = checks_of(nvlink_status(gpu0="UUU", gpu3="UDU"))
    assert checks is not None
    assert [one.detail for one in checks.results] == ["0 of 3 links down", "1 of 3 links down: 1"]


def test_a_title_alone_in_a_log_is_no_report():
    assert format_of("rank 3: NvLink Link Status is unknown\nU U D\n") == "log"
