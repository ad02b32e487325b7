"""Looks beside dumps and lines: what they add, and what they must not."""

from dataclasses import replace

from tests.support.weighing import answer, claim, culprits, of, retry, stalled
from triage.domain.category import ANY_CAUSE, Category, Role, VerdictKind
from triage.domain.evidence import Kind
from triage.domain.finding import Finding


def gone(rank: int) -> Finding:
    """RAS says that a process does not answer: of what it died nothing says."""
    return replace(
        claim(rank, category=Category.NCCL_TIMEOUT, strength=0.85),
        detector="ras.unresponsive",
        of_looks=True,
        explained_by=ANY_CAUSE,
    )


def all_wait() -> Finding:
    return Finding(
        "stacks.all_alike",
        VerdictKind.HANG,
        Category.NCCL_TIMEOUT,
        (),
        0.5,
        Role.POSSIBLE,
        "all ranks wait",
        (),
        explained_by=ANY_CAUSE,
        of_looks=True,
    )


def test_what_a_process_died_of_is_said_by_the_lines_of_its_node() -> None:
    maintenance = of(Category.HOST_MAINTENANCE, Kind.SCHEDULER, weak=True)
    said = answer(maintenance, findings=[gone(29)])
    assert culprits(said) == ["n3"]
    assert said.verdict.category is Category.HOST_MAINTENANCE


def test_a_process_that_is_gone_is_named_where_no_line_says_why() -> None:
    said = answer(findings=[gone(29)])
    assert culprits(said) == ["n3"]
    assert said.verdict.category is Category.NCCL_TIMEOUT


def test_the_lines_of_another_node_do_not_say_what_it_died_of() -> None:
    elsewhere = of(Category.HOST_MAINTENANCE, Kind.SCHEDULER, "n5", weak=True)
    said = answer(elsewhere, findings=[gone(29)])
    assert said.suspects[0].node == "n3"
    assert said.suspects[0].category is Category.NCCL_TIMEOUT


def test_that_all_wait_is_one_fact_whoever_shows_it() -> None:
    lines = [retry("n2", "n5"), retry("n2", "n5", 1.0)]
    by_dumps = answer(*lines, findings=[stalled()])
    by_both = answer(*lines, findings=[stalled(), all_wait()])
    assert by_both.suspects == by_dumps.suspects
    assert by_both.verdict.category is by_dumps.verdict.category
    assert by_both.verdict.confidence == by_dumps.verdict.confidence


def test_dumps_and_stacks_of_one_rank_are_two_sources() -> None:
    stack = replace(claim(29, strength=0.8), detector="stacks.odd_one", of_looks=True)
    one = answer(findings=[claim(29, strength=0.8)])
    two = answer(findings=[claim(29, strength=0.8), stack])
    assert two.suspects[0].node == one.suspects[0].node == "n3"
    assert two.verdict.confidence > one.verdict.confidence
