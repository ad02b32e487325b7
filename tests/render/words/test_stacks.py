"""Stacks merge into one tree, as many ranks deep as pass through each call."""

from tests.render import answers
from triage.domain.report import StandingRanks
from triage.render.words.stacks import stack_lines, stack_tree


def test_calls_in_common_are_one_branch():
    tree = stack_tree(answers.standing(2).stacks)
    (module,) = tree.calls.values()
    assert (module.call, module.ranks) == ("<module> (train.py:43)", 502)
    (main,) = module.calls.values()
    assert sorted((one.ranks, one.call) for one in main.calls.values()) == [
        (1, "read (data0.py:0)"),
        (1, "read (data1.py:1)"),
        (500, "all_reduce (c10d.py:1)"),
    ]


def test_a_tree_of_thousands_of_calls_ends():
    places = [
        StandingRanks((k,), (), tuple(f"f{k}_{depth}" for depth in range(48)), "code")
        for k in range(64)
    ]
    seen, waiting = 0, [stack_tree(places)]
    while waiting:
        one = waiting.pop()
        seen += 1
        waiting += one.calls.values()
    assert seen <= 401


def test_no_stacks_are_no_lines():
    assert stack_lines(answers.culprit()) == []
