"""What NCCL tests and RCCL tests write as JSON is judged as their text is."""

import json

import pytest

from tests.formats.health.reading import verdicts
from tests.support.checkers import Sample, outcome_of, read_checks, samples
from tests.support.spent import spent_s
from triage.domain.health import Bandwidth
from triage.formats.health.nccl import compute_median_without
from triage.formats.registry import identify_checks

SAMPLES = {(one.tool, one.path.stem): one for one in samples()}


def sample(name: str, tool: str = "nccl-tests") -> Sample:
    return SAMPLES[tool, name]


def run(name="pass-json-one-node"):
    """The object of a sample, to change."""
    return json.loads(sample(name).data)


def results(document, **options):
    data = json.dumps(document).encode()
    row = identify_checks(data)
    assert row is not None
    return row.checks(data, "run.json", **options)


def outcome(document):
    return outcome_of(read_checks(json.dumps(document).encode()))


def test_what_was_measured_goes_on_as_a_number():
    found = {one.check: one for one in results(run()).results}

    assert found["nccl.busbw"].bandwidth == Bandwidth(
        "all_reduce", "NVIDIA H100 80GB HBM3", 8589934592, 8, 480.0
    )
    assert {one.node for one in found.values()} == {"gpu-17"}


@pytest.mark.parametrize(("busbw_gbps", "wanted"), [(480, "pass"), (560, "warn"), (700, "fail")])
def test_bandwidth_is_held_against_what_is_expected(busbw_gbps, wanted):
    found = {one.check: one for one in results(run(), busbw_gbps=busbw_gbps).results}

    assert found["nccl.busbw"].outcome == wanted


def test_the_minimum_of_the_run_fails_it_on_one_node_and_warns_over_two():
    two = run("warn-json-wrong-two-nodes")
    two["average_bus_bandwidth"]["okay"] = "false"
    found = results(two).results

    assert outcome(run("fail-json-min-bandwidth")) == "fail"
    assert {(one.node, str(one.outcome)) for one in found} == {
        ("gpu-17", "warn"), ("gpu-18", "warn"),
    }  # fmt: skip


def test_every_process_has_as_many_ranks():
    two = results(run("warn-json-wrong-two-nodes"))

    assert "over 2 nodes" in two.results[0].detail
    assert two.results[0].bandwidth is None


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda one: one["out_of_bounds"].update(count=1, okay="false"), "fail"),
        (lambda one: one["out_of_bounds"].update(count=2, okay="true"), "fail"),
        (lambda one: one["results"][0]["in_place"].update(nwrong=1.0), "fail"),
        (lambda one: one["results"][0]["in_place"].update(nwrong="nan"), "pass"),
        (lambda one: one["results"][0].update(out_of_place=None), "pass"),  # a replay of a trace
        (lambda one: one.pop("out_of_bounds"), "unknown"),
        (lambda one: one.update(out_of_bounds=[]), "unknown"),
        (lambda one: one.update(results=[]), "pass"),
        (lambda one: one.update(results="none", config=7, errors={}, args=None), "pass"),
        (lambda one: one["config"].update(devices=[{"hostname": 7}, "x", None]), "pass"),
        (lambda one: one["results"][1]["in_place"].update(bus_bw="inf"), "pass"),
        (lambda one: one["results"][1].update(size=-5), "pass"),
    ],
)
def test_odd_values(change, wanted):
    document = run()
    change(document)

    assert outcome(document) == wanted


def test_the_early_spelling_of_the_average_is_read():
    document = run("fail-json-min-bandwidth")
    average = document.pop("average_bus_bandwidth")
    document["average_bus_bandwidith"] = {"bandwidith": 1.0, "okay": average["okay"]}

    assert outcome(document) == "fail"


def test_sorted_and_indented_the_object_is_the_same():
    text = json.dumps(run("fail-json-wrong"), indent=2, sort_keys=True)

    assert ("nccl.values", None, "fail", "sdc") in verdicts(text)


