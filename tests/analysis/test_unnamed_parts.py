"""Which part of a place it was, where the loudest witness does not say it."""

from dataclasses import replace

from tests.support.weighing import (
    SECOND,
    STOP,
    Placement,
    T,
    answer,
    claim,
    culprits,
    of,
    row,
    stalled,
    watchdog,
)
from triage.analysis.facts.of_the_job import NEAR_PIDS, is_a_strangers
from triage.analysis.facts.stop import When
from triage.analysis.joining.causes import find_causes
from triage.analysis.joining.open_parts import tell_unnamed_ones
from triage.analysis.joining.place import AtNode
from triage.analysis.placement.topology import JobTopology
from triage.domain.category import Category, Role
from triage.domain.evidence import Blame, Evidence, Kind, Trait
from triage.domain.finding import Finding

NODES = [f"n{k}" for k in range(8)]


def gap(rank: int = 29) -> Finding:
    """The peers of a rank wait, and its file is missing."""
    return replace(claim(rank, "fr.no_dump", strength=0.8), is_gap=True)


def report_of_a_gpu(at_s: float | None = None, **more: object) -> Evidence:
    return of(
        Category.GPU_HBM, Kind.GPU, at_s=at_s, weak=True, text="SRAM uncorrectable: 3",
        traits=frozenset({Trait.OF_A_REPORT}), **more,
    )  # fmt: skip


def test_the_part_that_a_firm_line_names_is_why_the_file_is_missing():
    said = answer(of(Category.SSD, Kind.STORAGE, at_s=None), findings=[gap()])
    assert (said.suspects[0].node, said.suspects[0].category) == ("n3", Category.SSD)


def test_a_part_elsewhere_is_not_why_the_file_is_missing():
    said = answer(of(Category.SSD, Kind.STORAGE, "n5", at_s=None), findings=[gap()])
    assert said.suspects[0].node == "n3"
    assert said.suspects[0].category is not Category.SSD


def test_a_part_of_last_week_is_not_why_the_file_is_missing():
    said = answer(of(Category.SSD, Kind.STORAGE, at_s=-7 * 86400), findings=[gap()])
    assert said.suspects[0].category is not Category.SSD


def test_a_tool_and_the_process_on_the_gpu_are_two_sources():
    report = replace(report_of_a_gpu(1.0), gpu="0000:50:00")
    failed = of(Category.GPU_HBM, Kind.CUDA, at_s=0.0, weak=True, rank=29)
    assert culprits(answer(report, failed)) == ["n3"]
    assert culprits(answer(report)) == []
    assert culprits(answer(failed)) == []


def test_the_same_fault_of_many_gpus_is_a_kernel_that_all_run():
    faults = [
        row(f"n{k}", k / 10, code=31, category=Category.SOFTWARE_USER, gpu="0000:50:00")
        for k in range(8)
    ]
    said = answer(*faults)
    assert (culprits(said), said.verdict.category) == ([], Category.SOFTWARE_FRAMEWORK)


def test_where_a_process_raises_an_error_of_its_own_it_is_the_program():
    faults = [
        row(f"n{k}", k / 10, code=31, category=Category.SOFTWARE_USER, gpu="0000:50:00")
        for k in range(7)
    ]
    own = of(Category.SOFTWARE_USER, Kind.PYTHON, "n7", 0.7, text="IndexError")
    assert answer(*faults, own).verdict.category is Category.SOFTWARE_USER


def lost_gpu(gpu: str) -> Evidence:
    return row(at_s=2.0, code=79, gpu=gpu)


def of_the_board(*rows: Evidence) -> tuple[int, ...]:
    """The ranks that the board's hypothesis names."""
    board = of(Category.IO_BOARD, Kind.PCIE)
    found = find_causes([board, *rows], JobTopology(Placement(), NODES, {}), STOP)
    [one] = [one for one in found if one.category is Category.IO_BOARD]
    return one.ranks


