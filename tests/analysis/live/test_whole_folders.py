"""Folders of stacks alone, and beside dumps and logs, through the whole analysis."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import triage
from tests.support.stack_texts import LOADER, REDUCE, Frame, py_spy_text, server_file
from triage.domain.report import Answer

COMPUTE: Sequence[Frame] = (
    ("augment", "augment.py", 96), ("main", "pretrain.py", 18), ("<module>", "pretrain.py", 43),
)  # fmt: skip
AFTER: Sequence[Frame] = (
    ("all_reduce", "torch/distributed/distributed_c10d.py", 3252),
    ("train_step", "pretrain.py", 29), *REDUCE[2:],
)  # fmt: skip


def write(folder: Path, stacks: Sequence[Sequence[Frame]], *, per_node: int = 4) -> Path:
    """One py-spy dump a rank under ``nodes/``."""
    for rank, frames in enumerate(stacks):
        own = folder / "nodes" / f"gpu{rank // per_node}"
        own.mkdir(parents=True, exist_ok=True)
        (own / f"rank_{rank}.txt").write_text(py_spy_text(4000 + rank, frames))
    return folder


def answer_to(folder: Path) -> Answer:
    return triage.analyze(folder).answer


def odd(frames: Sequence[Frame] = LOADER, rank: int = 5, count: int = 8) -> list[Sequence[Frame]]:
    return [frames if other == rank else REDUCE for other in range(count)]


def test_stacks_alone_give_a_whole_answer(tmp_path: Path) -> None:
    answer = answer_to(write(tmp_path, odd()))
    verdict = answer.verdict
    assert (verdict.kind, verdict.category, verdict.action) == ("hang", "host_stall", "investigate")
    assert 0.8 <= verdict.confidence <= 0.9
    assert verdict.cordon == ()
    (suspect,) = answer.suspects
    assert (suspect.node, suspect.ranks, suspect.role) == ("gpu1", (5,), "culprit")
    assert "main (pretrain.py:37)" in verdict.summary
    assert suspect.because[0].artifact == "nodes/gpu1/rank_5.txt"
    assert answer.victims.ranks == (0, 1, 2, 3, 4, 6, 7)
    assert answer.victims.nodes == ("gpu0",)
    assert {one.ranks: one.state for one in answer.stacks}[5,] == "data"
    assert answer.to_dict()["stacks"][0]["frames"][0] == "<module> (pretrain.py:43)"


def test_two_looks_are_surer(tmp_path: Path) -> None:
    once = answer_to(write(tmp_path / "once", odd()))
    for look in ("look_20260314_024000", "look_20260314_024030"):
        write(tmp_path / "twice" / look, odd())
    twice = answer_to(tmp_path / "twice")
    assert twice.verdict.confidence > once.verdict.confidence
    assert all(one.seen_twice for one in twice.stacks)


def test_a_job_that_moves_is_well_and_nobody_is_named(tmp_path: Path) -> None:
    write(tmp_path / "look_20260314_024000", odd())
    write(tmp_path / "look_20260314_024030", [AFTER] * 8)
    answer = answer_to(tmp_path)
    assert (answer.verdict.kind, answer.suspects) == ("healthy", ())


def test_a_rank_that_works_on_hangs_nobody(tmp_path: Path) -> None:
    other = (("augment", "augment.py", 99), *COMPUTE[1:])
    write(tmp_path / "look_20260314_024000", odd(COMPUTE))
    write(tmp_path / "look_20260314_024030", odd(other))
    answer = answer_to(tmp_path)
    assert answer.verdict.kind == "straggler"
    assert [one.role for one in answer.suspects] == ["possible"]


@pytest.mark.parametrize(
    "stacks",
    [
        pytest.param([REDUCE] * 8, id="all alike"),
        pytest.param([REDUCE] * 4 + [AFTER] * 4, id="two collectives"),
        pytest.param([LOADER], id="one rank"),
        pytest.param([LOADER, REDUCE], id="two ranks"),
    ],
)
def test_convicts_nobody_where_stacks_do_not_tell(
    tmp_path: Path, stacks: list[Sequence[Frame]]
) -> None:
    answer = answer_to(write(tmp_path, stacks))
    assert answer.verdict.kind in ("inconclusive", "hang")
    assert answer.verdict.confidence <= 0.6
    assert not [one for one in answer.suspects if one.role == "culprit"]


def test_all_alike_says_where_to_look(tmp_path: Path) -> None:
    answer = answer_to(write(tmp_path, [REDUCE] * 8))
    assert "no host is at fault" in answer.verdict.summary
    assert "power" in answer.verdict.summary
    assert answer.victims.ranks == ()


def test_a_file_of_the_debug_server_tells_who_sits_where(tmp_path: Path) -> None:
    bodies = [py_spy_text(4000 + rank, frames) for rank, frames in enumerate(odd(count=6))]
    (tmp_path / "pyspy_dump_20260314_024000.txt").write_text(server_file("pyspy_dump", bodies))
    answer = answer_to(tmp_path)
    assert [(one.node, one.ranks) for one in answer.suspects] == [("gpu-n03", (5,))]


def test_half_of_a_file_convicts_nobody_it_does_not_show(tmp_path: Path) -> None:
    folder = write(tmp_path, odd())
    (folder / "nodes" / "gpu0" / "rank_3.txt").write_text("Process 12: python x.py\nPython v3")
    answer = answer_to(folder)
    assert [one.ranks for one in answer.suspects] == [(5,)]


def test_the_worker_is_named_and_not_the_queue(tmp_path: Path) -> None:
    folder = write(tmp_path, odd())
    worker = (
        ("read_block", "shards.py", 58), ("__getitem__", "shards.py", 33),
        ("fetch", "torch/utils/data/_utils/fetch.py", 54),
        ("_worker_loop", "torch/utils/data/_utils/worker.py", 374), *LOADER[2:],
    )  # fmt: skip
    file = folder / "nodes" / "gpu1" / "rank_5.txt"
    more = f"\n{'-' * 80}\n" + py_spy_text(9000, worker, parent=4005)
    file.write_text(file.read_text() + more)
    answer = answer_to(folder)
    assert "read_block (shards.py:58) of a data-loader worker" in answer.verdict.summary
    assert answer.suspects[0].ranks == (5,)


def test_an_xid_at_the_place_of_the_odd_rank_is_the_cause(tmp_path: Path) -> None:
    folder = write(tmp_path, odd(COMPUTE))
    log = folder / "nodes" / "gpu1" / "kernel.log"
    log.write_text(
        "2026-03-14T02:40:00.100000+00:00 gpu1 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=4005,"
        " name=python, GPU has fallen off the bus.\n"
    )
    answer = answer_to(folder)
    assert answer.suspects[0].node == "gpu1"
    assert answer.verdict.category in ("gpu", "io_board")


def test_a_job_log_that_goes_well_to_its_end_is_believed(tmp_path: Path) -> None:
    folder = write(tmp_path, odd(COMPUTE))
    steps = "".join(
        f"2026-03-14 02:{at // 60:02}:{at % 60:02},000 INFO step {step}/200 loss 2.{step}\n"
        for step, at in ((k, 10 * k) for k in range(1, 201))
    )
    (folder / "train.log").write_text(steps + "2026-03-14 03:20:00,000 INFO training completed\n")
    answer = answer_to(folder)
    assert answer.suspects == ()


def test_that_all_wait_alike_takes_nothing_from_a_line_that_names_a_part(tmp_path: Path) -> None:
    folder = write(tmp_path, [REDUCE] * 8)
    log = folder / "nodes" / "gpu1" / "kernel.log"
    log.write_text(
        "2026-03-14T02:40:00.100000+00:00 gpu1 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=4005,"
        " name=python, GPU has fallen off the bus.\n"
    )
    alone = answer_to(folder / "nodes" / "gpu1" / "kernel.log")
    both = answer_to(folder)
    assert both.verdict.category == alone.verdict.category
    assert [one.node for one in both.suspects] == ["gpu1"]
