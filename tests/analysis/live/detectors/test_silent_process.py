"""Who did not answer the debug server is told apart by what it did not answer."""

import pytest

from tests.support.stacks import COMPUTE, REDUCE, case_of, look, replies
from triage.analysis.live.detectors.answers import find_silent_processes
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.look import Look


def found(*looks: Look) -> list[Finding]:
    return list(find_silent_processes(case_of(*looks)))


@pytest.mark.parametrize(
    ("asked", "words", "kind"),
    [
        pytest.param(
            {"ping": "y y y y", "fr_trace_json": "y y y y", "dump_traceback": "y 408 y y",
             "pyspy_dump": "y y y y"},
            "holds the interpreter's lock (GIL)", VerdictKind.HANG, id="holds the lock",
        ),
        pytest.param(
            {"ping": "y 408 y y", "dump_traceback": "y 408 y y", "pyspy_dump": "y 408 y y"},
            "stopped or frozen", VerdictKind.HANG, id="stopped",
        ),
        pytest.param(
            {"ping": "y 503 y y", "dump_traceback": "y 503 y y"},
            "nothing listens", VerdictKind.CRASH, id="gone",
        ),
        pytest.param(
            {"dump_traceback": "y 408 y y"}, "did not answer", VerdictKind.HANG, id="unclear",
        ),
    ],
)  # fmt: skip
def test_tells_why_a_process_is_silent(
    asked: dict[str, str], words: str, kind: VerdictKind
) -> None:
    (finding,) = found(*(replies(handler, kinds) for handler, kinds in asked.items()))
    assert (finding.ranks, finding.role, finding.kind) == ((1,), Role.CULPRIT, kind)
    assert words in finding.summary
    assert finding.because[0].line == 2


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"dump_traceback": "y y y y", "ping": "y y y y"}, id="all answered"),
        pytest.param({"torchcomms_health_check": "404 404 404 404"}, id="no such handler"),
        pytest.param({"pyspy_dump": "y 500 y y", "ping": "y y y y"}, id="py-spy not installed"),
        pytest.param({"dump_traceback": "408 408 408 408"}, id="nobody answered"),
        pytest.param({"dump_traceback": "y 408 408 408"}, id="most did not answer"),
        pytest.param({"dump_traceback": "y - y y"}, id="not asked"),
        pytest.param({"ping": "y 408 y y", "dump_traceback": "y y y y"}, id="one slow answer"),
    ],
)
def test_says_nothing_of_what_was_not_asked_well(asked: dict[str, str]) -> None:
    assert not found(*(replies(handler, kinds) for handler, kinds in asked.items()))


def test_quotes_the_line_that_py_spy_shows_of_the_holder() -> None:
    stacks = look([REDUCE, COMPUTE, REDUCE, REDUCE], "pyspy.txt")
    looks = [replies("ping", "y y y y"), replies("dump_traceback", "y 408 y y"), stacks]
    (finding,) = found(*looks)
    assert "augment (augment.py:96)" in finding.summary


def test_who_fell_silent_behind_another_is_only_possible() -> None:
    looks = [
        replies("dump_traceback", "y 408 y y", "1/stacks.txt"),
        replies("ping", "y y y y", "1/ping.txt"),
        replies("dump_traceback", "y 408 y 408", "2/stacks.txt"),
        replies("ping", "y y y 408", "2/ping.txt"),
        replies("dump_traceback", "y 408 503 408", "3/stacks.txt"),
        replies("ping", "y y 503 408", "3/ping.txt"),
    ]
    by_rank = {finding.ranks[0]: finding for finding in found(*looks)}
    assert by_rank[1].role is Role.CULPRIT
    assert by_rank[1].strength > max(by_rank[2].strength, by_rank[3].strength)
    assert {by_rank[2].role, by_rank[3].role} == {Role.POSSIBLE}
    assert by_rank[2].category is Category.NCCL_TIMEOUT


def test_a_rank_without_a_process_has_ended_and_answers_from_outside_say_nothing() -> None:
    """The kernel and py-spy answer for a process, whatever it does itself."""
    gone = found(replies("process", "y 503 y y"), replies("py_spy", "y y y y"))
    stopped = found(
        replies("ping", "y 408 y y"), replies("fr_trace_json", "y 408 y y"),
        replies("process", "y y y y"), replies("py_spy", "y y y y"), replies("proc", "y y y y"),
    )  # fmt: skip
    slow_tool = found(replies("process", "y y y y"), replies("py_spy", "y 408 y y"))

    assert [(one.ranks, one.kind) for one in gone] == [((1,), VerdictKind.CRASH)]
    assert "no process of it is there" in gone[0].summary
    assert ["stopped or frozen" in one.summary for one in stopped] == [True]
    assert slow_tool == []
