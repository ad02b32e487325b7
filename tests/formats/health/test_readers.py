"""Each format: what fails and what comes near it, what is not understood, and hostile bytes."""

import json

import pytest

from tests.formats.examples import EXAMPLES
from tests.formats.health import samples
from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.format import Head
from triage.formats.health.reading import check_name
from triage.formats.registry import CHECKS, identify_checks

PASS, WARN, FAIL, SKIPPED = Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.SKIPPED


def read_checks(data, artifact, **kw):
    row = identify_checks(data)
    return None if row is None else row.checks(data, artifact, **kw)


def results(text, **kw):
    found = read_checks(text.encode(), "checks.txt", **kw)
    assert found is not None
    return found.results


def outcome(text, check, part=None, **kw):
    """(outcome, category) of the one result of a check."""
    found = [one for one in results(text, **kw) if one.check == check and one.part == part]
    assert len(found) == 1, found
    return found[0].outcome, found[0].category


CHECK_EXAMPLES = {row.name: EXAMPLES[row.name] for row in CHECKS}


@pytest.mark.parametrize("name", CHECK_EXAMPLES)
def test_a_format_is_claimed_by_its_content_and_by_no_other(name):
    text = CHECK_EXAMPLES[name]

    assert [one.name for one in CHECKS if one.claims(Head(text.encode()))] == [name]
    assert read_checks(text.encode(), "x").format == name


@pytest.mark.parametrize("name", CHECK_EXAMPLES)
def test_line_ends_do_not_matter(name):
    text = CHECK_EXAMPLES[name]

    assert results(text.replace("\n", "\r\n")) == results(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INFO: started\nrank 3: loss 2.41\n",
        "step: 3 OK\nTraceback (most recent call last):\n",
        "pcie_width: FAIL\n",  # one line may be anything
        '{"check": "x", "status": "maybe"}\n',
        '{"level": "info", "message": "status check"}\n',
        "GPU 00000000:1B:00.0\n",
        "NVSMI LOG\n",
        "CA 'mlx5_0' is up\n",
        "NodeName=n3 CPUs=8\n",  # a line of slurm.conf
        "[   12.3] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\n",
        "REASON for the stop: USER error\n",
        "the DCGM Diagnostic was run: all passed\n",
    ],
)
def test_logs_and_prose_are_no_checks(text):
    assert read_checks(text.encode(), "x") is None


