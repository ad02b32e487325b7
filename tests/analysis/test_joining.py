"""All sources together: who is named when logs and dumps, or logs alone, speak."""

from dataclasses import dataclass, replace

import pytest

from tests.support.weighing import (
    NODES,
    STOP,
    Placement,
    T,
    answer,
    claim,
    culprits,
    of,
    retry,
    row,
    watchdog,
)
from triage.analysis.facts.stop import SECOND, Stop, When
from triage.analysis.facts.told_together import with_common_losses
from triage.analysis.joining.causes import find_causes, is_quoted
from triage.analysis.joining.claims import is_on_many
from triage.analysis.joining.consequences import find_explanations
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.place import Outside
from triage.analysis.placement.topology import JobTopology
from triage.domain.category import Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Trait


def test_a_fatal_error_at_the_stop_convicts_its_node_and_gpu():
    said = answer(row(), *(watchdog(rank) for rank in range(24)))
    assert culprits(said) == ["n3"]
    assert said.verdict.category is Category.GPU
    assert said.suspects[0].gpus == ("0000:50:00",)
    assert said.suspects[0].ranks == (29,)


def test_the_error_of_last_week_convicts_nobody():
    said = answer(row(at_s=-7 * 86400), *(watchdog(rank) for rank in range(24)))
    assert culprits(said) == []
    assert said.verdict.cordon == ()


def test_a_stale_error_does_not_stand_beside_the_fresh_one():
    said = answer(row("n5", at_s=-7 * 86400), row("n3"))
    assert culprits(said) == ["n3"]


def test_the_waits_and_the_error_on_one_gpu_agree():
    alone = answer(row())
    both = answer(row(), findings=[claim(29)])
    assert culprits(both) == ["n3"]
    assert both.verdict.category is Category.GPU
    assert both.suspects[0].ranks[0] == 29
    assert both.suspects[0].score > alone.suspects[0].score


def test_consequences_alone_convict_nobody():
    said = answer(
        row(role=EvidenceRole.CONSEQUENCE, code=45), *(watchdog(rank) for rank in range(64))
    )
    assert said.suspects == ()
    assert said.verdict.category is Category.NCCL_TIMEOUT


def test_a_healthy_job_is_silent_whatever_its_kernels_say():
    fine = Stop(None, None, known=False, trouble=False, job_seen=True)
    said = answer(row(), stop=fine)
    assert said.suspects == ()
    assert said.verdict.cordon == ()
    assert said.verdict.category is Category.NONE


@pytest.mark.parametrize("category", [Category.STORAGE, Category.SOFTWARE_USER])
def test_what_every_node_shows_at_once_is_in_none_of_them(category):
    said = answer(*(of(category, Kind.PYTHON, f"n{k}", k / 10) for k in range(8)))
    assert said.suspects == ()
    assert said.verdict.category is category


def test_a_server_that_two_nodes_lose_holds_up_a_third():
    lost = [of(Category.STORAGE, Kind.STORAGE, f"n{k}", k / 10, blame=Blame.SHARED)
            for k in (1, 2)]  # fmt: skip
    said = answer(*lost, findings=[claim(29)])
    assert culprits(said) == []
    assert said.verdict.category is Category.STORAGE
    assert culprits(answer(lost[0], findings=[claim(29)])) == ["n3"]


def test_a_program_that_crashes_everywhere_is_on_no_node_in_whatever_words():
    rows = [of(Category.SOFTWARE_USER, Kind.PYTHON, f"n{k}", k / 10) for k in range(4)]
    rows[3] = of(Category.SOFTWARE_FRAMEWORK, Kind.CUDA, "n3", 0.5, weak=True)
    said = answer(*rows, findings=[claim(29)])
    assert culprits(said) == []
    assert said.verdict.category is Category.SOFTWARE_USER


def test_the_first_by_far_to_raise_is_named_though_all_raise_later():
    rows = [of(Category.SOFTWARE_USER, Kind.PYTHON, f"n{k}", 30 + k / 10) for k in range(8)]
    rows[3] = of(Category.SOFTWARE_USER, Kind.PYTHON, "n3", 0, text="KeyError: 'labels'")
    assert answer(*rows).suspects[0].node == "n3"


def test_who_says_the_same_as_all_others_is_not_the_first_by_its_clock():
    rows = [of(Category.SOFTWARE_USER, Kind.PYTHON, f"n{k}", 30 + k / 10) for k in range(8)]
    rows[3] = of(Category.SOFTWARE_USER, Kind.PYTHON, "n3", 0)
    assert culprits(answer(*rows)) == []