def test_the_environment_may_be_longer_than_what_a_file_is_told_by():
    document = run("fail-json-wrong")
    document["env"] = [f"SOME_{k}={'x' * 90}" for k in range(300)]

    assert outcome(document) == "fail"


def test_values_that_nobody_checked_are_no_pass_in_the_text_either():
    text = sample("pass-one-node").data.decode().replace("      0     31250", "    N/A     31250")
    text = text.replace("      0\n", "    N/A\n")

    assert outcome_of(read_checks(text.encode())) == "unknown"


def test_a_minimum_that_is_not_reached_fails_in_the_text_too():
    text = sample("pass-one-node").data.decode().replace("240.0000 ", "240 FAILED")

    assert outcome_of(read_checks(text.encode())) == "fail"


ROWS = json.loads(sample("pass-json-rows", "rccl-tests").data)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "pass"), ({"wrong": "3"}, "fail"), ({"wrong": "N/A"}, "unknown"),
        ({"nodes": 2, "wrong": "3"}, "warn"), ({"inPlace": 0}, "pass"), ({"busBw": "nan"}, "pass"),
    ],
)  # fmt: skip
def test_rows_of_rccl_tests(changes, wanted):
    assert outcome([{**row, **changes} for row in ROWS]) == wanted


def test_rows_say_how_many_ranks_and_no_node():
    found = {one.check: one for one in results(ROWS).results}

    assert found["nccl.busbw"].bandwidth == Bandwidth("all_reduce", "", 1 << 30, 8, 312.4)
    assert found["nccl.busbw"].node is None


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("nccl-tests", "pass-json-one-node"), ("rccl-tests", "pass-json-rows"),
        ("rccl-tests", "pass-json-lines"),
    ],
)  # fmt: skip
def test_a_cut_at_any_byte_is_no_pass_and_no_failure(tool, name):
    whole = sample(name, tool).data.rstrip()
    passing = [
        cut for cut in range(1, len(whole)) if outcome_of(read_checks(whole[:cut])) == "pass"
    ]
    failing = [
        cut for cut in range(1, len(whole)) if outcome_of(read_checks(whole[:cut])) == "fail"
    ]

    # Of rows that stand alone those of the first sizes are a run by themselves.
    rows = {at for at in range(len(whole)) if name == "pass-json-lines" and whole[at:][:1] == b"\n"}
    assert failing == []
    assert {cut for cut in passing if cut not in rows and cut - 1 not in rows} == set()
    assert len(passing) <= 4


def test_the_median_of_the_others():
    ordered = [1.0, 2.0, 2.0, 3.0, 8.0, 9.0]

    assert compute_median_without(ordered, [2.0]) == 3.0
    assert compute_median_without(ordered, [2.0, 2.0]) == 5.5
    assert compute_median_without(ordered, [9.0, 1.0, 2.0]) == 3.0
    assert compute_median_without(ordered, [1.0, 2.0, 3.0, 9.0]) is None


def lines_of_many_nodes():
    one = {"results": [{"size": 1, "in_place": {"bus_bw": 1.5}}], "out_of_bounds": {"count": 0}}
    return "\n".join(
        json.dumps(
            {"average_bus_bandwidth": {}, "config": {"devices": [{"hostname": f"n{k}"}]}} | one
        )
        for k in range(20_000)
    )


@pytest.mark.parametrize(
    "text",
    [
        lines_of_many_nodes(),
        '{"average_bus_bandwidth": {"a": ' + "[" * 200_000,
        '{"algBw": 1, "busBw": 1, "inPlace": 0, "name": "x"}\n' * 20_000,
        '{"algBw": 1, "busBw": 1, "inPlace": 1, "size": ' + "9" * 4000 + "}\n",
        '{"version":1,"start_time":"","args":["' + "x/" * 400 + "_perf" * 30 + '"]}',
    ],
    ids=["nodes", "deep", "rows", "digits", "arguments"],
)
def test_hostile_runs_are_read_in_time(text):
    read_checks(text.encode())

    assert spent_s(lambda: read_checks(text.encode()), 6.0) <= 6.0