class TestNvidiaSmi:
    @pytest.mark.parametrize(
        ("differs", "check", "wanted"),
        [
            ({}, "gpu.ecc", (PASS, None)),
            ({"dram": 2}, "gpu.ecc", (FAIL, Category.GPU_HBM)),
            ({"sram": 1}, "gpu.ecc", (FAIL, Category.GPU_SRAM)),
            ({"ever": 3}, "gpu.ecc", (PASS, None)),
            ({"ever": 3}, "gpu.ecc_ever", (WARN, Category.GPU_HBM)),
            ({"rows": 1}, "gpu.row_remap", (WARN, Category.GPU_HBM)),
            ({"pending": "Yes"}, "gpu.row_remap", (WARN, Category.GPU_HBM)),
            ({"failed": "Yes"}, "gpu.row_remap", (FAIL, Category.GPU_HBM)),
            ({"thermal": "Active"}, "gpu.throttle", (FAIL, Category.GPU_THERMAL)),
            ({"brake": "Active"}, "gpu.throttle", (FAIL, Category.POWER)),
            ({"power_cap": "Active"}, "gpu.throttle", (PASS, None)),
            ({"width": 8}, "gpu.pcie_link", (FAIL, Category.IO_BOARD)),
            ({"gen": 1}, "gpu.pcie_link", (WARN, Category.IO_BOARD)),
            ({"gen": 1, "state": "P8"}, "gpu.pcie_link", (PASS, None)),
            ({"temp": 95}, "gpu.temperature", (FAIL, Category.GPU_THERMAL)),
            ({"temp": 91}, "gpu.temperature", (WARN, Category.GPU_THERMAL)),
            ({"temp": 89}, "gpu.temperature", (PASS, None)),
            ({"persistence": "Disabled"}, "gpu.persistence", (WARN, None)),
        ],
    )
    def test_a_gpu_is_held_against_a_healthy_one(self, differs, check, wanted):
        text = samples.smi({}, {"bus": "5D", **differs})

        assert outcome(text, check, "0000:5d:00") == wanted
        assert outcome(text, check, "0000:1b:00") == (PASS, None)

    def test_what_is_not_applicable_is_not_judged(self):
        checks = {one.check for one in results(samples.smi({}))}

        assert "gpu.retired_pages" not in checks  # all N/A on this GPU
        assert "gpu.recovery_action" not in checks

    def test_xml_says_the_same(self):
        assert outcome(samples.SMI_XML, "gpu.ecc", "0000:1b:00") == (FAIL, Category.GPU_HBM)
        assert outcome(samples.SMI_XML, "gpu.row_remap", "0000:1b:00")[0] is WARN
        assert outcome(samples.SMI_XML, "gpu.throttle", "0000:1b:00")[1] is Category.GPU_THERMAL
        assert outcome(samples.SMI_XML, "gpu.pcie_link", "0000:1b:00")[0] is FAIL

    def test_xml_with_entities_is_refused_unread(self):
        bomb = '<nvidia_smi_log><!ENTITY a "aaaa"><gpu id="0000:1b:00.0">&a;</gpu></nvidia_smi_log>'
        found = read_checks(bomb.encode(), "x")

        assert not found.results
        assert "entities" in found.not_understood[0].why

    @pytest.mark.parametrize(
        ("state", "status", "health", "wanted"),
        [
            ("Completed", "Success", "Bandwidth : Full", (PASS, None)),
            ("Completed", "Success", "Bandwidth : Degraded", (WARN, Category.NVLINK)),
            ("Completed", "Insufficient Resources", "Bandwidth : N/A", (FAIL, Category.NVLINK)),
            ("Completed", "Success", "Route Unhealthy : True", (FAIL, Category.NVLINK)),
            ("In Progress", "N/A", "Bandwidth : N/A", (WARN, Category.NVLINK)),
        ],
    )
    def test_a_gpu_that_did_not_join_its_fabric_fails(self, state, status, health, wanted):
        block = f"    Fabric\n        State : {state}\n        Status : {status}\n"
        block += f"        Health\n            {health}\n"
        alone = f"GPU 00000000:6D:00.0\n    Product Name : NVIDIA H200\n{block}"

        assert outcome(alone, "gpu.fabric", "0000:6d:00") == wanted
        whole = samples.smi({}).replace("    PCI\n", f"{block}    PCI\n", 1)
        assert outcome(whole, "gpu.fabric", "0000:1b:00") == wanted

    def test_a_gpu_without_a_fabric_is_not_judged(self):
        block = "    Fabric\n        State : N/A\n        Status : N/A\n    PCI\n"
        text = samples.smi({}).replace("    PCI\n", block, 1)
        assert "gpu.fabric" not in {one.check for one in results(text)}

    def test_the_report_ends_where_another_program_begins(self):
        text = samples.smi({}) + "Traceback (most recent call last):\n    Pending : Yes\n"
        found = read_checks(text.encode(), "x")

        assert found.last_line < text.count("\n") - 1
        assert all(one.outcome is PASS for one in found.results)


class TestDcgm:
    @pytest.mark.parametrize("text", [samples.dcgm3(), samples.dcgm4()], ids=["3", "4"])
    def test_the_failed_gpu_is_named_and_the_other_passes(self, text):
        assert outcome(text, "dcgm.memory", "gpu 3") == (FAIL, Category.GPU_HBM)
        assert outcome(text, "dcgm.memory", "gpu 0") == (PASS, None)

    @pytest.mark.parametrize(
        ("name", "status", "warning", "wanted"),
        [
            ("Memory", "Skip", "", (SKIPPED, None)),
            ("Memory", "Warn", "", (WARN, Category.GPU_HBM)),
            ("PCIe", "Fail", "", (FAIL, Category.IO_BOARD)),
            ("PCIe", "Fail", "NvLink errors for NvLink 3", (FAIL, Category.NVLINK)),
            ("SM Stress", "Fail", "Thermal violations totaling 12 s", (FAIL, Category.GPU_THERMAL)),
            ("SM Stress", "Fail", "", (FAIL, Category.GPU)),
            ("Targeted Power", "FAIL", "", (FAIL, Category.POWER)),
        ],
    )
    def test_a_test_is_of_a_part(self, name, status, warning, wanted):
        text = samples.dcgm3(name, status, warning=warning)

        assert outcome(text, check_name("dcgm", name), "gpu 3") == wanted

    def test_lines_around_the_object_are_not_read(self):
        text = f"WARNING: a message\n{samples.dcgm3()}\nrank 3: loss nan\n"
        found = read_checks(text.encode(), "x")

        assert (found.first_line, found.last_line) == (2, text.count("\n") - 1)

    def test_an_unknown_status_is_listed_and_passes_for_nothing(self):
        found = read_checks(samples.dcgm3(status="Exploded").encode(), "x")

        assert [one.part for one in found.results] == ["gpu 0"]
        assert "exploded" in found.not_understood[0].why

    def test_a_document_that_is_cut_off_is_listed(self):
        found = read_checks(samples.dcgm3()[:200].encode(), "x")

        assert not found.results
        assert "not valid JSON" in found.not_understood[0].why