def test_the_rank_whose_gpu_a_lost_link_takes_is_the_one_that_it_hits():
    assert of_the_board(lost_gpu("0000:50:00")) == (29,)


def test_two_ranks_that_are_hit_are_not_one():
    assert of_the_board(lost_gpu("0000:50:00"), lost_gpu("0000:60:00")) == ()


def test_a_device_error_that_names_no_part_is_of_the_part_told_of_its_gpu():
    unnamed = of(Category.NCCL_TIMEOUT, Kind.CUDA, weak=True, rank=29)
    told = replace(of(Category.NVLINK, Kind.GPU, weak=True), gpu="0000:50:00")

    def parts(*rows: Evidence) -> set[Category]:
        grouped = {one.category or Category.NONE: [one] for one in rows}
        tell_unnamed_ones(grouped, AtNode("n3"), Placement())
        return set(grouped)

    assert parts(unnamed, told) == {Category.NVLINK}
    other = replace(told, category=Category.GPU_THERMAL)
    assert len(parts(unnamed, told, other)) == 3
    assert len(parts(replace(unnamed, rank=30), told)) == 2
    assert len(parts(replace(unnamed, kind=Kind.NCCL), told)) == 2


def raised(**more: object) -> Evidence:
    """What one process says, and no line says where it ran."""
    return of(Category.SOFTWARE_USER, Kind.PYTHON, None, 0.0, text="KeyError: 'labels'",
              artifact="slurm-1.out", **more)  # fmt: skip


def test_what_no_line_places_is_at_the_one_place_that_claims_name():
    said = answer(raised(), findings=[claim(29)])
    assert culprits(said) == ["n3"]
    assert said.verdict.category is Category.SOFTWARE_USER


def test_with_two_places_it_is_at_neither():
    said = answer(raised(), findings=[claim(29), claim(3)])
    assert not any(one.category is Category.SOFTWARE_USER for one in said.suspects)


def test_what_fails_at_that_place_itself_comes_first():
    said = answer(raised(), row(), findings=[claim(29)])
    assert said.verdict.category is Category.GPU


def test_a_health_check_that_finds_it_late_found_what_was_there():
    late = T + 700 * SECOND
    text = "nhc[812]: ERROR: nhc: Health check failed: check_gpu_health: GPU 0000:50:00.0"
    stop = replace(STOP, given_up_ns=STOP.end_ns)
    found = replace(row(at_s=700.0, text=text), error_ns=0)
    assert stop.of(found) is not When.TEARDOWN
    plain = replace(found, text="NVRM: Xid", last_at_ns=late)
    assert stop.of(plain) is not stop.of(found)


def test_a_process_whose_number_is_far_from_the_jobs_is_a_strangers():
    known = {"n3": [40_000, 40_007]}
    assert not is_a_strangers(row(pid=40_007 + NEAR_PIDS), known)
    assert is_a_strangers(row(pid=40_008 + NEAR_PIDS), known)
    assert is_a_strangers(row(pid=40_000 - NEAR_PIDS - 1), known)


QUIET = replace(STOP, known=False, trouble=False, start_ns=None, end_ns=T + SECOND)


def test_a_gpu_that_is_lost_behind_everything_else_ends_a_job_that_says_nothing():
    """No process complains, and nothing tells that the job went on."""
    assert culprits(answer(row(), stop=QUIET)) == ["n3"]


def test_a_weak_line_ends_no_quiet_job():
    assert culprits(answer(row(weak=True), stop=QUIET)) == []
    warned = of(Category.SOFTWARE_USER, Kind.PYTHON, text="KeyError")
    assert culprits(answer(warned, stop=QUIET)) == []


def device_error(rank: int, node: str = "n3", **more: object) -> Evidence:
    """``unspecified launch failure``: a device error that names no part."""
    error = of(Category.GPU, Kind.CUDA, node, 0.0, weak=True, rank=rank, **more)
    return replace(error, category=None, signature="cuda.launch_failure")


