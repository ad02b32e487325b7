"""Text tables of recorders: who did not come, and nothing of what the analyzer makes of it."""

from pathlib import Path

import pytest

import triage
from triage.domain.category import Role
from triage.domain.live.look import Tool
from triage.parsers.live.debug_server import read_trace_tables

HEAD = (
    "  id    group_id  pass_check      collective_seq_id    p2p_seq_id    record_id  pg_desc   "
    "    collective_name    input_sizes    output_sizes    expected_ranks    collective_state  "
    "  missing_ranks    mismatch_collectives"
)
COLUMN = HEAD.index("missing_ranks")


def row(group: str, seq: int, expected: set[int], missing: set[int], passed: bool = True) -> str:
    start = (
        f"   0           {group}  {passed!s:<5}                          {seq}             0"
        f"          151  {group}:mesh_dp     nccl:all_reduce  [[256]]        [[64]]"
        f"          {expected}  scheduled    "
    )
    return start.ljust(COLUMN) + (f"{missing}" if missing else "").ljust(17)


def table(*rows: str, name: str = "NCCL") -> str:
    parts = [f"=== FR Trace {name} ===", "--- Groups ---", "id  desc  size", "--- Collectives ---"]
    return "\n".join([*parts, HEAD, *rows, "--- NCCL Calls ---", "id  collective_id"])


def came(text: str) -> list[dict[int | None, int]]:
    (look,) = read_trace_tables(text, "fr_trace_20260314_024210.txt")
    return [
        {one.process.rank: (one.launched or {})["all"] for one in group.ranks}
        for group in look.communicators
    ]


def test_who_is_missing_came_no_further_than_the_operation_before() -> None:
    assert came(table(row("0", 22, {0, 1, 2, 5}, {5}))) == [{0: 22, 1: 22, 2: 22, 5: 21}]


def test_the_furthest_operation_counts_and_groups_stay_apart() -> None:
    text = table(
        row("6", 43, {1, 3, 5}, {5}), row("6", 44, {1, 3, 5}, {3, 5}), row("5", 43, {0, 2}, set())
    )
    assert came(text) == [{1: 44, 3: 43, 5: 42}, {0: 43, 2: 43}]


def test_what_the_analyzer_says_changes_nothing() -> None:
    said = row("0", 22, {0, 1, 5}, {5}, passed=False) + "  {4: Collective(id=0, missing={7})}"
    assert came(table(said)) == came(table(row("0", 22, {0, 1, 5}, {5})))


@pytest.mark.parametrize(
    "text",
    [
        table(),
        table(row("0", 22, {0, 1}, {0, 1})),
        "=== FR Trace ===\n--- Groups ---\n",
        table(row("0", 22, {0, 1}, {1})[:60]),
        "=== FR Trace ===\n--- Collectives ---\n" + "x" * (2 << 20),
    ],
    ids=["empty", "nobody came", "cut", "cut row", "one long line"],
)
def test_nothing_to_compare_gives_an_empty_look(text: str) -> None:
    (look,) = read_trace_tables(text, "a.txt")
    assert look.tool is Tool.TRACE_TABLE
    assert look.communicators == ()
    assert look.notes


def test_two_rounds_name_the_rank_that_did_not_come(tmp_path: Path) -> None:
    everyone = set(range(8))
    text = table(row("0", 22, everyone, {5}), row("6", 44, {1, 3, 5, 7}, {5}))
    for second in (10, 70):
        stamp = f"0242{second:02}" if second < 60 else f"0243{second - 60:02}"
        (tmp_path / f"fr_trace_20260314_{stamp}.txt").write_text(text)
    answer = triage.analyze(tmp_path).answer
    assert [(one.ranks, one.role) for one in answer.suspects] == [((5,), Role.CULPRIT)]


def test_one_round_convicts_nobody(tmp_path: Path) -> None:
    text = table(row("0", 22, set(range(8)), {5}))
    (tmp_path / "fr_trace_20260314_024210.txt").write_text(text)
    answer = triage.analyze(tmp_path).answer
    assert [one.role for one in answer.suspects] == [Role.POSSIBLE]
