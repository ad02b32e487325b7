"""How much a rank has to delay its peers before somebody would stop a job for it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from triage.analysis.detectors import straggler
from triage.analysis.detectors.straggler import CONVICTS_SHARE, _make_claim, find_stragglers
from triage.domain.category import Role

STEP_MS = 1000.0


def make_case(count: int = 1, *, in_flight: bool = False) -> Any:
    """Ranks of one node of a job that does not hang."""
    return SimpleNamespace(
        moving=False, in_flight=in_flight, graph=SimpleNamespace(places=()),
        snapshot=SimpleNamespace(ranks=np.arange(count), node_of=lambda _rank: "n1"),
        because=lambda *_given, **_more: None, stack_reason=lambda *_given: (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "role"),
    [(CONVICTS_SHARE, Role.CULPRIT), (CONVICTS_SHARE - 0.001, Role.POSSIBLE)],
)
def test_a_few_milliseconds_of_a_step_convict_nobody(share: float, role: Role) -> None:
    late: Any = SimpleNamespace(
        delay_ms=np.array([share * STEP_MS]), step_ms=STEP_MS, held_share=np.array([1.0]),
        matched=np.array([99]), offset_ms=np.array([0.0]), num_steps=40,
    )  # fmt: skip
    found = _make_claim(make_case(), 0, late, 0.0, share * STEP_MS, alone=True)

    assert (found.ranks, found.role) == ((0,), role)
    assert (found.strength >= 0.5) is (role is Role.CULPRIT)


@pytest.mark.parametrize(
    ("step_ms", "named"),
    [(100.0, [3]), (16.0, [3]), (11.0, [3]), (10.0, []), (0.9, [])],
)
def test_no_rank_holds_up_a_step_for_longer_than_it_lasts(
    monkeypatch: pytest.MonkeyPatch, step_ms: float, named: list[int]
) -> None:
    """A healthy job of 512 ranks, pulled live within 6 ms of its first record: 13 ms a step."""
    late = SimpleNamespace(
        delay_ms=np.array([0.0, 0.0, 0.1, 13.0]), step_ms=step_ms, held_share=np.full(4, 0.5),
        matched=np.full(4, 26), offset_ms=np.zeros(4), num_steps=6,
    )  # fmt: skip
    monkeypatch.setattr(straggler, "measure", lambda _snapshot: late)
    case = make_case(4, in_flight=True)
    assert [rank for one in find_stragglers(case) for rank in one.ranks] == named


def test_whom_the_latest_rank_holds_up_is_possible_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One rank that is late by a second, and eight of a node that pass a fifth of it on."""
    late = SimpleNamespace(
        delay_ms=np.array([1000.0, 450.0, *[200.0] * 8, *[1.0] * 20]), step_ms=4000.0,
        held_share=np.ones(30), matched=np.full(30, 99), offset_ms=np.zeros(30), num_steps=6,
    )  # fmt: skip
    monkeypatch.setattr(straggler, "measure", lambda _snapshot: late)
    case = make_case(30)
    found = {claim.ranks: claim.role for claim in find_stragglers(case)}
    assert found == {(0,): Role.CULPRIT, (1,): Role.POSSIBLE}


@pytest.mark.parametrize(("per_node", "role"), [(2, Role.POSSIBLE), (10, Role.CULPRIT)])
def test_of_two_nodes_that_are_late_alike_none_is_convicted(
    monkeypatch: pytest.MonkeyPatch, per_node: int, role: Role
) -> None:
    """Pipeline stages beside the slow one seem as late as it, where few operations are compared."""
    late = SimpleNamespace(
        delay_ms=np.array([720.0, 715.0, 680.0, *[1.0] * 17]), step_ms=4000.0,
        held_share=np.ones(20), matched=np.full(20, 99), offset_ms=np.zeros(20), num_steps=6,
    )  # fmt: skip
    monkeypatch.setattr(straggler, "measure", lambda _snapshot: late)
    case = make_case(20)
    case.snapshot.node_of = lambda rank: f"n{rank // per_node}"
    assert {claim.role for claim in find_stragglers(case)} == {role}