def test_a_device_error_of_one_rank_alone_is_its_gpus():
    said = answer(device_error(29), findings=[gap()])
    assert (said.suspects[0].node, said.verdict.category) == ("n3", Category.GPU)
    both = answer(device_error(29), device_error(5, "n0"), findings=[gap()])
    assert both.verdict.category is not Category.GPU


def test_a_report_behind_the_stop_and_a_collective_that_nobody_leaves_are_two_sources():
    """A GPU that dies in a collective leaves all of its ranks inside."""
    late = replace(report_of_a_gpu(620.0), gpu="0000:50:00")
    assert culprits(answer(late, findings=[stalled()])) == ["n3"]
    assert culprits(answer(late)) == []
    last_week = replace(report_of_a_gpu(-7 * 86400.0), gpu="0000:50:00")
    assert culprits(answer(last_week, findings=[stalled()])) == []


def misses(node: str, **more: object) -> Evidence:
    return of(Category.DEPENDENCY, Kind.DEPENDENCY, node, 0.0, text="ImportError: x.so",
              artifact=f"nodes/{node}/job.err", **more)  # fmt: skip


def test_where_one_node_is_heard_its_program_is_not_its_own_alone():
    many = misses("n3", count=8)
    assert culprits(answer(many)) == []
    assert answer(many).suspects[0].node == "n3"
    heard = replace(watchdog(3), traits=frozenset(), signature="nccl.result_remote")
    assert culprits(answer(many, heard)) == ["n3"]
    assert culprits(answer(misses("n3", rank=29))) == ["n3"], "one rank of it is not all"


def test_a_gpu_that_the_machine_could_not_start_is_the_one_that_the_job_lacks():
    lacks = of(Category.DEPENDENCY, Kind.DEPENDENCY, text="unknown device id",
               traits=frozenset({Trait.GPU_NOT_STARTED}))  # fmt: skip
    failed = row(at_s=-86400.0, code=None, signature="nvidia.init_failed", kind=Kind.PCIE)
    said = answer(lacks, failed)
    assert (culprits(said), said.verdict.category) == (["n3"], Category.GPU)


def test_a_program_that_fails_on_many_nodes_fails_on_the_one_without_a_log():
    raises = [
        of(Category.SOFTWARE_USER, Kind.PYTHON, f"n{k}", k / 10, rank=8 * k) for k in (0, 1, 2, 5)
    ]
    said = answer(*raises, findings=[claim(29)])
    assert (culprits(said), said.verdict.category) == ([], Category.SOFTWARE_USER)
    assert culprits(answer(*raises[:2], findings=[claim(29)])) == ["n3"]


def test_device_errors_on_many_nodes_at_the_stop_are_the_program():
    faults = [
        of(Category.SOFTWARE_FRAMEWORK, Kind.CUDA, f"n{k}", k / 10, weak=True, rank=8 * k)
        for k in range(5)
    ]
    said = answer(*faults, findings=[claim(29)])
    assert (culprits(said), said.verdict.category) == ([], Category.SOFTWARE_FRAMEWORK)
    general = [replace(one, traits=frozenset({Trait.GENERIC})) for one in faults]
    assert culprits(answer(*general, findings=[claim(29)])) == ["n3"]


def test_lines_of_a_list_that_stand_together_are_about_one_node():
    evicted = of(Category.STORAGE, Kind.SCHEDULER, None, None, artifact="events.txt")
    node = of(Category.STORAGE, Kind.SCHEDULER, "n3", None, weak=True, artifact="events.txt",
              fields={"said_of": "n3"})  # fmt: skip
    near = answer(replace(evicted, line=4), replace(node, line=3))
    assert near.suspects[0].node == "n3"
    far = answer(replace(evicted, line=40), replace(node, line=3))
    assert far.suspects == ()


def test_the_part_is_told_by_a_late_line_too_whatever_fails_elsewhere():
    elsewhere = of(Category.SSD, Kind.STORAGE, "n5", 0.0)
    for at_s in (300.0, None):
        said = answer(of(Category.NIC, Kind.NIC, at_s=at_s), elsewhere, findings=[gap()])
        assert (said.suspects[0].node, said.verdict.category) == ("n3", Category.NIC)