class TestNcclTests:
    def test_wrong_values_on_one_node_are_silent_corruption(self):
        assert outcome(samples.nccl("n3", wrong=2), "nccl.values") == (FAIL, Category.SDC)
        assert outcome(samples.nccl("n3"), "nccl.values") == (PASS, None)

    def test_of_several_nodes_none_fails_by_itself(self):
        found = results(samples.nccl("n3", "n4", wrong=2, busbw=10), busbw_gbps=400)

        assert {one.outcome for one in found} == {WARN}
        assert {one.node for one in found} == {"n3", "n4"}

    @pytest.mark.parametrize(
        ("busbw", "wanted"), [(300, FAIL), (400, WARN), (440, PASS), (480, PASS)]
    )
    def test_bandwidth_is_held_against_what_is_expected(self, busbw, wanted):
        text = samples.nccl("n3", busbw=busbw)

        assert outcome(text, "nccl.busbw", busbw_gbps=480)[0] is wanted
        assert outcome(text, "nccl.busbw") == (PASS, None)

    @pytest.mark.parametrize(("others", "wanted"), [(3, FAIL), (2, PASS)])
    def test_bandwidth_is_held_against_enough_peers(self, others, wanted):
        text = samples.nccl("n0", busbw=300)
        text += "".join(samples.nccl(f"n{1 + i}") for i in range(others))
        mine = [one for one in results(text) if one.node == "n0" and one.check == "nccl.busbw"]

        assert [one.outcome for one in mine] == [wanted]

    def test_a_run_without_an_end_warns(self):
        assert outcome(samples.nccl("n3", ended=False), "nccl.values") == (WARN, None)

    def test_labels_of_a_launcher_are_passed_over(self):
        text = "\n".join(
            f"[1,0]<stdout>:{line}" for line in samples.nccl("n3", wrong=1).split("\n")
        )
        assert outcome(text, "nccl.values") == (FAIL, Category.SDC)

    def test_an_error_of_old_versions_is_no_count(self):
        text = samples.nccl("n3").replace("      0\n", "  5e-07\n")
        assert outcome(text, "nccl.values") == (PASS, None)


class TestInfiniBand:
    def test_a_port_is_held_against_its_kind(self):
        text = samples.ibstat(
            mlx5_0=("Active", "LinkUp", 400), mlx5_1=("Down", "Polling", 10),
            mlx5_2=("Active", "LinkUp", 200), mlx5_3=("Down", "Disabled", 10),
        )  # fmt: skip
        assert outcome(text, "ib.link_state", "mlx5_1/1") == (FAIL, Category.NETWORK)
        assert outcome(text, "ib.link_rate", "mlx5_2/1") == (FAIL, Category.NETWORK)
        assert outcome(text, "ib.link_state", "mlx5_0/1") == (PASS, None)
        assert outcome(text, "ib.link_state", "mlx5_3/1") == (SKIPPED, None)

    def test_a_port_alone_may_be_unused(self):
        assert (
            outcome(samples.ibstat(mlx5_0=("Down", "Polling", 10)), "ib.link_state", "mlx5_0/1")[0]
            is WARN
        )

    @pytest.mark.parametrize(("count", "wanted"), [(10, PASS), (11, WARN)])
    def test_a_total_warns_above_its_threshold(self, count, wanted):
        text = samples.perfquery(LinkDownedCounter=count)
        assert outcome(text, "ib.counters", "lid 13/1")[0] is wanted

    def test_a_counter_that_grows_between_two_readings_fails(self):
        grown = samples.perfquery(LinkDownedCounter=1) + samples.perfquery(LinkDownedCounter=3)
        still = samples.perfquery(LinkDownedCounter=1) + samples.perfquery(LinkDownedCounter=1)

        assert results(grown)[-1].outcome is FAIL
        assert results(still)[-1].outcome is PASS

    def test_errors_of_a_fabric_go_to_nodes_and_not_to_switches(self):
        found = read_checks(samples.QUERY_ERRORS.encode(), "x")

        assert [(one.node, one.part) for one in found.results] == [("n3", "mlx5_0/1")]
        assert "leaf3" in found.not_understood[0].why