def test_who_raises_minutes_before_all_others_has_another_clock():
    rows = [of(Category.SOFTWARE_USER, Kind.PYTHON, f"n{k}", k / 10) for k in range(8)]
    rows[3] = of(Category.SOFTWARE_USER, Kind.PYTHON, "n3", -240)
    stop = replace(STOP, start_ns=T - 240 * SECOND)
    assert culprits(answer(*rows, stop=stop)) == []


def test_nothing_but_hardware_is_cordoned():
    said = answer(of(Category.HOST_OOM, Kind.OOM), findings=[claim(29)])
    assert said.verdict.category is Category.HOST_OOM
    assert said.verdict.cordon == ()


CHAINS = [
    ("a dead GPU's controller", row(code=79), row(at_s=40, code=119, category=Category.GPU_GSP)),
    ("a lost port before the GPU",
     of(Category.IO_BOARD, Kind.PCIE, at_s=-0.1), row(code=79)),
    ("a disk and its file system",
     of(Category.SSD, Kind.STORAGE), of(Category.STORAGE, Kind.STORAGE, at_s=3)),
    ("a memory error told twice",
     row(code=48, category=Category.GPU_HBM), row(at_s=0.2, code=94, category=Category.GPU_HBM)),
    ("an adapter and its link",
     of(Category.NIC, Kind.NIC), of(Category.NETWORK, Kind.LINK, at_s=1)),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "effect"), [c[1:] for c in CHAINS], ids=[c[0] for c in CHAINS])
def test_a_consequence_is_explained_by_its_cause(cause, effect):
    assert find_explanations([cause, effect]) == {1: 0}
    assert find_explanations([effect, cause]) == {0: 1}


def test_a_memory_error_on_another_gpu_is_not_explained():
    first = row(code=48, category=Category.GPU_HBM)
    other = row(at_s=1, code=94, category=Category.GPU_HBM, gpu="0000:60:00")
    assert find_explanations([first, other]) == {}


def test_an_effect_long_before_its_cause_is_none():
    late = row(code=48, category=Category.GPU_HBM)
    assert find_explanations([late, row(at_s=-100, code=63, category=Category.GPU_HBM)]) == {}


def test_all_gpus_lost_at_once_are_one_cause_under_them():
    rows = [row(gpu=f"0000:{k}0:00") for k in range(8)]
    (one,) = find_causes(rows, JobTopology(Placement(), NODES, {}), STOP)
    assert one.category is Category.CHASSIS
    assert len(one.gpus) == 8


@pytest.mark.parametrize(
    ("at_s", "when"),
    [(0, When.AT), (-60, When.AT), (-600, When.BEFORE), (-8000, When.STALE), (60, When.AFTER)],
)
def test_times_are_held_against_the_stop(at_s, when):
    assert STOP.when(T + at_s * SECOND) is when


def test_the_order_of_evidence_does_not_matter():
    rows = [row(), row("n5", at_s=-700), of(Category.NETWORK, Kind.LINK, "n1", 2.0), watchdog(3)]
    assert answer(*rows) == answer(*reversed(rows))


def test_an_undated_error_does_not_convict_beside_a_dated_one():
    said = answer(row("n5", at_s=None), of(Category.NIC, Kind.NIC, "n3"))
    assert culprits(said) == ["n3"]
    assert said.verdict.cordon in ((), ("n3",))


def test_an_undated_error_alone_is_named_but_cordons_nobody():
    said = answer(row("n5", at_s=None), *(watchdog(rank) for rank in range(24)))
    assert culprits(said) == ["n5"]
    assert said.verdict.cordon == ()


def test_an_old_error_explains_nothing_that_the_job_tells_without_a_time():
    old = row("n5", at_s=-9 * 3600, code=48, category=Category.GPU_HBM)
    undated = [retry("n5", "n2", None), retry("n1", "n2", None), retry("n7", "n2", None)]
    said = answer(old, *undated)
    assert said.verdict.category is Category.NETWORK
    assert said.suspects[0].node == "n2"


def no_gpu(node: str, signature: str = "cuda.init_error") -> Evidence:
    base = of(Category.DEPENDENCY, Kind.CUDA, node, artifact=f"nodes/{node}/job.log")
    traits = frozenset({Trait.GPU_NOT_STARTED})
    return replace(
        base, signature=signature, text="CUDA driver initialization failed", traits=traits
    )