def test_a_dated_line_of_the_rank_that_left_no_dump_stands_before_one_line_elsewhere():
    own = of(Category.SOFTWARE_USER, Kind.PYTHON, at_s=0.5, weak=True, rank=29)
    elsewhere = replace(of(Category.SOFTWARE_USER, Kind.GPU, "n5", 0.0, rank=44), gpu="0000:50:00")
    said = answer(own, elsewhere, findings=[gap()])
    assert culprits(said) == ["n3"]


def test_a_weak_line_of_a_part_says_why_the_file_is_missing():
    weak = of(Category.NIC, Kind.NIC, at_s=0.0, weak=True)
    assert answer(weak, findings=[gap()]).verdict.category is Category.NIC
    assert answer(weak, findings=[claim(29)]).verdict.category is Category.HOST_STALL


def test_a_report_tells_the_part_of_the_error_of_its_gpu():
    unnamed = replace(device_error(29), at_ns=T + SECOND)
    told = replace(of(Category.NVLINK, Kind.GPU, weak=True, at_s=2.0), gpu="0000:50:00")
    said = answer(unnamed, told)
    assert (said.suspects[0].node, said.verdict.category) == ("n3", Category.NVLINK)


def test_a_process_started_with_the_jobs_is_its_own():
    assert not is_a_strangers(row(pid=41_500), {"n3": [40_000]})
    assert is_a_strangers(row(pid=43_000), {"n3": [40_000]})


def illegal(at_s: float, gpu: str = "0000:50:00", **more: object) -> Evidence:
    """Xid 13: of the program, but for a GPU that repeats it at one place of the chip."""
    return row(at_s=at_s, code=13, category=Category.SOFTWARE_USER, gpu=gpu,
               fields={"severity": "error", "place": "GPC 2, TPC 5, SM 1"}, **more)  # fmt: skip


def test_a_gpu_that_had_the_fault_on_other_days_too_is_to_blame():
    old, now = illegal(-3 * 86400.0, count=2), illegal(0.0, count=2)
    assert answer(old, now).verdict.category is Category.GPU
    assert answer(replace(now, count=4)).verdict.category is Category.SOFTWARE_USER


def test_a_fault_of_days_before_the_end_of_a_log_of_uptimes_is_of_another_day():
    now = illegal(0.0, count=2)
    fields = {**now.fields, "age_s": "200000", "log_s": "400000"}
    old = replace(now, at_ns=None, last_at_ns=None, fields=fields)
    assert answer(old, now).verdict.category is Category.GPU


def test_beside_the_gpu_that_repeats_one_other_may_fault():
    old, now = illegal(-3 * 86400.0, count=2), illegal(0.0, count=2)
    one, two = illegal(0.1, "0000:60:00"), illegal(0.2, "0000:70:00")
    assert answer(old, now, one).verdict.category is Category.GPU
    assert answer(old, now, one, two).verdict.category is not Category.GPU


def faults(node: str, at_s: float, gpus: int) -> list[Evidence]:
    return [
        row(node, at_s + k / 10, code=31, category=Category.SOFTWARE_USER, gpu=f"0000:{k}0:00")
        for k in range(gpus)
    ]


def test_what_many_gpus_of_one_node_fault_in_is_the_program():
    """The others fault too, by a clock that is minutes off."""
    said = answer(*faults("n3", 0.0, 4), *faults("n5", 400.0, 4))
    assert (culprits(said), said.verdict.category) == ([], Category.SOFTWARE_FRAMEWORK)
    assert answer(*faults("n3", 0.0, 2)).suspects[0].node == "n3"


def test_faults_of_another_day_are_not_counted_among_those_of_the_stop():
    said = answer(*faults("n3", 0.0, 2), *faults("n3", -86400.0, 6))
    assert said.suspects[0].node == "n3"


