"""Frames: documented columns and dtypes, also when empty."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.render import answers
from triage.domain.category import Category
from triage.domain.report import Moment, RankState
from triage.render.data import frames

TABLES = [
    (frames.build_suspect_frame, frames.SUSPECTS),
    (frames.build_rank_frame, frames.RANKS),
    (frames.build_collective_frame, frames.COLLECTIVES),
    (frames.build_timeline_frame, frames.TIMELINE),
    (frames.build_coverage_frame, frames.COVERAGE),
]
IDS = ["suspects", "ranks", "collectives", "timeline", "coverage"]


@pytest.mark.parametrize(("build", "columns"), TABLES, ids=IDS)
@pytest.mark.parametrize("name", ["culprit", "tie", "healthy", "hostile"])
def test_columns_and_dtypes_are_those_documented(build, columns, name):
    answer = replace(getattr(answers, name)())
    assert {c: str(t) for c, t in build(answer).dtypes.items()} == dict(columns)


@pytest.mark.parametrize(("build", "columns"), TABLES, ids=IDS)
def test_empty_tables_have_the_same_columns(build, columns):
    empty = replace(answers.healthy(), ranks=())
    table = build(empty)
    assert len(table) == (4 if columns is frames.COVERAGE else 0)
    assert {c: str(t) for c, t in table.dtypes.items()} == dict(columns)


def test_suspects_come_best_first_with_their_reasons():
    suspects = frames.build_suspect_frame(answers.large())
    assert list(suspects["node"]) == ["n3", "n1125"]
    assert suspects.loc[0, "ranks"] == (27,)
    assert suspects.loc[0, "num_because"] == 2
    assert "[nodes/n3/kernel.log:812]" in suspects.loc[0, "because"]


def test_an_unknown_node_is_missing_not_text():
    assert frames.build_suspect_frame(answers.tie())["node"].isna().all()


def test_ranks_come_most_suspicious_first():
    states = (
        RankState(0, None, "idle", late_ms=1.0),
        RankState(1, None, "waiting"),
        RankState(2, None, "no_dump"),
        RankState(3, None, "possible", late_ms=5.0),
        RankState(4, None, "possible", late_ms=80.0),
        RankState(5, None, "culprit"),
        RankState(6, None, "made up"),
    )
    ranks = frames.build_rank_frame(replace(answers.healthy(), ranks=states))
    assert list(ranks["rank"]) == [5, 4, 3, 2, 1, 0, 6]


def test_collectives_count_their_ranks():
    row = frames.build_collective_frame(answers.culprit()).iloc[1]
    assert row["waiting"][:3] == (0, 1, 2)
    assert (row["num_waiting"], row["num_missing"], row["num_mismatched"]) == (63, 1, 0)


def test_the_time_line_is_placed_beside_the_stop():
    moments = (
        Moment(answers.AT - timedelta(seconds=41), "n3", 27, "xid", Category.GPU_HBM, "Xid 94"),
        Moment(answers.AT, None, None, "stop", None, "the job stops"),
        Moment(None, "n4", None, "xid", None, "undated"),
    )
    timeline = frames.build_timeline_frame(replace(answers.culprit(), timeline=moments))
    assert list(timeline["kind"]) == ["xid", "stop", "xid"]
    assert list(timeline["from_stop_s"][:2]) == [-41.0, 0.0]
    assert timeline["at"][0] == answers.AT - timedelta(seconds=41)
    assert timeline.loc[2, ["at", "from_stop_s", "rank", "category"]].isna().all()


def test_coverage_counts_first_then_what_is_lacking():
    coverage = frames.build_coverage_frame(answers.culprit())
    counts = dict(zip(coverage["what"], coverage["count"], strict=True))
    assert counts["ranks_expected"] == 64
    assert counts["dumps_read"] == 63
    assert counts["lines_not_understood"] == 212
    assert list(coverage["what"][4:]) == ["rank_without_dump", "unreadable", "note"]
    assert coverage.loc[4, "rank"] == 27
    assert coverage.loc[5, "text"] == "no reader claims it"