def test_what_starts_on_all_nodes_but_one_is_that_nodes_gpu():
    said = answer(no_gpu("n3"))
    assert said.verdict.category is Category.GPU
    assert culprits(said) == ["n3"]
    assert said.verdict.cordon == ()


def test_what_starts_nowhere_is_the_image():
    said = answer(*(no_gpu(f"n{k}") for k in range(8)))
    assert said.verdict.category is Category.DEPENDENCY
    assert culprits(said) == []


def test_wrong_numbers_everywhere_follow_from_the_gpu_that_computes_wrong():
    wrong = of(Category.SDC, Kind.NUMERICS, "n3", 0.0)
    everywhere = [
        of(Category.NUMERICAL, Kind.NUMERICS, f"n{k}", 1.0, blame=Blame.NOBODY) for k in range(4)
    ]
    said = answer(wrong, *everywhere)
    assert (culprits(said), said.verdict.category) == (["n3"], Category.SDC)
    said = answer(replace(wrong, weak=True), *everywhere)
    assert (culprits(said), said.verdict.category) == ([], Category.NUMERICAL)


def silent_server(node: str, at_s: float) -> Evidence:
    return of(Category.STORAGE, Kind.STORAGE, node, at_s, weak=True, blame=Blame.SHARED,
              traits=frozenset({Trait.GENERIC}))  # fmt: skip


def test_general_words_on_many_nodes_at_the_stop_are_no_chance():
    many = [silent_server(f"n{k}", float(k)) for k in (0, 1, 2, 5)]
    said = answer(*many, findings=[claim(29)])
    assert (culprits(said), said.verdict.category) == ([], Category.STORAGE)
    for few in (many[:2], [silent_server(f"n{k}", -7200.0 * k) for k in (1, 2, 5)]):
        assert culprits(answer(*few, findings=[claim(29)])) == ["n3"]


@pytest.mark.parametrize(("count", "convicted"), [(64, []), (20, ["n3"]), (1, ["n3"])])
def test_an_error_that_all_ranks_print_in_one_log_is_in_no_node(count, convicted):
    raised = of(Category.SOFTWARE_USER, Kind.PYTHON, None, None, count=count,
                artifact="slurm-1.out")  # fmt: skip
    said = answer(raised, findings=[claim(29)])
    assert culprits(said) == convicted


def test_a_chassis_takes_all_ranks_of_its_node():
    said = answer(of(Category.CHASSIS, Kind.POWER, "n3"))
    assert said.suspects[0].ranks == tuple(range(24, 32))


@dataclass
class Unseated(Placement):
    """Nobody says where a rank sits."""

    def node_of(self, rank: int) -> str | None:
        return None

    def rank_of_gpu(self, node: str, gpu: str) -> int | None:
        return None


def test_a_rank_without_a_seat_is_on_the_one_node_that_fails_at_the_stop():
    said = answer(row(), findings=[claim(29)], placement=Unseated())
    assert [(one.node, one.ranks[:1]) for one in said.suspects] == [("n3", (29,))]


@pytest.mark.parametrize(
    ("rows", "claims"),
    [
        pytest.param([row(at_s=None)], [claim(29)], id="no clock dates the failure"),
        pytest.param([row(), row("n5")], [claim(29)], id="two nodes fail"),
        pytest.param([row()], [claim(29), claim(3)], id="two ranks are named"),
    ],
)
def test_a_rank_without_a_seat_stays_without_one(rows, claims):
    said = answer(*rows, findings=claims, placement=Unseated())
    assert not any(one.node and 29 in one.ranks for one in said.suspects)


@pytest.mark.parametrize(("node", "category"), [("n3", "software_user"), ("n1", "nccl_timeout")])
def test_beside_a_missing_file_the_one_cause_of_its_node_is_said(node, category):
    gap = replace(claim(29, "fr.no_dump", Category.NCCL_TIMEOUT, 0.75), is_gap=True)
    weak = of(Category.SOFTWARE_USER, Kind.PYTHON, node, None, weak=True)
    said = answer(weak, findings=[gap])
    assert (said.suspects[0].node, said.verdict.category) == ("n3", category)


@pytest.mark.parametrize(
    ("blame", "at_s", "many"),
    [(Blame.SHARED, 1.0, True), (Blame.SELF, 1.0, False), (Blame.SHARED, -3000.0, False)],
)
def test_many_complain_only_of_what_they_share_and_at_the_stop(blame, at_s, many):
    rows = tuple(of(Category.STORAGE, Kind.STORAGE, f"n{k}", at_s, blame=blame) for k in (0, 1, 2))
    assert is_on_many(Hypothesis(Category.STORAGE, Outside(), rows), STOP) is many


