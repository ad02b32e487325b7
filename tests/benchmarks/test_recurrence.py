"""The benchmark of recurrence reads a table of outages and prints its tables."""

import sys

import pandas as pd
import pytest

from benchmarks import recurrence
from tests.fleet.repairs.planted import NIC_REBOOTED, NIC_SWAPPED, fleet


def test_it_prints_how_far_returns_are_told_apart(tmp_path, monkeypatch, capsys):
    faults = fleet(1, again={NIC_SWAPPED: 0.05, NIC_REBOOTED: 0.6}, nodes=200)
    columns = {
        "node": [f"n{node}" for node in faults.node],
        "from_day": faults.start_day,
        "to_day": faults.end_day,
        "cause": [str(cause) for cause in faults.cause],
        "action": [str(action) for action in faults.action],
    }
    table = tmp_path / "outages.csv"
    pd.DataFrame(columns).to_csv(table, index=False)
    asked = ["recurrence", str(table), "--nodes", "200", "--shuffled", "2"]
    monkeypatch.setattr(sys, "argv", asked)

    recurrence.main()

    text = capsys.readouterr().out
    assert "within 7 days" in text
    assert "AUC 0." in text
    assert "shuffled among returns, 2 times" in text


@pytest.mark.parametrize("days", [(), (10.0,), (10.0, 50.0)], ids=["nothing", "one", "two"])
def test_of_few_returns_it_says_what_it_cannot_tell(tmp_path, monkeypatch, capsys, days):
    table = tmp_path / "few.csv"
    rows = [f"n1,{day},{day + 1},GPU" for day in days]
    table.write_text("\n".join(["node,from_day,to_day,cause", *rows, "n2,99,100,GPU"]))
    monkeypatch.setattr(sys, "argv", ["recurrence", str(table), "--nodes", "9", "--shuffled", "2"])

    recurrence.main()

    assert "nothing" in capsys.readouterr().out
