"""One port by mlxlink, as text and as JSON."""

import pytest

from tests.formats.health.fabric.links import mlxlink, mlxlink_json
from tests.formats.health.reading import checks_of, format_of, logs_of, verdicts


@pytest.mark.parametrize("report", [mlxlink, mlxlink_json])
@pytest.mark.parametrize(
    ("differs", "wanted"),
    [
        ({}, ("pass", None)),
        ({"recommendation": "Bad signal integrity"}, ("fail", "network")),
        ({"recommendation": "Cable is unplugged"}, ("pass", None)),
        ({"link_down_counter": "6"}, ("warn", "network")),  # a total since somebody cleared it
        ({"state": "Polling", "recommendation": "The port is closed by command. Disabled by"
          " command"}, ("pass", None)),
    ],
)  # fmt: skip
def test_the_devices_own_recommendation_decides(report, differs, wanted):
    assert verdicts(report(**differs)) == {("ib.mlxlink", None, *wanted)}


def test_colours_do_not_matter():
    text = mlxlink(recommendation="Bad signal integrity")
    coloured = text.replace(": Active", ": \x1b[32mActive\x1b[0m").replace("Bad", "\x1b[31mBad")

    assert verdicts(coloured) == verdicts(text)


def test_the_device_is_the_files(tmp_path):
    text = mlxlink(recommendation="Bad signal integrity")
    (row,) = logs_of(tmp_path, n3__mlxlink_mlx5_5=text).evidence

    assert (row.node, row.fields["device"], row.weak) == ("n3", "mlx5_5", True)


def test_several_ports_in_one_file_are_several_results():
    checks = checks_of(mlxlink() + mlxlink(recommendation="Bad signal integrity"))

    assert checks is not None
    assert [str(one.outcome) for one in checks.results] == ["pass", "fail"]


@pytest.mark.parametrize(
    "text",
    ["Operational Info\nState: Active\n", '{"result": {"output": {"a": 1}}}', "mlxlink failed\n"],
)
def test_other_text_is_none(text):
    assert format_of(text) not in ("mlxlink", "mlxlink_json")