GENERAL = {"traits": frozenset({Trait.GENERIC})}


@pytest.mark.parametrize(
    ("first", "second", "apart_s", "together"),
    [
        ({}, {}, 12.0, True),
        ({"peer": "store-1"}, {"peer": "store-1"}, 12.0, True),
        ({"peer": "store-1"}, {"peer": "store-2"}, 12.0, False),
        ({}, {"signature": "network_storage.gpfs"}, 12.0, False),
        ({}, {}, 61.0, False),
        ({}, {"node": "n1"}, 12.0, False),
        (GENERAL, GENERAL, 1.0, False),
    ],
    ids=["the same words", "one server", "two servers", "other words", "a minute apart",
         "one node", "general words"],
)  # fmt: skip
def test_two_nodes_lose_what_they_share_together(first, second, apart_s, together):
    lost = of(Category.STORAGE, Kind.STORAGE, "n1", 1.0, weak=True, blame=Blame.SHARED)
    later = replace(lost, node="n2", at_ns=lost.at_ns + int(apart_s * SECOND))
    rows = tuple(with_common_losses((replace(lost, **first), replace(later, **second)), 64))
    assert is_on_many(Hypothesis(Category.STORAGE, Outside(), rows), STOP) is together


def sxid(node: str, at_s: float = 0.0) -> Evidence:
    return row(
        node, at_s, signature="nvswitch.sxid", kind=Kind.SXID, code=19084, gpu=None,
        role=EvidenceRole.CONSEQUENCE, traits=frozenset({Trait.ROOT_WHEN_ALONE}),
    )  # fmt: skip


def test_a_fatal_error_of_a_switch_is_the_cause_where_nothing_else_is():
    assert answer(sxid("n3")).verdict.category is Category.NVLINK
    beside = row("n3", -5.0, code=48, category=Category.GPU_HBM)
    assert find_explanations([beside, replace(sxid("n3"), role=EvidenceRole.ROOT)]) == {1: 0}


def test_what_a_health_check_found_is_no_quotation():
    told = row(
        weak=True,
        traits=frozenset({Trait.QUOTABLE}),
        text="nhc[8]: ERROR:  nhc:  Health check failed:  check_gpu_health: GPU 5 is lost",
    )
    assert not is_quoted(told)
    assert is_quoted(replace(told, text="step 7: saw 'GPU has fallen off the bus' in the mail"))


def test_what_all_ranks_of_the_only_node_say_is_in_no_node():
    rows = [
        of(Category.SOFTWARE_USER, Kind.PYTHON, "n0", k / 10, rank=k, text=f"KeyError: sample {k}")
        for k in range(8)
    ]
    assert culprits(answer(*rows, placement=Placement(nodes=1))) == []
    assert culprits(answer(rows[0], placement=Placement(nodes=1))) == ["n0"]


@pytest.mark.parametrize("learned", [False, True], ids=["a weak signature", "the reader"])
@pytest.mark.parametrize("category", [Category.GPU, Category.CHASSIS])
def test_a_weak_line_at_the_stop_makes_no_news_of_a_fault_of_another_day(
    category: Category, *, learned: bool
) -> None:
    """Near by: with the fault at the stop the node is convicted, and taken out."""
    line = of(category, Kind.GPU, "n3", weak=True)
    if learned:
        fields = {"score": "0.95", "like": "a tool"}
        line = replace(line, traits=frozenset({Trait.UNFAMILIAR}), fields=fields)
    old = answer(row("n3", -7 * 86400), line)
    assert (culprits(old), old.verdict.cordon) == ([], ())
    now = answer(row("n3", 1.0), line)
    assert (culprits(now), now.verdict.cordon) == (["n3"], ("n3",))


@pytest.mark.parametrize("learned", [True, False])
def test_the_reader_alone_places_an_error_only_possibly(*, learned: bool) -> None:
    fatal = of(Category.HOST_OOM, Kind.PYTHON, None, also=(Category.HOST_MEMORY,))
    told = of(Category.HOST_MEMORY, Kind.MEMORY, "n3", weak=learned)
    if learned:
        fields = {"score": "0.95", "like": "a tool"}
        told = replace(told, traits={Trait.UNFAMILIAR, Trait.FOUND_OUT}, fields=fields)
    said = answer(fatal, told)

    assert [(one.node, one.category) for one in said.suspects] == [("n3", Category.HOST_MEMORY)]
    assert culprits(said) == ([] if learned else ["n3"])
    assert not learned or said.verdict.confidence <= 0.6
