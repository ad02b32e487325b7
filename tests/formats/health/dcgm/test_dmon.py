"""`dcgmi dmon`: states, what grows between two rows, and what its table cannot say."""

import pytest

from tests.formats.health.reading import checks_of, format_of, verdicts
from tests.support.checkers import outcome_of, read_checks, samples
from tests.support.spent import spent_s
from triage.formats.health.dmon import FIELDS

WIDTH = 28


def dmon(tags, *rows, end="\n"):
    """A table as DCGM 4 prints it; a row is its part and its values."""
    lines = ["".join(cell.ljust(WIDTH) for cell in ("#Entity", *tags.split()))]
    lines.append("ID".ljust(WIDTH))
    lines += ["".join(str(cell).ljust(WIDTH) for cell in row) for row in rows]
    return "\n".join(lines) + end


def of(tags, *rows):
    return {(check, part, outcome) for check, part, outcome, _ in verdicts(dmon(tags, *rows))}


@pytest.mark.parametrize(
    ("tag", "value", "check", "outcome", "category"),
    [
        ("EDVTL", 1, "dcgm.ecc", "fail", "gpu_hbm"),
        ("EDVDV", 1, "dcgm.ecc", "fail", "gpu_hbm"),
        ("EDVSRM", 1, "dcgm.ecc", "fail", "gpu_sram"),
        ("EDATL", 1, "dcgm.ecc_ever", "warn", "gpu_hbm"),
        ("EDDSRM", 1, "dcgm.ecc_ever", "warn", "gpu_sram"),
        ("RRF", 1, "dcgm.row_remap", "fail", "gpu_hbm"),
        ("RRP", 1, "dcgm.row_remap", "warn", "gpu_hbm"),
        ("MEMUNR", 1, "dcgm.row_remap", "fail", "gpu_hbm"),
        ("RPPEN", 1, "dcgm.retired_pages", "warn", "gpu_hbm"),
        ("RPDBE", 9, "dcgm.retired_pages", "pass", None),
        ("XIDER", 0, "dcgm.xid", "pass", None),
        ("XIDER", 79, "dcgm.xid", "fail", "gpu"),
        ("XIDER", 48, "dcgm.xid", "fail", "gpu_hbm"),
        ("XIDER", 74, "dcgm.xid", "fail", "nvlink"),
        ("XIDER", 63, "dcgm.xid", "warn", "gpu_hbm"),
        ("XIDER", 31, "dcgm.xid", "warn", "software_user"),
        ("XIDER", 9999, "dcgm.xid", "warn", None),
        ("GPURECOV", 1, "dcgm.recovery_action", "fail", "gpu"),
        ("GPURECOV", 0, "dcgm.recovery_action", "pass", None),
        ("FMSTA", 4, "dcgm.fabric", "fail", "nvlink"),
        ("FMSTA", 2, "dcgm.fabric", "warn", "nvlink"),
        ("FMSTA", 3, "dcgm.fabric", "pass", None),
        ("FMHSUM", 2, "dcgm.fabric", "fail", "nvlink"),
        ("GNVERR", 2, "dcgm.nvlink_state", "fail", "nvlink"),
        ("DVCCTR", 4, "dcgm.throttle", "pass", None),  # the software's power cap
        ("DVCCTR", 0x20, "dcgm.throttle", "warn", "gpu_thermal"),
        ("DVCCTR", 0x44, "dcgm.throttle", "fail", "gpu_thermal"),
        ("DVCCTR", 0x80, "dcgm.throttle", "fail", "power"),
        ("NRCLT", 5, "dcgm.nvlink_errors", "warn", "nvlink"),
        ("NRELT", 5, "dcgm.nvlink_errors", "pass", None),
        ("NFEL3", 5, "dcgm.nvlink_errors", "pass", None),
        ("TVIOL", 5, "dcgm.throttle", "pass", None),
        ("RPCTR", 5, "dcgm.pcie_replay", "pass", None),
    ],
)
def test_a_value_says_what_it_says(tag, value, check, outcome, category):
    assert verdicts(dmon(tag, ("GPU 5", value))) == {(check, "gpu 5", outcome, category)}


