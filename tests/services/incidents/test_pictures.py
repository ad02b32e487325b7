"""Pictures from a stored answer: the grid holds every rank, and each revision is drawn once."""

import gzip
import json
import struct

import numpy as np
import pytest

from triage.domain.answer_wire import answer_to_bytes
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.report import Answer, JobFacts, RankState, Verdict
from triage.services.context import Context
from triage.services.incidents import pictures
from triage.services.incidents.pictures import draw, encode_grid, get_pictures
from triage.services.kept import KeptValues

VERDICT = Verdict(VerdictKind.HANG, Category.GPU, 0.9, "rank 3 is stuck", Action.DRAIN_NODE)


def ranks(num: int, per_node: int = 8, **of: RankState) -> list[RankState]:
    return [
        of.get(f"r{k}")
        or RankState(k, f"n{k // per_node}", "waiting", "1", "tp", 812, "all_reduce")
        for k in range(num)
    ]


def answer(states: list[RankState]) -> Answer:
    return Answer(JobFacts("1", len(states), 1), VERDICT, ranks=tuple(states))


def unpacked(data: bytes) -> dict:
    (length,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + length])
    assert (4 + length) % 4 == 0
    place = 4 + length
    for name, kind in (("late", "<f4"), ("places", "<u2"), ("state", "u1")):
        if name == "state" or head[name]:
            head[f"{name}_of"] = np.frombuffer(data, kind, head["num"], place).tolist()
            place += np.dtype(kind).itemsize * head["num"]
    assert place == len(data)
    return head


def test_every_rank_has_its_node_state_and_place() -> None:
    stuck = RankState(3, "n0", "culprit", "2", "mesh_tp", 811, "all_gather")
    silent = RankState(9, "n1", "no_dump")
    found = unpacked(encode_grid(ranks(16, r3=stuck, r9=silent)))
    assert found["ranks"] == "0-15"
    assert found["nodes"] == [["n0", 8], ["n1", 8]]
    assert found["late"] is False
    told = [found["states"][one] for one in found["state_of"]]
    assert told == [one.state for one in ranks(16, r3=stuck, r9=silent)]
    assert found["places"][found["places_of"][3]] == "mesh_tp all_gather #811"
    assert found["places"][found["places_of"][4]] == "tp all_reduce #812"
    assert found["places"][found["places_of"][9]] == ""


def test_lateness_is_told_where_there_is_any() -> None:
    late = RankState(1, "n0", "culprit", late_ms=57.25)
    found = unpacked(encode_grid(ranks(4, r1=late)))
    assert found["late_of"] == [0.0, 57.25, 0.0, 0.0]


def test_ranks_that_lie_across_nodes_keep_their_numbers() -> None:
    states = [RankState(k, f"n{k % 2}", "idle") for k in range(6)]
    found = unpacked(encode_grid(states))
    assert found["ranks"] == "0,2,4,1,3,5"
    assert found["nodes"] == [["n0", 3], ["n1", 3]]


def test_without_a_map_ranks_stand_in_rows() -> None:
    states = [RankState(k, None, "idle") for k in (5, 3, 4, 90)]
    found = unpacked(encode_grid(states))
    assert found["nodes"] == []
    assert found["ranks"] == "3-5,90"


def test_a_node_with_a_hostile_name_is_shown_as_what_it_is() -> None:
    found = unpacked(encode_grid([RankState(0, "n\u202e<b>\x1b" + "x" * 500, "idle")]))
    [[name, _]] = found["nodes"]
    assert name.startswith("n\\u202e<b>\\x1b")
    assert len(name) <= 80


@pytest.mark.parametrize("num", [0, 65_537])
def test_no_rank_and_too_many_are_no_picture(num: int) -> None:
    states = [RankState(k, None, "idle") for k in range(num)]
    assert encode_grid(states) == b""
    drawn = draw(answer(states))
    assert (drawn.has_grid, drawn.num_ranks) == (False, num)


def test_a_job_of_any_size_is_small_and_the_answer_comes_without_its_ranks() -> None:
    drawn = draw(answer(ranks(16_384)))
    assert len(drawn.grid) < 32_000
    assert drawn.answer.ranks == ()
    assert unpacked(gzip.decompress(drawn.grid))["num"] == 16_384
    assert drawn.states == (("waiting", "waits for another rank", 16_384, "0-16383"),)


def test_a_revision_is_drawn_once_and_the_longest_unseen_goes(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    monkeypatch.setattr(pictures, "draw", lambda one: drawn.append(one) or draw(one))
    monkeypatch.setattr(pictures, "_drawn", KeptValues(2))
    loaded = []

    def load(number: int) -> bytes:
        loaded.append(number)
        return answer_to_bytes(answer(ranks(8)))

    for number in (1, 1, 2, 1, 3, 1, 2):
        found = get_pictures(ctx.database, "inc_1", number, lambda number=number: load(number))
        assert found.num_ranks == 8
    # 2 was looked at longest ago when 3 came, so it was drawn again.
    assert loaded == [1, 2, 3, 2]
    assert len(drawn) == 4
