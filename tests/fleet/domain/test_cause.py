"""Words of tickets, schedulers and traces as causes of outages, and what must not be taken."""

import pytest

from triage.fleet.domain.cause import OutageCause, classify_outage_cause


@pytest.mark.parametrize(
    ("texts", "cause"),
    [
        (("Hardware Failure; GPU; GPU PCI link width low",), OutageCause.GPU),
        (("Hardware Failure; NIC; NIC PCI link Width low",), OutageCause.NIC),
        (("Hardware Failure; Parameter Plane Cable; Link Down",), OutageCause.CABLE),
        (("Other Failure; Stress Test Failure; Unknown Error",), OutageCause.FAILED_TEST),
        (("Other Failure; Unknown Error; Unknown Error",), OutageCause.UNKNOWN),
        (("Hardware", "PCI Fibre Channel Adapter"), OutageCause.STORAGE),
        (("Hardware", "Memory Dimm"), OutageCause.MEMORY),
        (("Software", "Network"), OutageCause.SOFTWARE),
        (("Network", "Network"), OutageCause.SWITCH),
        (("Facilities", "Power Outage"), OutageCause.FACILITY),
        (("Hardware", "Power Supply"), OutageCause.POWER),
        (("scheduled firmware work",), OutageCause.MAINTENANCE),
        (("Out of memory: killed python",), OutageCause.SOFTWARE),
        (("failed_test",), OutageCause.FAILED_TEST),
        (("NHC: check_hw_gpu failed: GPU 3 lost",), OutageCause.GPU),
        (("Not responding",), OutageCause.UNKNOWN),
        (("", "  "), OutageCause.UNKNOWN),
        ((), OutageCause.UNKNOWN),
    ],
)
def test_words_become_the_cause_that_they_name(texts: tuple[str, ...], cause: OutageCause) -> None:
    assert classify_outage_cause(*texts) is cause
