"""What stands beside a cause and must take nothing from it, and what nodes share."""

from dataclasses import replace

import pytest

from tests.support.weighing import answer, claim, culprits, of, row
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.evidence import Blame, Evidence, Kind, Trait
from triage.domain.finding import Finding
from triage.domain.report import Because

DAY_S = 86_400.0
# One GPU alone that repeats it is at fault itself.
GPUS = ("0000:10:00", "0000:30:00")


def raised(node: str = "n3", rank: int = 29, **given: object) -> Evidence:
    return of(
        Category.SOFTWARE_USER, Kind.PYTHON, node, 1.0, rank=rank,
        text="ValueError: the batch has another length", **given,
    )  # fmt: skip


def tried(at_s: float, node: str = "n3", code: int = 31, gpu: str = "0000:50:00") -> Evidence:
    """A program of somebody faults on a GPU; the driver alone says so."""
    return row(
        node, at_s, code=code, category=Category.SOFTWARE_USER, gpu=gpu, text=f"Xid {code}",
        fields={"severity": "error"},
    )  # fmt: skip


def all_entered() -> Finding:
    reason = Because("fr.fabric_stall", "all ranks entered it", "fr/rank_0")
    return Finding(
        "fr.fabric_stall", VerdictKind.HANG, Category.NCCL_TIMEOUT, (), 0.8, Role.POSSIBLE,
        "all ranks entered it and none gets through", (reason,),
        explained_by=frozenset(Category),
    )  # fmt: skip


def test_what_others_tried_before_takes_nothing_from_an_error_at_the_stop() -> None:
    alone = answer(raised())
    beside = answer(raised(), tried(-900.0), tried(-3 * DAY_S, code=13))

    assert culprits(alone) == culprits(beside) == ["n3"]
    assert beside.suspects[0].score >= 0.95 * alone.suspects[0].score


def test_programs_that_fail_on_every_day_are_no_cause() -> None:
    often = [tried(-k * DAY_S, gpu=GPUS[k % 2]) for k in range(4)]

    assert culprits(answer(*often)) == []
    assert answer(*often, findings=[claim(29)]).verdict.category is Category.HOST_STALL


def test_programs_that_fail_on_every_day_of_two_nodes_hide_no_fault() -> None:
    often = [tried(-k * DAY_S, node, gpu=GPUS[k % 2]) for k in range(4) for node in ("n3", "n5")]

    assert culprits(answer(row("n3", 5.0, gpu="0000:50:00"), *often)) == ["n3"]


def test_who_dies_behind_what_he_issued_explains_that_nobody_gets_through() -> None:
    said = answer(raised(), findings=[all_entered()])

    assert (culprits(said), said.verdict.category) == (["n3"], Category.SOFTWARE_USER)


def lost(node: str, at_s: float, server: str = "store-1") -> Evidence:
    return of(
        Category.STORAGE, Kind.STORAGE, node, at_s, peer=server, blame=Blame.SHARED, weak=True,
        text=f"nfs: server {server} not responding", traits=frozenset({Trait.GENERIC}),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("other", "named"),
    [
        pytest.param(lost("n5", 20.0), [], id="one server, within a minute"),
        pytest.param(lost("n5", 20.0, "store-2"), ["n3"], id="two servers"),
        pytest.param(lost("n5", 200.0), ["n3"], id="minutes later"),
        pytest.param(lost("n3", 20.0), ["n3"], id="one node"),
    ],
)
def test_two_nodes_that_lose_one_server_lost_it(other: Evidence, named: list[str]) -> None:
    """Rank 29 is stuck in its checkpoint: the server's fault, and no node's."""
    said = answer(lost("n3", -5.0), other, findings=[claim(29)])
    assert culprits(said) == named


def test_one_nodes_wait_for_a_server_stands_behind_ranks_that_others_wait_for() -> None:
    tries = of(
        Category.STORAGE, Kind.STORAGE, "n5", -60.0, weak=True, blame=Blame.SHARED,
        traits=frozenset({Trait.GENERIC}), text="nfs: server home not responding, still trying",
    )  # fmt: skip
    gaps = [replace(claim(rank, "fr.no_dump", strength=0.2), is_gap=True) for rank in (29, 17)]
    said = answer(tries, findings=gaps)
    assert {one.node for one in said.suspects} == {"n3", "n2"}
    assert culprits(said) == []
