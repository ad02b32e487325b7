"""The page about notebooks is held to the code: tables, methods, numbers."""

import inspect
import re
from pathlib import Path

import pytest

import triage
from triage.analysis.trace import MAX_RANKS
from triage.client import Client
from triage.client import store as exported
from triage.client.transport import TRIES
from triage.fleet.client import MOST_RUNS, Fleet
from triage.fleet.render.notebook import FRAMES, FleetView
from triage.parsers.flight_recorder.decoder import HISTORY_UNITS
from triage.render.data import frames, tables
from triage.render.pictures.alone import ReportPictures

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "notebook.md").read_text("utf-8")


def plain_columns(kind):
    """The columns of an exported table, but for the counts of lines."""
    dtypes = exported.TABLES[kind]
    counts = {exported.count_name(*one) for one in exported.COUNTED}
    return {name: dtype for name, dtype in dtypes.items() if name not in counts}


TABLES = {
    "`.suspects`": frames.SUSPECTS,
    "`.evidence`": tables.EVIDENCE,
    "`.collectives`": frames.COLLECTIVES,
    "`.ranks`": frames.RANKS,
    "`.timeline`": frames.TIMELINE,
    "`.coverage`": frames.COVERAGE,
    "`.lateness`": tables.LATENESS,
    "`.artifacts`": tables.ARTIFACTS,
    "`.sent`": tables.SENT,
    "`client.incidents()`": tables.INCIDENTS,
    "`client.problems()`": tables.PROBLEMS,
    **{f"`fleet.{name}`": one.columns for name, one in FRAMES.items()},
    **{f"`store.{kind}()`": plain_columns(kind) for kind in exported.TABLES},
}
GROUP = re.compile(r"([A-Za-z0-9]+(?:\[us, UTC\])?): ((?:`[^`]+`(?:, )?)+)")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_columns_of_the_page(name):
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name}"))
    told = {}
    for dtype, names in GROUP.findall(row):
        for column, interval in re.findall(r"`(\w+)(\(_low,_high\))?`", names):
            told |= {column + end: dtype for end in ("", "_low", "_high") if interval or not end}
    assert told == dict(TABLES[name])


def test_every_public_method_is_named():
    for cls in (Client, triage.Report, ReportPictures, Fleet, FleetView):
        names = [name for name in vars(cls) if not name.startswith("_")]
        unnamed = [name for name in names if not re.search(rf"\.{name}\b", PAGE)]
        assert set(unnamed) <= {"answer", "sources", "url", "close", "incident_rows"}


def test_the_numbers_are_those_of_the_code():
    defaults = inspect.signature(triage.Report.to_perfetto).parameters
    assert (defaults["last_s"].default, defaults["limit"].default) == (60.0, 200_000)
    assert f"the last 60 seconds of issuing, {200_000:,} operations" in PAGE
    assert f"({MAX_RANKS} ranks at most)" in PAGE
    assert f"the last {HISTORY_UNITS:,} operations" in PAGE
    assert {4: "four"}[TRIES] + " times" in PAGE
    assert inspect.signature(Client.fleet).parameters["days"].default == 30
    assert f"at most {MOST_RUNS:,}" in PAGE
    assert inspect.signature(Client.wait).parameters["timeout_s"].default == 600
    assert inspect.signature(Client.incidents).parameters["limit"].default == 1000
