"""Event logs of controllers: with commas, before the clock was set, and with a driver's error."""

import json

import pytest

from tests.formats.health.reading import format_of, logs_of, rows_of
from triage.parsers.logs.logset import LogKind

LOST = "2,03/14/2026,02:39:11 UTC,Power Supply PSU3_STATUS,Power Supply AC lost,Asserted\n"
HOT = (
    "3,03/14/2026,02:39:12 UTC,Temperature GPU5_MEM_TEMP,Upper Critical going high,Asserted,"
    "Reading 97 > Threshold 95 degrees C\n"
)
EARLY = "5,Pre-Init,0000000012,Processor CPU0_STATUS,IERR,Asserted\n"


def roots(tmp_path, text):
    return {
        (row.signature, row.line, row.weak)
        for row in rows_of(tmp_path, n3__sel=text)
        if str(row.role) == "root"
    }


def test_rows_with_commas_say_the_same_as_rows_with_bars(tmp_path):
    wanted = {("sel.power", 1, False), ("sel.gpu_temperature", 2, False)}
    bars = (LOST + HOT).replace(",", " | ")

    assert roots(tmp_path / "a", LOST + HOT) == wanted
    assert roots(tmp_path / "b", bars) == wanted


def test_a_row_has_the_time_that_it_prints(tmp_path):
    (row,) = rows_of(tmp_path, n3__sel=LOST)

    assert (row.node, row.stamp.zone_s, row.stamp.wall_ns is not None) == ("n3", 0, True)


@pytest.mark.parametrize(
    "text",
    [
        EARLY,
        EARLY.replace(",", " | "),
        " 5 |  Pre-Init  |0000000012| Processor CPU0_STATUS | IERR | Asserted\n",
    ],
)
def test_a_row_from_before_the_clock_was_set_needs_another_source(tmp_path, text):
    assert roots(tmp_path, text) == {("sel.processor", 1, True)}


def test_what_has_ended_accuses_nobody(tmp_path):
    assert roots(tmp_path, LOST.replace("Asserted", "Deasserted")) == set()


@pytest.mark.parametrize(
    "text", ["1,2,3\n4,5,6\n", "step,03/14/2026,02:39:11,loss,2.3,ok\n", "a,03/14/2026,x\n"]
)
def test_other_tables_are_none(text):
    assert format_of(text) != "sel_list"


def redfish(error, **differs):
    said = f"[2026-03-14 02:40:57.118][1032][0] {error}"
    entry = {
        "@odata.type": "#LogEntry.v1_15_0.LogEntry", "Created": "2026-03-14T02:40:58+00:00",
        "EntryType": "Event", "Id": "411", "Severity": "Critical", "Resolved": False,
        "MessageId": "ResourceEvent.1.0.ResourceErrorsDetected",
        "MessageArgs": ["GPU_SXM_6 Driver Event Message", said],
        "Message": f"The resource property GPU_SXM_6 Driver Event Message has detected errors of"
        f" type '{said}'.",
    }  # fmt: skip
    return json.dumps({"Members": [{**entry, **differs}]}, indent=1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (redfish("XID 79 GPU has fallen off the bus."), ("root", "gpu", False)),
        (redfish("XID 48 Double Bit ECC Error"), ("root", "gpu_hbm", False)),
        (redfish("XID 31 MMU fault"), ("root", "software_user", False)),
        (redfish("XID 45 Preemptive cleanup"), ("consequence", "software_user", False)),
        (redfish("XID 79 fell off", Resolved=True), ("noise", "none", False)),
    ],
)
def test_a_drivers_error_that_the_controller_saw_is_what_its_number_means(tmp_path, text, wanted):
    (row,) = rows_of(tmp_path, n3__events=text)

    assert (str(row.role), str(row.category), row.weak) == wanted
    assert row.node == "n3"
    assert row.fields.get("gpu_module", "6") == "6"
    assert "gpu_index" not in row.fields  # modules are counted from 1, and in their own order