class TestDrains:
    def test_reasons_name_nodes_and_parts(self):
        found = {one.node: one for one in results(samples.SINFO)}

        # As the catalogue of Xids has it: which part lost the bus is not told.
        assert found["gpu003"].category is found["gpu017"].category is Category.GPU
        assert found["gpu005"].outcome is WARN

    def test_our_own_drain_is_no_news(self):
        found = {one.node: one for one in results(samples.SINFO)}
        assert (found["gpu004"].outcome, found["gpu004"].category) == (SKIPPED, None)

    def test_records_of_nodes_say_who_is_in_service(self):
        found = {one.node: one for one in results(samples.SCONTROL)}

        assert found["gpu003"].category is Category.NVLINK
        assert found["gpu004"].outcome is PASS

    def test_maintenance_is_no_failure(self):
        text = samples.SCONTROL.replace("NVLink error on GPU 3", "maintenance")
        assert next(iter(results(text))).outcome is WARN

    def test_a_list_of_nodes_without_end_is_listed(self):
        text = samples.SINFO + "bad x root 2026-11-21T03:20:11 gpu[1-99999999]\n"
        found = read_checks(text.encode(), "x")

        assert len(found.results) == 4
        assert "more than" in found.not_understood[0].why


class TestHostChecks:
    def test_json_lines_say_node_part_and_time(self):
        first, second = results(samples.HOST_JSON)

        assert (first.node, first.outcome, first.category) == ("n3", FAIL, Category.IO_BOARD)
        assert first.at is not None
        assert (second.node, second.outcome, second.at) == ("n4", PASS, None)

    @pytest.mark.parametrize(
        "line", ["not json", "[1]", '{"check": "x"}', '{"check": "x", "status": "odd"}', "[" * 9999]
    )
    def test_one_bad_line_never_stops_the_rest(self, line):
        found = read_checks(f"{samples.HOST_JSON}{line}\n{samples.HOST_JSON}".encode(), "x")

        assert len(found.results) == 4
        assert [one.line for one in found.not_understood] == [3]

    def test_a_time_without_a_zone_is_none(self):
        text = samples.HOST_JSON.replace("03:20:11Z", "03:20:11")
        assert results(text)[0].at is None

    def test_plain_lines_are_of_the_node_that_is_given(self):
        found = results(samples.HOST_PLAIN, node="n7")

        assert [(one.node, one.outcome) for one in found] == [
            ("n7", FAIL), ("n7", PASS), ("n7", WARN),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "text",
        [
            "srun: error: gpu-12: task 3: Out Of Memory\nsrun: error: gpu-13: task 5: Killed\n",
            "train.py: error: unrecognized arguments: --lrr\ntrain.py: warning: old option\n",
        ],
    )
    def test_what_programs_print_is_no_check(self, text):
        assert identify_checks(text.encode()) is None
        assert identify_checks(f"{text}pcie_width: FAIL x8 of x16\n".encode()) is not None

    def test_imbues_runner_says_what_is_wrong_with_whom(self):
        found = [(one.node, one.outcome, one.category) for one in results(samples.IMBUE)]

        assert found == [
            ("10.0.0.7", FAIL, Category.GPU_HBM), ("10.0.0.7", WARN, None),
            ("10.0.0.9", WARN, Category.NETWORK), ("10.0.0.8", PASS, None),
        ]  # fmt: skip


@pytest.mark.parametrize("name", CHECK_EXAMPLES)
def test_damaged_reports_never_raise(name):
    data = CHECK_EXAMPLES[name].encode()
    for cut in range(0, len(data), 37):
        read_checks(data[:cut], "x")
        read_checks(data[:cut] + b"\xff\x00\xfe" + data[cut + 3 :], "x")
        read_checks(data[:cut] + b"9" * 50 + data[cut:], "x")


def test_texts_are_cut_and_results_bounded():
    lines = [
        json.dumps({"check": "c" * 900, "status": "fail", "part": "p" * 900, "detail": "d" * 900})
    ]
    (one,) = results("\n".join(lines))

    assert len(one.check) < 80
    assert len(one.part) == 64
    assert len(one.detail) == 300
