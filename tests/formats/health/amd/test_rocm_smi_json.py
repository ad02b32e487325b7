"""`rocm-smi --json`: its errors and pages, GPUs that are not there, and objects that break off."""

import json

import pytest

from tests.formats.health.reading import format_of, verdicts
from tests.support.checkers import outcome_of, read_checks, samples
from tests.support.spent import spent_s

XGMI, REPLAYS, HEAT = "XGMI Error count", "PCIe Replay Count", "indep_throttle_status"


def cards(*values, **more):
    found = {f"card{k}": {"GPU use (%)": "0", **one} for k, one in enumerate(values)}
    return json.dumps({**found, **more}) + "\n"


def outcome(text):
    return outcome_of(read_checks(text.encode()))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({XGMI: "0"}, ("amd.xgmi", "pass", None)),
        ({XGMI: "1"}, ("amd.xgmi", "warn", "nvlink")),
        ({XGMI: "2"}, ("amd.xgmi", "warn", "nvlink")),
        ({XGMI: 2}, ("amd.xgmi", "warn", "nvlink")),
        ({REPLAYS: "812"}, ("amd.pcie_replay", "pass", None)),
        ({HEAT: "0"}, ("amd.throttle", "pass", None)),
        ({HEAT: str(1 << 2)}, ("amd.throttle", "pass", None)),  # the power limit
        ({HEAT: str(1 << 36)}, ("amd.throttle", "warn", "gpu_thermal")),
        ({"hbm_thm_residency_acc (Count)": "7"}, ("amd.throttle", "pass", None)),
        ({"Block umc is": "ENABLED", "ue": "1"}, ("amd.ecc_umc", "fail", "gpu_hbm")),
        ({"Block umc is": "ENABLED", "ue": "0", "ce": "9"}, ("amd.ecc_umc", "pass", None)),
        ({"Block gfx is": "ENABLED", "ue": "1"}, ("amd.ecc_gfx", "fail", "gpu_sram")),
        ({"Block xgmi_wafl is": "ENABLED", "ue": "1"}, ("amd.ecc_xgmi_wafl", "fail", "nvlink")),
        ({"Retired page 3 Type": "Retired"}, ("amd.pages_retired", "warn", "gpu_hbm")),
        ({"Retired page 3 Type": "Pending"}, ("amd.pages_pending", "warn", "gpu_hbm")),
        ({"Retired page 3 Type": "Unreservable"}, ("amd.pages_un_res", "fail", "gpu_hbm")),
    ],
)
def test_a_value_says_what_it_says(values, wanted):
    found = {(check, result, category) for check, _, result, category in verdicts(cards(values))}

    assert found == {wanted}


def test_of_a_check_the_worst_value_is_the_result():
    assert verdicts(cards({HEAT: str(1 << 36), "prochot_residency_acc (Count)": "0"})) == {
        ("amd.throttle", "gpu 0", "warn", "gpu_thermal")
    }


@pytest.mark.parametrize(
    ("name", "wanted"),
    [(XGMI, "fail"), (REPLAYS, "warn"), ("socket_thm_residency_acc (Count)", "warn")],
)
def test_what_grew_between_two_objects_counts(name, wanted):
    text = "Sat Mar 14 02:40:00 UTC 2026\n".join(cards({name: count}) for count in ("0", "1"))

    assert outcome(text) == wanted
    assert outcome("".join(cards({name: "0"}) for _ in range(2))) == "pass"


def test_counts_of_several_blocks_are_the_last_ones():
    text = cards({"Block sdma is": "ENABLED", "ue": "1", "ce": "0", "Block umc is": "ENABLED"})

    assert {(check, result) for check, _, result, _ in verdicts(text)} == {
        ("amd.ecc_sdma", "skipped"), ("amd.ecc_umc", "fail"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (cards({XGMI: "0"}, {XGMI: "0"}), "pass"),
        (cards({XGMI: "0"}, {}), "unknown"),
        (cards({XGMI: "0"}, {XGMI: "N/A"}), "unknown"),
        (cards({XGMI: "0"}, card3={XGMI: "0"}), "unknown"),
        (cards({XGMI: "N/A"}), "unknown"),
        (cards({}), "unknown"),
        (cards({XGMI: "2"}, {}).replace("2", "-2"), "unknown"),
        (cards({XGMI: True}), "unknown"),
        ("WARNING: No JSON data to report\n", "unknown"),
        ("WARNING: AMD GPU device(s) is/are in a low-power state\n" + cards({XGMI: "0"}), "pass"),
        (json.dumps(json.loads(cards({XGMI: "0"})), indent=4), "pass"),
    ],
)
def test_what_could_not_be_read_is_no_pass(text, wanted):
    assert outcome(text) == wanted


def test_only_the_line_that_says_so_is_a_failure_to_start():
    assert outcome("ERROR:root:ROCm SMI returned 8 (the expected value is 0)\n") == "unknown"
    assert format_of("rank 3: ROCm SMI returned 8 (the expected value is 0)\n") == "log"


PASSING = [one for one in samples() if one.tool == "rocm-smi" and "pass-json" in one.name]


@pytest.mark.parametrize("sample", PASSING, ids=lambda one: one.name)
def test_a_cut_at_any_byte_is_no_pass_and_no_failure(sample):
    whole = sample.data.rstrip()

    assert {outcome(whole[:cut].decode()) for cut in range(1, len(whole))} == {"unknown"}


def test_whole_cards_of_an_object_that_breaks_off_are_read():
    text = cards({"Block umc is": "ENABLED", "ue": "1"}, {XGMI: "0"})

    assert outcome(text[: text.index(XGMI)]) == "fail"


@pytest.mark.parametrize(
    "text",
    [
        '{"card0": {"XGMI Error count": ' + "[" * 100_000,
        '{"card0": {"XGMI Error count": "0"}, "x": [\n' * 20_000,
        '{"card0": {"XGMI Error count": "2"}}\n' * 50_000,
        '{"card0": {"XGMI Error count": "' + "9" * 100_000 + '"}}\n',
        '{"card0": {"XGMI Error count": "0"}, "card9999": {"XGMI Error count": "2"}}\n',
        '{"card0": {"XGMI Error count": "0"}, "card127": {"GUID": "1"}}\n' * 5_000,
        '{"card0": {"XGMI Error count": "0", "card1": ' + '{"a": ' * 200 + "\n",
    ],
    ids=["deep", "open", "many", "digits", "numbers", "gaps", "nested"],
)
def test_hostile_objects_are_read_in_time(text):
    assert outcome(text) != "pass" or text.count("\n") == 1
    assert spent_s(lambda: read_checks(text.encode()), 4.0) <= 4.0
