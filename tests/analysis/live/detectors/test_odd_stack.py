"""Odd stacks name the rank that stands elsewhere, and nobody who moves or waits."""

import pytest

from tests.support.stacks import (
    COMPUTE,
    DEVICE,
    HALL,
    LOADER,
    LOCK,
    MEET,
    REDUCE,
    SAVE,
    WORKER,
    case_of,
    frames,
    look,
    thread,
)
from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors.stacks import find_odd_stacks
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.look import Look, Tool


def found(case: LiveCase) -> list[Finding]:
    return list(find_odd_stacks(case))


def with_odd(stack: str, count: int = 8, rank: int = 5, rest: str = REDUCE) -> list[str]:
    stacks = [rest] * count
    stacks[rank] = stack
    return stacks


@pytest.mark.parametrize(
    ("stack", "line"),
    [
        pytest.param(LOADER, "data loader, called at main (train.py:37)", id="loader"),
        pytest.param(LOCK, "lock, thread or queue at flush_metrics (metrics.py:88)", id="lock"),
        pytest.param(SAVE, "checkpoint at save (ckpt.py:61)", id="checkpoint"),
        pytest.param(COMPUTE, "in augment (augment.py:96)", id="own code"),
        pytest.param(
            "destroy_process_group (torch/distributed/distributed_c10d.py:2146) end (train.py:50)",
            "shutting down while its peers are in a step, at end (train.py:50)",
            id="teardown",
        ),
        pytest.param(
            "interaction (pdb.py:360) trace_dispatch (bdb.py:90) step (train.py:20)",
            "breakpoint, at step (train.py:20)",
            id="breakpoint",
        ),
        pytest.param(
            "emit (logging/__init__.py:1114) report (train.py:70)", "log at report (train.py:70)",
            id="logging",
        ),
        pytest.param(
            "_recv_into (ssl.py:1100) get (urllib3/response.py:20) pull (objects.py:9)",
            "network input or output at pull (objects.py:9)",
            id="network",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("rest", [REDUCE, DEVICE], ids=["collective", "device"])
def test_names_the_rank_outside_and_its_line(stack: str, line: str, rest: str) -> None:
    (finding,) = found(case_of(look(with_odd(stack, rest=rest))))
    assert finding.ranks == (5,)
    assert finding.category is Category.HOST_STALL
    assert finding.role is Role.CULPRIT
    assert line in finding.summary
    assert any(line in reason.text for reason in finding.because)
    assert (finding.because[0].artifact, finding.because[0].line) == ("stacks.txt", 4)


def test_two_looks_at_one_place_are_worth_more_than_one() -> None:
    stacks = with_odd(LOADER)
    (once,) = found(case_of(look(stacks)))
    (twice,) = found(case_of(look(stacks, at_s=100), look(stacks, at_s=130)))
    assert once.strength < 0.9 < twice.strength
    assert "in two looks" in twice.because[0].text


@pytest.mark.parametrize("count", [2, 3, 4])
def test_few_ranks_say_less(count: int) -> None:
    (few,) = found(case_of(look(with_odd(LOADER, count, rank=1))))
    (many,) = found(case_of(look(with_odd(LOADER, 8))))
    assert few.strength <= many.strength
    assert (few.role is Role.CULPRIT) == (count > 2)


def two_looks(before: list[str], after: list[str]) -> LiveCase:
    return case_of(look(before, at_s=100), look(after, at_s=130))


def test_stays_silent_where_ranks_that_waited_went_on() -> None:
    assert not found(two_looks(with_odd(LOADER), with_odd(LOADER, rest=DEVICE)))


def test_a_rank_that_works_on_is_slow_at_most() -> None:
    other = COMPUTE.replace("96", "99")
    (finding,) = found(two_looks(with_odd(COMPUTE), with_odd(other)))
    assert finding.kind is VerdictKind.STRAGGLER
    assert finding.role is Role.POSSIBLE
    assert finding.strength < 0.5


@pytest.mark.parametrize(
    "stacks",
    [
        pytest.param([REDUCE] * 8, id="all in one collective"),
        pytest.param([DEVICE] * 7 + [REDUCE], id="all wait"),
        pytest.param([REDUCE] * 4 + [HALL] * 4, id="two collectives"),
        pytest.param([MEET] * 7 + [DEVICE], id="all meet"),
        pytest.param([COMPUTE] * 8, id="all in one line of the program"),
        pytest.param([COMPUTE] * 7 + [REDUCE], id="a crowd at one line, one in a collective"),
        pytest.param([LOADER] * 8, id="nobody waits for anybody"),
    ],
)
def test_names_nobody_among_ranks_that_wait(stacks: list[str]) -> None:
    assert not found(case_of(look(stacks)))


def test_one_outside_a_crowd_at_a_line_of_the_program_is_odd() -> None:
    item = "step (train.py:29) main (train.py:37) <module> (train.py:43)"
    (finding,) = found(case_of(look(with_odd(LOADER, rest=item))))
    assert finding.ranks == (5,)
    (sure,) = found(case_of(look(with_odd(LOADER))))
    assert finding.strength < sure.strength


def test_names_the_line_of_the_worker_and_not_the_queue() -> None:
    stacks = [thread(rank, text) for rank, text in enumerate(with_odd(LOADER))]
    worker = thread(None, WORKER, pid=77, parent_pid=1005, line=30)
    (finding,) = found(case_of(look([*stacks, worker])))
    assert "read_block (shards.py:58) of a data-loader worker" in finding.summary
    assert finding.because[0].line == 30


def test_a_worker_that_carries_the_rank_of_its_file_is_no_rank() -> None:
    stacks = [thread(rank, text) for rank, text in enumerate(with_odd(LOADER))]
    worker = thread(5, WORKER, pid=77, parent_pid=1005)
    (finding,) = found(case_of(look([*stacks, worker])))
    assert finding.ranks == (5,)
    assert "read_block" in finding.summary


def test_a_worker_without_work_says_nothing() -> None:
    idle = (
        "wait (multiprocessing/connection.py:947) get (multiprocessing/queues.py:113)"
        " _worker_loop (torch/utils/data/_utils/worker.py:300)"
    )
    stacks = [thread(rank, text) for rank, text in enumerate(with_odd(LOADER))]
    (finding,) = found(case_of(look([*stacks, thread(None, idle, pid=77, parent_pid=1005)])))
    assert "called at main (train.py:37)" in finding.summary


def test_the_thread_that_holds_the_interpreters_lock_is_named() -> None:
    stacks = [thread(rank, text) for rank, text in enumerate(with_odd(COMPUTE))]
    holder = thread(5, "compress (pack.py:19) run (threading.py:982)", is_main=False, owns_gil=True)
    (finding,) = found(case_of(look([*stacks[:6], holder, *stacks[6:]])))
    assert "(GIL) in compress (pack.py:19)" in finding.summary


def test_the_holder_is_named_also_where_a_rank_loads_its_data_itself() -> None:
    loads = "augment (augment.py:96) next_batch (pipeline.py:81) main (train.py:18)"
    stacks = [thread(rank, text) for rank, text in enumerate(with_odd(loads))]
    (alone,) = found(case_of(look(stacks)))
    assert "in augment (augment.py:96), on the way to its next batch" in alone.summary
    holder = thread(5, "compress (pack.py:19) run (threading.py:982)", is_main=False, owns_gil=True)
    (finding,) = found(case_of(look([*stacks[:6], holder, *stacks[6:]])))
    assert "(GIL) in compress (pack.py:19)" in finding.summary


def test_a_thread_that_runs_while_its_rank_waits_is_nobodys_holder() -> None:
    stacks = [thread(rank, REDUCE) for rank in range(8)]
    feeder = thread(3, "_feed (multiprocessing/queues.py:231)", is_main=False, owns_gil=True)
    assert not found(case_of(look([*stacks[:4], feeder, *stacks[4:]])))


def test_several_odd_places_share_what_is_believed() -> None:
    stacks = with_odd(LOADER)
    stacks[1] = LOCK
    findings = found(case_of(look(stacks)))
    (alone,) = found(case_of(look(with_odd(LOADER))))
    assert {finding.ranks for finding in findings} == {(1,), (5,)}
    assert all(finding.strength < alone.strength for finding in findings)


def test_beside_a_loader_that_stands_a_rank_in_its_code_is_only_possible() -> None:
    stacks = with_odd(LOADER)
    stacks[1] = COMPUTE
    loader, other = found(case_of(look(stacks)))
    assert (loader.ranks, loader.role) == ((5,), Role.CULPRIT)
    assert (other.ranks, other.role) == ((1,), Role.POSSIBLE)


def test_many_ranks_of_many_nodes_are_not_accused_one_by_one() -> None:
    stacks = [SAVE] * 20 + [REDUCE] * 44
    (finding,) = found(case_of(look(stacks)))
    assert finding.ranks == ()
    assert "20 ranks on 5 nodes" in finding.summary
    assert finding.advice


def test_the_common_node_of_the_odd_ranks_is_said() -> None:
    stacks = [REDUCE] * 4 + [LOADER] * 4 + [REDUCE] * 8
    (finding,) = found(case_of(look(stacks)))
    assert finding.ranks == (4, 5, 6, 7)
    assert any("all 4 ranks that stand there are on n1" in one.text for one in finding.because)


def kernel(rank: int, state: str = "D") -> Look:
    stack = frames(
        "rpc_wait_bit_killable (sunrpc) nfs_file_fsync (nfs) do_syscall_64 ()", native=True
    )
    one = thread(rank, REDUCE, state=state)
    from dataclasses import replace

    return look([replace(one, frames=stack)], f"proc/rank_{rank}.txt", tool=Tool.PROC)


def test_uninterruptible_sleep_in_a_file_system_is_storage() -> None:
    (finding,) = found(case_of(look(with_odd(SAVE)), kernel(5)))
    assert (finding.ranks, finding.category) == ((5,), Category.STORAGE)
    assert "nfs_file_fsync" in finding.summary


def test_a_file_system_that_fails_on_several_nodes_is_no_nodes() -> None:
    stacks = with_odd(SAVE)
    stacks[1] = SAVE
    (finding,) = found(case_of(look(stacks), kernel(5), kernel(1)))
    assert (finding.ranks, finding.category) == ((), Category.STORAGE)


def test_a_process_that_sleeps_in_a_file_system_is_not_held() -> None:
    assert not found(case_of(look([REDUCE] * 8), kernel(5, state="S")))


def test_launchers_are_no_ranks() -> None:
    stacks = [thread(rank, REDUCE) for rank in range(8)]
    agent = thread(8, "sleep (time.py:1) main (x.py:3)", command="/usr/bin/torchrun t.py")
    waits = thread(
        9, "_poll (torch/distributed/elastic/multiprocessing/api.py:100) main (train.py:3)"
    )
    assert not found(case_of(look([*stacks, agent, waits])))


def test_the_answer_does_not_depend_on_the_order_of_looks() -> None:
    stacks = with_odd(LOADER)
    looks = [look([thread(r, text)], f"rank_{r}.txt") for r, text in enumerate(stacks)]
    forward, backward = found(case_of(*looks)), found(case_of(*reversed(looks)))
    assert [one.ranks for one in forward] == [one.ranks for one in backward] == [(5,)]
    assert forward[0].strength == backward[0].strength