def test_a_number_of_the_baseboard_is_not_nvidia_smis(tmp_path):
    link = {"Message": "GPU_5 NVLink_11 has detected errors of type 'NVLink Training Error'.",
            "MessageArgs": ["GPU_5 NVLink_11", "NVLink Training Error"]}  # fmt: skip
    (row,) = rows_of(tmp_path, n3__events=redfish("x", **link))

    assert (str(row.category), row.fields.get("gpu_index")) == ("nvlink", None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (LOST, LogKind.CHECKS),
        (LOST.replace(",", " | "), LogKind.CHECKS),
        (LOST.replace(" UTC", ""), LogKind.JOB),  # dated as the logs beside it are
        (LOST.replace(",", " | ") + "step 3 loss 2.1\n" * 3, LogKind.JOB),
    ],
)
def test_a_list_whose_times_have_zones_is_no_log_of_a_job(tmp_path, text, wanted):
    (file,) = logs_of(tmp_path, n3__sel=text).files

    assert file.kind is wanted


HEAD = "Index  Severity       Date (UTC)           Event ID       Message"
TABLES = {
    "columns of blanks": (
        f"{HEAD}\n"
        "0      Informational  11/20/2026 10:01:25  FQXSPSE4000I   Logged in, from 10.0.9.4.\n"
        "3      Critical       11/20/2026 10:59:30  FQXSPPW0003I   {}\n"
    ),
    "commas": (
        "ID,Severity,Class,Last Update (UTC),Count,Description\n"
        '300,Informational,Maintenance,11/20/2026 10:01:25,1,"The controller was updated."\n'
        '303,Critical,System,11/20/2026 10:59:30,1,"{}"\n'
    ),
}


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize(
    ("words", "category"),
    [
        ("The power input for power supply 1 is lost.", "power"),
        ("An uncorrectable memory error has been detected on DIMM 5.", "host_memory"),
        ("Uncorrectable Memory Error (Processor 1, DIMM 3).", "host_memory"),
        ("Processor 1 has failed with IERR.", "cpu"),
        ("An Uncorrectable Bus error has been detected on PCIe riser 1.", "io_board"),
        ("GPU 5 has an uncorrectable memory error.", "gpu_hbm"),
        ("System Power Fault Detected (XR: 14 00). Power-down followed.", "power"),
    ],
)
def test_a_row_of_a_table_is_dated_and_of_the_part_that_it_names(tmp_path, form, words, category):
    rows = rows_of(tmp_path, n3__events=TABLES[form].format(words))
    (row,) = [one for one in rows if str(one.role) == "root" and one.line == 3]

    assert str(row.category) == category
    assert row.stamp.zone_s == 0
    assert row.stamp.wall_ns == 1_795_172_370 * 10**9


@pytest.mark.parametrize(
    "words",
    [
        "The power input for power supply 1 has been restored.",
        "The inlet temperature is above its threshold (returned to normal after 4 minutes).",
    ],
)
@pytest.mark.parametrize("form", TABLES)
def test_what_is_over_accuses_nobody(tmp_path, form, words):
    rows = rows_of(tmp_path, n3__events=TABLES[form].format(words))
    assert not [one for one in rows if one.line == 3 and str(one.role) == "root"]


def test_a_severity_that_says_that_all_is_well_ends_it(tmp_path):
    text = TABLES["columns of blanks"].replace("Critical", "OK      ")
    rows = rows_of(tmp_path, n3__events=text.format("The power input for power supply 1 is lost."))
    assert not [one for one in rows if one.line == 3 and str(one.role) == "root"]


@pytest.mark.parametrize(
    "words",
    ["Drive 3 in backplane 1 is removed or not responding.", "Disk 3 of PCIe SSD has failed."],
)
def test_a_drive_is_no_backplane_and_no_bus(tmp_path, words):
    rows = rows_of(tmp_path, n3__events=TABLES["commas"].format(words))
    (row,) = [one for one in rows if str(one.role) == "root" and one.line == 3]
    assert str(row.category) == "ssd"