@pytest.mark.parametrize(
    ("tag", "grown", "outcome"),
    [
        ("EDATL", 1, "fail"), ("URMPS", 1, "fail"), ("RPDBE", 1, "fail"),
        ("NRCLT", 1, "fail"), ("NRELT", 1, "fail"), ("NLREC", 1, "fail"), ("NLLRF", 1, "fail"),
        ("NFELT", 99, "warn"), ("NFELT", 100, "fail"), ("NLCRC", 1, "warn"), ("NLLRS", 1, "warn"),
        ("PVIOL", 1, "warn"), ("TVIOL", 1, "warn"), ("CLKHWTHNS", 1, "fail"), ("RPCTR", 1, "warn"),
    ],
)  # fmt: skip
def test_a_counter_is_judged_by_what_it_grew_between_two_rows(tag, grown, outcome):
    rows = (("GPU 0", 7), ("GPU 5", 7), ("GPU 0", 7), ("GPU 5", 7 + grown))
    found = {part: result for _, part, result in of(tag, *rows)}

    assert found["gpu 5"] == outcome
    assert found["gpu 0"] != "fail"


def test_growth_is_told_with_its_line_and_its_link():
    rows = [("GPU 3 LINK 11", 2), ("GPU 3 LINK 10", 0)] * 2 + [("GPU 3 LINK 11", 5)]
    checks = checks_of(dmon("NVLRCE", *rows, ("GPU 3 LINK 10", 0)))
    assert checks is not None
    (result,) = checks.results

    assert (result.part, result.line) == ("gpu 3", 7)
    assert result.detail == "link 11 recoveries grew by 3"


def test_a_counter_that_begins_anew_did_not_grow():
    assert of("NRELT", ("GPU 0", 9), ("GPU 0", 0)) == {("dcgm.nvlink_errors", "gpu 0", "pass")}


@pytest.mark.parametrize("tags", ["EDVTL EDVSRM EDVDV", "EDVSRM EDVTL EDVDV"])
def test_sram_is_named_beside_the_total_in_any_order(tags):
    found = verdicts(dmon(tags, ("GPU 0", 1, 1, 0)))

    assert found == {("dcgm.ecc", "gpu 0", "fail", "gpu_sram")}


def test_a_port_of_a_switch_warns_and_its_fatal_sxid_fails():
    rows = [("Switch 1 ", 0, 20034), ("SW 1 LINK 4", 2, ""), ("SW 1 LINK 4", 3, "")]
    found = of("SWLNKRC SEN00", *rows)

    assert found == {
        ("dcgm.nvlink_errors", "nvswitch 1", "warn"), ("dcgm.sxid", "nvswitch 1", "fail"),
    }  # fmt: skip


def test_columns_that_judge_nothing_and_names_with_spaces_move_no_value():
    row = ("GPU 1", "NVIDIA H100 80GB HBM3", 97, "N/A", 1, "688.420")
    found = of("DVNAM GPUTL TMPTR RRF POWER", row)

    assert found == {("dcgm.row_remap", "gpu 1", "fail")}


def test_a_blank_value_moves_no_other():
    assert of("EDVTL RRF", ("GPU 1", "", 1)) == {("dcgm.row_remap", "gpu 1", "fail")}
    # where the padding is lost, the gaps tell the columns
    for row in ("GPU 1 0 1", "GPU 1   0    1", "GPU 1\t0\t1"):
        assert {one[:3] for one in verdicts(f"#Entity EDVTL RRF\nID\n{row}\n")} == {
            ("dcgm.ecc", "gpu 1", "pass"), ("dcgm.row_remap", "gpu 1", "fail"),
        }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([("GPU 0", "N/A", 0), ("GPU 1", 0, 0)], "pass"),
        ([("GPU 0", "N/A", "N/A"), ("GPU 1", 0, 0)], "unknown"),
        ([("GPU 0", 0, 0), ("GPU 0", "N/A", 0)], "unknown"),  # it was there, and is not any more
        ([("GPU 0", "N/A", 0), ("GPU 0", 0, 0)], "pass"),
        ([("GPU 0", "N/A", "N/A"), ("GPU 1", 1, 0)], "fail"),
        ([("GPU 0", 0, 0), ("GPU-I 7", "N/A", "N/A")], "pass"),  # a MIG instance has no such value
        ([("GPU 0", "lots", 0)], "unknown"),
    ],
)
def test_no_value_is_no_pass(rows, wanted):
    assert outcome_of(read_checks(dmon("EDVTL RRF", *rows).encode())) == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("Error getting values information. Return -18: GPU is lost", "fail"),
        ("Error getting values information. Return -17: No permission", "unknown"),
        ("Error setting watches. Result: -33: This request is serviced by a module", "unknown"),
        ("No data returned from the hostengine.", "unknown"),
    ],
)
def test_an_error_in_the_place_of_rows(line, wanted):
    assert outcome_of(read_checks(f"{dmon('EDVTL')}{line}\n".encode())) == wanted
    good = dmon("EDVTL", ("GPU 0", 0))
    assert outcome_of(read_checks(f"{good}{line}\n".encode())) == wanted


