"""Tools of hosts and fabrics: each sample is taken for what it says, however it is dressed."""

import re

import pytest

from tests.support.checkers import CHANGES, Sample, outcome_of, read_checks, samples

TOOLS = frozenset(
    {
        "dmidecode", "edac_util", "ethtool", "ib_write_bw", "ibdiagnet", "iblinkinfo",
        "ibqueryerrors", "ibstat", "ibstatus", "ibv_devinfo", "ipmitool", "ipmitool_sel", "lspci",
        "mcelog_client", "memtester", "mlxlink", "nvme", "perfquery", "ras_mc_ctl", "rdma_link",
        "redfish", "redfish_events", "smartctl", "stress_ng",
    }
)  # fmt: skip
SAMPLES = [one for one in samples() if one.tool in TOOLS]
BANNER = b"Sat Mar 14 02:41:00 UTC 2026\n+ running the check of gpu-n02\n\n"
JSON = re.compile(rb"\s*[{\[]")


def name_of(sample: Sample) -> str:
    return f"{sample.tool}/{sample.path.stem}"


def verdict(data: bytes) -> str:
    return outcome_of(read_checks(data))


def in_colour(data: bytes) -> bytes:
    """Each line as a terminal shows it in green."""
    lines = data.split(b"\n")
    return b"\n".join(
        b"\x1b[0;32m" + one + b"\x1b[0m\x1b[K" if one.strip() else one for one in lines
    )


def test_every_tool_has_samples_that_fail():
    failing = {one.tool for one in SAMPLES if one.wanted == "fail"}

    # A link that could be faster, and totals of a fabric, accuse nobody.
    assert failing == TOOLS - {"iblinkinfo", "ibqueryerrors"}


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_report_is_taken_for_what_it_says(sample: Sample):
    assert verdict(sample.data) == sample.wanted


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_its_clothes_do_not_matter(sample: Sample):
    data = sample.data
    told = {how: verdict(change(data)) for how, change in CHANGES.items()}
    told["names"] = verdict(data.replace(b"gpu-n", b"rack7-").replace(b"leaf07", b"sw-17"))
    if JSON.match(data):
        told["one line"] = verdict(b" ".join(data.split(b"\n")) + b"\n")
    else:
        told["colours everywhere"] = verdict(in_colour(data))
        told["a banner"] = verdict(BANNER + data)
        if data.endswith(b"\n"):  # behind one that breaks off nothing can stand
            told["a prompt behind it"] = verdict(data + b"root@gpu-n02:~#\n")

    assert told == dict.fromkeys(told, sample.wanted)


# Of an event log that breaks off nobody knows whether its last event ended.
WHOLE = [one for one in SAMPLES if one.wanted == "pass" and one.tool != "ipmitool_sel"]


@pytest.mark.parametrize("sample", WHOLE, ids=name_of)
def test_a_good_report_that_breaks_off_never_fails(sample: Sample):
    data = sample.data
    told = {share: verdict(data[: len(data) * share // 20]) for share in range(1, 20)}

    assert "fail" not in told.values(), told
