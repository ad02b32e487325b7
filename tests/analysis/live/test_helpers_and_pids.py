"""Helper processes beside the ranks of a node, and process numbers that look like ranks."""

from dataclasses import replace

from tests.support.stacks import case_of, look, thread
from triage.analysis.live.case import LiveCase
from triage.analysis.placement.identity import JobPlacement

TRAIN = "all_reduce (torch/distributed/c10d.py:77) step (train.py:30) main (train.py:140)"
HELPER = "accept (socket.py:290) serve (gpu_exporter.py:40) main (gpu_exporter.py:7)"


def case_with(helpers: int, *, trainers: int = 4) -> LiveCase:
    """Four ranks are known to be on n0; no stack says which it is."""
    stacks = [TRAIN] * trainers + [HELPER] * helpers
    ones = [thread(None, text, pid=100 + k, node="n0") for k, text in enumerate(stacks)]
    homes = dict.fromkeys(range(4), "n0")
    fleet = JobPlacement(node_by_rank=homes, seated=frozenset({"n0"}), world_size=4)
    return replace(case_of(look(ones), world=4), fleet=fleet)


def test_processes_beyond_the_ranks_of_a_node_are_helpers() -> None:
    for helpers in (1, 2):
        shown = case_with(helpers).picture
        assert len(shown.ranks) == 4
        assert {one.frames[-1].filename for one in shown.ranks} == {"train.py"}


def test_where_no_program_has_as_many_as_there_are_ranks_nobody_is_set_aside() -> None:
    assert len(case_with(2, trainers=3).picture.ranks) == 5


def test_no_rank_is_beyond_the_world() -> None:
    case = case_of(look([thread(4445, TRAIN, pid=4445, node="n0")]), world=4)
    assert case.rank_by_pid == {}
    assert [one.rank for one in case.picture.ranks] in ([], [None])
