"""What leaves open which part it was, or who, yields to what names it."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.analysis.facts.job_logs import answer as answer_log
from tests.analysis.facts.job_logs import clock, deepspeed, steps
from tests.support.weighing import (
    NODES,
    SECOND,
    STOP,
    Placement,
    T,
    answer,
    claim,
    culprits,
    of,
    retry,
    row,
    stalled,
)
from triage.analysis.detectors.p2p import _find_odd_in_ring
from triage.analysis.joining.bounds import Bound, list_bounds_by_rows
from triage.analysis.joining.causes import find_causes
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import AtNode, Outside, Unplaced
from triage.analysis.placement.topology import JobTopology
from triage.analysis.snapshots.p2p import Channel
from triage.domain.category import Category
from triage.domain.evidence import Evidence, Kind, Trait
from triage.report import read_rows

GSP = of(Category.GPU_GSP, Kind.XID)
DIED = of(Category.GPU, Kind.CUDA, text="CUDA error: unknown error", rank=29)


def learned(category: Category, score: str = "0.95", node: str = "n3", at_s: float = 0.0):
    return of(
        category, Kind.POWER, node, at_s, weak=True, traits=frozenset({Trait.UNFAMILIAR}),
        fields={"score": score, "like": "bmc"},
    )  # fmt: skip


@pytest.mark.parametrize(("late_s", "category"), [(90, "gpu_gsp"), (400, "gpu")])
def test_a_gsp_that_is_gone_explains_the_errors_before_its_time_out(
    late_s: int, category: str
) -> None:
    told = replace(GSP, at_ns=T + late_s * SECOND, last_at_ns=T + late_s * SECOND)
    assert answer(DIED, told).verdict.category == category


def lost(count: int) -> list[Evidence]:
    return [row(gpu=f"0000:{k}0:00") for k in range(count)]


class FourGpus(Placement):
    def ranks_on(self, node: str) -> list[int]:
        return super().ranks_on(node)[:4]


@pytest.mark.parametrize(
    ("count", "placement", "category"),
    [
        (1, FourGpus(), "gpu"),
        (3, FourGpus(), "io_board"),
        (4, FourGpus(), "chassis"),
        (4, Placement(), "io_board"),
        (6, Placement(), "chassis"),
    ],
)
def test_all_gpus_of_a_node_hang_on_its_chassis(
    count: int, placement: Placement, category: str
) -> None:
    assert answer(*lost(count), placement=placement).verdict.category == category


@pytest.mark.parametrize("part", [Category.CHASSIS, Category.POWER])
def test_what_is_told_of_the_whole_node_is_what_its_gpus_hang_on(part: Category) -> None:
    tells = of(part, Kind.THERMAL, weak=True)
    assert answer(*lost(2), tells).verdict.category == part
    old = replace(tells, at_ns=T - 7 * 86400 * SECOND, last_at_ns=T - 7 * 86400 * SECOND)
    assert answer(*lost(2), old).verdict.category == "io_board"


def test_peers_lose_a_node_that_surely_failed_by_itself() -> None:
    losses = [retry(f"n{k}", "n3", 20.0) for k in (1, 2, 5)]
    told = answer(learned(Category.POWER), *losses)
    assert (told.verdict.category, told.suspects[0].node) == ("power", "n3")
    assert told.verdict.confidence <= 0.6
    assert told.verdict.cordon == ()
    unsure = answer(learned(Category.POWER, "0.80"), *losses)
    assert unsure.verdict.category == "network"


def test_a_port_proves_no_node_where_peers_complain_of_another() -> None:
    port = of(Category.NETWORK, Kind.NCCL, "n3", text="port error")
    own = [port, retry("n1", "n3", 10.0)]
    assert answer(*own, findings=[stalled()]).verdict.cordon == ("n3",)
    others = [retry(f"n{k}", "n7", 10.0) for k in (1, 2, 4)]
    assert answer(*own, *others, findings=[stalled()]).verdict.cordon == ()


def test_of_several_faults_where_a_rank_is_gone_the_one_that_names_it_is_why() -> None:
    gone = replace(claim(29, "fr.no_dump", Category.NCCL_TIMEOUT, 0.6), is_gap=True)
    mine = of(Category.SOFTWARE_USER, Kind.PYTHON, rank=29, text="ArrowInvalid: column 3")
    other = of(Category.GPU_OOM, Kind.CUDA, rank=25, text="CUDA out of memory")
    assert answer(other, mine, findings=[gone]).verdict.category == "software_user"


def test_a_device_error_of_another_attempt_leaves_that_of_the_stop_alone() -> None:
    now = of(None, Kind.CUDA, "n3", rank=29, text="unspecified launch failure")  # type: ignore[arg-type]
    before = replace(now, node="n5", rank=44, at_ns=T - 3000 * SECOND, last_at_ns=None)
    assert answer(now, before).verdict.category == "gpu"
    at_once = replace(now, node="n5", rank=44)
    assert answer(now, at_once).verdict.category == "nccl_timeout"


def test_what_a_program_says_in_no_node_is_in_none_where_one_node_dates_it() -> None:
    text = "ConfigAttributeError: Key 'lr' is not in struct"
    said = [
        of(Category.SOFTWARE_USER, Kind.PYTHON, "n5", None, rank=rank, text=text)
        for rank in range(40, 48)
    ]
    dated = of(Category.SOFTWARE_USER, Kind.PYTHON, "n3", rank=29, text=text)
    topology = JobTopology(Placement(2), NODES, {})  # type: ignore[arg-type]
    (cause,) = find_causes([*said, dated], topology, STOP)
    assert isinstance(cause.place, Outside)
    other = replace(dated, text="KeyError: 'lr'")
    assert {type(c.place) for c in find_causes([*said, other], topology, STOP)} == {AtNode, Outside}


@pytest.mark.parametrize(
    ("late_s", "place", "weak", "bounded"),
    [
        (300, Unplaced(), True, True),
        (0, Unplaced(), True, False),
        (300, Unplaced(), False, False),
        (300, AtNode("n3"), True, False),
    ],
    ids=["after the stop", "at the stop", "with a reason", "of one node"],
)
def test_who_takes_a_job_down_after_it_stopped_is_not_why(
    late_s: int, place: Any, weak: bool, bounded: bool
) -> None:
    end = of(Category.HOST_MAINTENANCE, Kind.SCHEDULER, None, late_s, weak=weak)
    cause = Hypothesis(Category.HOST_MAINTENANCE, place, (end,))
    assert (Bound.TAKEN_DOWN in list_bounds_by_rows(cause, STOP, beside=False)) == bounded


CANCELLED = "slurmstepd: error: *** STEP 9.0 ON n1 CANCELLED AT 2026-11-20T09:20:00 ***"


@pytest.mark.parametrize(
    ("every", "behind", "kind"),
    [
        (14, CANCELLED, "straggler"),
        (10, CANCELLED, "crash"),
        (14, "[rank3]: KeyError: 'eval'\n" + CANCELLED, "crash"),
    ],
    ids=["slow", "as fast as before", "failed"],
)
def test_a_job_that_was_ended_while_it_was_slow_is_slow(
    every: int, behind: str, kind: str, tmp_path: Any
) -> None:
    lines = steps(deepspeed, 400, 40, 0)
    lines += [deepspeed(440 + k, 400 + every * (k + 1)) for k in range(30)]
    told = answer_log(tmp_path, [*lines, f"{clock(410 + every * 30)} {behind}"])
    assert str(told.verdict.kind) == kind, told.verdict.summary
    assert told.suspects == () or kind == "crash"


def odd_of(ends: dict[int, list[tuple[bool, int]]], members: range = range(8)) -> int | None:
    channels = [
        Channel(rank, peer, 0, send, False, False, True, None)
        for rank, own in ends.items()
        for send, peer in own
    ]
    snapshot = SimpleNamespace(groups=[SimpleNamespace(ranks=tuple(members))])
    case: Any = SimpleNamespace(snapshot=snapshot, graph=SimpleNamespace(channels=channels))
    return _find_odd_in_ring(case, channels)


RING = {rank: [(True, (rank + 1) % 8), (False, (rank - 1) % 8)] for rank in (0, 1, 6, 7)}


@pytest.mark.parametrize(
    ("ends", "odd"),
    [
        pytest.param({**RING, 7: [(True, 0), (False, 0)]}, 7, id="receives from its successor"),
        pytest.param(RING, None, id="a ring"),
        pytest.param({**RING, 0: [(True, 1)]}, None, id="the first stage of a pipeline"),
        pytest.param(
            {**RING, 7: [(True, 0), (False, 0)], 6: [(True, 7), (False, 0)]}, None, id="two odd"
        ),
        pytest.param({0: RING[0], 7: [(True, 0), (False, 0)]}, None, id="one against one"),
    ],
)
def test_the_rank_whose_ends_do_not_go_round_is_the_odd_one(
    ends: dict[int, list[tuple[bool, int]]], odd: int | None
) -> None:
    assert odd_of(ends) == odd


def test_a_heap_error_alone_convicts_nobody(tmp_path: Any) -> None:
    lines = [*steps(deepspeed, 400, 40, 0), "[rank3]: free(): invalid pointer"]
    told = answer_log(tmp_path, lines)
    assert not culprits(told), told.verdict.summary  # type: ignore[arg-type]
    (row_read,) = (one for one in read_rows(tmp_path) if one["signature"] == "python.heap")
    assert row_read["weak"]