def test_the_header_comes_again_and_another_table_behind():
    first = dmon("EDVTL", ("GPU 0", 0), ("GPU 0", 0)) + dmon("EDVTL", ("GPU 0", 1))
    other = dmon("RRF", ("GPU 7", 0))

    assert {one[:3] for one in verdicts(first + other)} == {
        ("dcgm.ecc", "gpu 0", "fail"), ("dcgm.row_remap", "gpu 7", "pass"),
    }  # fmt: skip


def test_lines_of_other_programs_are_passed_over_and_stay_lines():
    text = f"step 1\n{dmon('EDVTL', ('GPU 0', 0))}GPU 0 is idle\n{'x' * 9000}\nGPU 0 \n"
    checks = checks_of(text)
    assert checks is not None

    assert (checks.first_line, checks.last_line) == (2, 4)
    assert (len(checks.results), checks.num_not_understood) == (1, 0)


PASSING = [one for one in samples() if one.tool == "dcgmi-dmon" and one.wanted == "pass"]


@pytest.mark.parametrize("sample", PASSING, ids=lambda one: one.name)
def test_a_cut_at_any_byte_never_fails_and_passes_between_rounds_alone(sample):
    text = sample.data.decode()
    parts = sorted({line.split("  ")[0] for line in text.split("\n") if line.startswith("GPU")})
    head = text.index(parts[0])
    first_round_ends = text.index("\n", text.index(parts[-1]))
    for cut in range(head, len(text.rstrip()) - 1):
        begun = text[:cut]
        outcome = outcome_of(read_checks(begun.encode()))
        assert outcome != "fail", begun
        if outcome == "pass" and cut > first_round_ends:
            last = begun.rstrip().rsplit("\n", 1)[-1]
            assert last.startswith((parts[-1], "dmon")), begun


def test_every_judged_tag_has_a_check_and_words():
    assert len(FIELDS) > 150
    assert all(one.check.islower() and (one.words or one.meaning) for one in FIELDS.values())


def test_a_bare_header_or_row_is_no_table():
    assert format_of("#Entity  EDVTL\nGPU 0    0\n") == "log"
    assert format_of("GPU 0    0    79\n") == "log"


@pytest.mark.parametrize(
    "text",
    [
        dmon(" ".join(["NRCLT"] * 256), *[(f"GPU {k}",) for k in range(50_000)]),
        dmon("NRCLT", *[(f"GPU {k} LINK {k % 90}", k) for k in range(50_000)]),
        dmon("NRCLT", ("GPU 0", "9" * 20), ("GPU 0", "9" * 2000)),
        "#Entity  A\nID\n" * 50_000,
        "#Entity" + " A" * 100_000 + "\nID\n",
        dmon("EDVTL", ("GPU " + "9" * 300, 1)),
    ],
    ids=["columns", "links", "digits", "headers", "tags", "number"],
)
def test_hostile_tables_are_read_in_time_and_bounded(text):
    checks = read_checks(text.encode())

    assert checks is None or len(checks.results) <= 2000
    assert spent_s(lambda: read_checks(text.encode()), 3.0) <= 3.0
