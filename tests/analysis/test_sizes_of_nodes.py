"""Where ranks sit, worked out from blocks, names and what the dumps count."""

import random
from pathlib import Path

import pytest

from simulator import simulate
from triage.analysis.dump_view import OF_ONE_RANK, view_dumps
from triage.analysis.facts.on_one_clock import with_world
from triage.analysis.placement.order_of_nodes import list_fitting_sizes
from triage.domain.job import Job
from triage.formats.gather import gather


@pytest.mark.parametrize(
    ("node_by_rank", "world", "sizes"),
    [
        pytest.param({0: "n0", 7: "n0", 8: "n1"}, 16, [8], id="blocks of eight"),
        pytest.param({0: "n0", 3: "n0", 8: "n2"}, 16, [4, 8], id="of four or eight"),
        pytest.param({0: "n0", 7: "n0", 6: "n1"}, 16, [], id="no blocks"),
        pytest.param({0: "n0", 8: "n1"}, 16, [], id="one rank of each tells no size"),
        pytest.param({0: "n0", 7: "n0"}, 16, [], id="one node"),
        pytest.param({0: "n0", 7: "n0", 8: "n1"}, None, [], id="a world of unknown size"),
        pytest.param({0: "n0", 5: "n0", 6: "n1"}, 16, [], id="a world of other blocks"),
    ],
)
def test_the_sizes_of_blocks_that_hold_all_known_ranks(
    node_by_rank: dict[int, str], world: int | None, sizes: list[int]
) -> None:
    assert list_fitting_sizes(node_by_rank, world) == sizes


@pytest.mark.parametrize(
    ("folder", "one_rank"),
    [
        ("rank_3", True), ("3", True), ("local_rank-0", True), ("gpu3", True), ("proc.7", True),
        ("gpu-node-3", False), ("n3", False), ("node3", False), ("rank", False),
    ],
)  # fmt: skip
def test_a_folder_for_each_process_is_no_node(folder: str, one_rank: bool) -> None:
    assert (OF_ONE_RANK.fullmatch(folder) is not None) is one_rank


def test_the_dumps_tell_how_many_ranks_there_are(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "job", ranks=16, entries=50)
    dumps = list((tmp_path / "job").rglob("*"))
    random.Random(1).shuffle(dumps)
    for one in [path for path in dumps if path.is_file() and path.suffix != ".json"][:3]:
        one.unlink()
    for facts in (tmp_path / "job").rglob("job.json"):
        facts.unlink()
    _, read, _, _, _ = gather([tmp_path / "job"], None, None)
    view, _ = view_dumps(read, Job(), None)
    assert view is not None
    case = view.case

    assert with_world(Job(), case).world_size == 16
    assert with_world(Job(world_size=32), case).world_size == 32
    assert with_world(Job(), None).world_size is None
