"""One switch fault of a rack, and its echoes on all its nodes."""

from dataclasses import replace

import pytest

from tests.support.weighing import row
from triage.analysis.facts.stop import SECOND
from triage.analysis.joining.causes import with_domain_roots
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import AtNode
from triage.domain.category import Category
from triage.domain.evidence import Evidence


def of(node: str, code: int, at_s: float | None, gpu: str = "0008:01:00") -> Hypothesis:
    told: Evidence = row(node, at_s, code=code, category=Category.NVLINK, gpu=gpu)
    return Hypothesis(Category.NVLINK, AtNode(node), (told,), gpus=(gpu,))


ROOT = of("n0", 149, 0.0, "0018:01:00")


@pytest.mark.parametrize("at_s", [0.0, -590.0, 590.0, None])
def test_echoes_of_a_root_are_explained_by_it_on_clocks_minutes_apart(at_s: float | None) -> None:
    [one] = with_domain_roots([of("n1", 145, at_s), ROOT])

    assert one.place == AtNode("n0")
    assert (one.gpus, one.followers) == (("0018:01:00",), 1)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(of("n1", 145, 601.0), id="minutes after"),
        pytest.param(of("n1", 145, -601.0), id="minutes before"),
        pytest.param(of("n1", 79, 0.0), id="no echo"),
        pytest.param(of("n1", 149, 0.0), id="a root itself"),
    ],
)
def test_what_is_no_echo_stays(other: Hypothesis) -> None:
    assert with_domain_roots([other, ROOT]) == [other, ROOT]


def test_what_the_driver_itself_says_came_of_it_is_an_echo_at_any_time() -> None:
    late = of("n1", 45, 3600.0)
    named = replace(late, rows=tuple(replace(one, parent_code=149) for one in late.rows))

    assert len(with_domain_roots([named, ROOT])) == 1
    assert len(with_domain_roots([late, ROOT])) == 2


def test_an_echo_stays_within_what_the_root_lasts() -> None:
    [told] = ROOT.rows
    lasting = replace(told, last_at_ns=(told.at_ns or 0) + 1000 * SECOND)
    root = replace(ROOT, rows=(lasting,))

    assert len(with_domain_roots([of("n1", 145, 1500.0), root])) == 1
