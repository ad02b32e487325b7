"""Rows of ``triage parse`` for looks at a running job."""

from pathlib import Path

import pytest

from tests.support.stack_texts import LOADER, faulthandler_text, py_spy_text, server_file
from triage.report import read_rows


def rows_in(folder: Path) -> list[dict[str, object]]:
    return list(read_rows([folder]))


def test_a_stack_is_a_row_a_process_with_its_state_and_frames(tmp_path: Path) -> None:
    (tmp_path / "rank_3.txt").write_text(py_spy_text(4100, LOADER) + py_spy_text(4200, parent=4100))

    first, worker = rows_in(tmp_path)

    assert (first["kind"], first["rank"], first["pid"], first["line"]) == ("stack", 3, 4100, 4)
    assert (first["state"], first["threads"], first["clock"]) == ("idle", 2, "none")
    assert first["frames"][0] == "Queue.get (multiprocessing/queues.py:113)"
    assert str(first["text"]).startswith("MainThread (idle): Queue.get (multiprocessing/queues.py")
    assert (worker["rank"], worker["parent_pid"]) == (3, 4100)


def test_who_does_not_answer_has_a_row(tmp_path: Path) -> None:
    text = server_file("dump_traceback", [faulthandler_text(), "Error: 408", "Error: 503"])
    (tmp_path / "stacks_20260314_024210.txt").write_text(text)

    rows = rows_in(tmp_path)

    assert [(row["rank"], row.get("state")) for row in rows] == [
        (0, None), (1, "silent"), (2, "unreachable"),
    ]  # fmt: skip
    assert [row["node"] for row in rows] == ["gpu-n01", "gpu-n01", "gpu-n02"]
    assert {row["at"] for row in rows} == {"2026-03-14T02:42:10.000Z"}


@pytest.mark.parametrize(("active", "rows"), [(0, 0), (2, 1)])
def test_only_a_wait_that_goes_on_has_a_row(tmp_path: Path, active: int, rows: int) -> None:
    text = f'{{"pytorch.wait_counter.c10d.barrier":{{"active_count":{active},"total_calls":4}}}}'
    (tmp_path / "wait_counter_values_rank_3.json").write_text(text)

    assert len(rows_in(tmp_path)) == rows