def test_the_one_file_that_is_missing_tells_which_of_several_ranks():
    """All ranks of a node print that memory failed; peers wait for one whose file is missing."""
    errors = [
        replace(of(Category.GPU_HBM, Kind.CUDA, at_s=k / 10, rank=rank), text="CUDA error: ECC")
        for k, rank in enumerate((26, 24, 31))
    ]
    assert answer(*errors, findings=[gap(29)]).suspects[0].ranks[0] == 29
    assert answer(errors[0], findings=[gap(29)]).suspects[0].ranks[0] == 26


def test_a_program_of_somebody_else_is_no_part_that_a_check_leaves_open():
    differs = of(Category.SDC, Kind.NUMERICS, rank=29, also=(Category.SOFTWARE_FRAMEWORK,))
    crash = of(Category.SOFTWARE_FRAMEWORK, Kind.LOCKUP, at_s=None, weak=True, text="segfault")
    assert answer(differs, crash).verdict.category is Category.SDC


def test_a_port_that_goes_and_the_transfers_to_it_that_fail_later_are_the_link():
    """Retries are exhausted while ranks wait, and the switch's clock is minutes off."""
    port = of(Category.NETWORK, Kind.LINK, "n6", 200.0, weak=True)
    fails = [
        of(Category.NETWORK, Kind.NCCL, f"n{k}", 100.0 + k, peer="n6", blame=Blame.PAIR, weak=True,
           artifact=f"nodes/n{k}/job.log")
        for k in (1, 2)
    ]  # fmt: skip
    assert culprits(answer(port, *fails, findings=[stalled()])) == ["n6"]
    assert culprits(answer(port, findings=[stalled()])) == []


def test_a_link_that_is_gone_for_certain_is_possible_by_whatever_clock():
    gone = row(at_s=660.0, code=74, category=Category.NVLINK)
    stop = replace(STOP, given_up_ns=STOP.end_ns)
    assert stop.of(gone) is When.TEARDOWN
    said = answer(gone, findings=[stalled()], stop=stop)
    assert [(one.node, one.role) for one in said.suspects] == [("n3", Role.POSSIBLE)]
    warned = replace(gone, fields={"severity": "error"})
    assert answer(warned, findings=[stalled()], stop=stop).suspects == ()


def test_several_transfers_to_one_node_in_a_fabric_that_stalls_name_it_as_possible():
    """The only other node of the job says so: which end it is nobody can tell."""
    fails = [
        of(Category.NETWORK, Kind.NCCL, "n1", k / 10, peer="n6", blame=Blame.PAIR, weak=True,
           rank=8 + k)
        for k in range(3)
    ]  # fmt: skip
    said = answer(*fails, findings=[stalled()])
    assert (culprits(said), said.suspects[0].role) == ([], Role.POSSIBLE)
    assert said.suspects[0].score <= 0.45


def test_who_tries_things_every_day_makes_no_error_of_the_job_late():
    tried = [
        row("n5", at_s, code=31, category=Category.SOFTWARE_USER, gpu="0000:20:00")
        for at_s in (-30.0, -5 * 86400.0)
    ]
    fatal = row("n3", 0.0, code=74, category=Category.NVLINK)
    once = answer(fatal, tried[0])
    daily = answer(fatal, *tried)
    assert daily.suspects[0].node == "n3"
    assert daily.suspects[0].score > once.suspects[0].score


def test_a_fault_that_the_jobs_own_process_does_not_speak_of_may_be_anybodys():
    [fault] = faults("n3", 0.0, 1)
    assert answer(fault).suspects[0].role is Role.POSSIBLE
    own = of(Category.SOFTWARE_USER, Kind.CUDA, weak=True, rank=24, text="CUDA error: illegal")
    assert culprits(answer(fault, replace(own, also=(Category.SOFTWARE_FRAMEWORK,)))) == ["n3"]
    assert culprits(answer(fault, stop=replace(STOP, job_seen=False))) == ["n3"]
    assert culprits(answer(fault, findings=[claim(24)])) == ["n3"]
