"""The decision: which nodes a start leaves out, what a tie costs, and what the record changes."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triage
from triage.analysis.restart.decide import StopCause, decide_restart
from triage.domain.category import HARDWARE, Action, Category, Role, VerdictKind
from triage.domain.report import Because, Suspect, Verdict
from triage.domain.restart import EarlierEnd, EarlierStarts, RestartDecision
from triage.report import explain

RESTART, WITHOUT = RestartDecision.RESTART, RestartDecision.RESTART_WITHOUT
STOP, WAIT = RestartDecision.STOP, RestartDecision.WAIT
INCIDENTS = Path(__file__).parents[2] / "incidents"
MINUTE = 60.0
NO_LINE = StopCause()


def verdict(category=Category.NCCL_TIMEOUT, kind=VerdictKind.CRASH, confidence=0.95) -> Verdict:
    return Verdict(kind, category, confidence, "It stopped.", Action.INVESTIGATE)


def suspect(node, category=Category.GPU, role=Role.CULPRIT, score=0.95) -> Suspect:
    because = (Because("kernel.xid", "Xid 79"),)
    return Suspect(1, node, (), (), category, score, role, Action.DRAIN_NODE, because)


def tie(*nodes, category=Category.NETWORK, score=0.45):
    return [suspect(node, category, Role.POSSIBLE, score) for node in nodes]


def ended(category, *minutes, nodes=(), now=1.0, restarts=None) -> EarlierStarts:
    """Earlier ends, newest first, each after so many minutes; this start ran ``now`` minutes."""
    return EarlierStarts(
        restarts,
        None if now is None else now * MINUTE,
        tuple(
            EarlierEnd(category, tuple(nodes), None if one is None else one * MINUTE)
            for one in minutes
        ),
    )


def decided(category, suspects=(), starts=None, num_nodes=64, cause=NO_LINE, **changes):
    said = verdict(category, **changes)
    found = decide_restart(said, suspects, num_nodes, cause, starts or EarlierStarts())
    assert found is not None
    return found


@pytest.mark.parametrize("category", [one for one in Category if one is not Category.STRAGGLER])
def test_every_category_gives_a_decision(category):
    found = decided(category)

    assert (found.retries_left == 0) is (found.decision is STOP)
    assert found.why.endswith(".")
    assert "\n" not in found.why


@pytest.mark.parametrize("category", sorted(HARDWARE))
def test_convicted_nodes_and_no_others_are_left_out(category):
    suspects = [
        suspect("n3", category), suspect("n7", category), suspect("n9", category, Role.POSSIBLE),
        suspect("n5", category, Role.AFFECTED), suspect("n6", Category.SOFTWARE_USER),
    ]  # fmt: skip

    found = decided(category, suspects)

    assert (found.decision, found.exclude, found.retries_left) == (WITHOUT, ("n3", "n7"), 3)


@pytest.mark.parametrize(
    ("suspects", "num_nodes", "decision", "exclude"),
    [
        (tie("n1", "n2"), 64, WITHOUT, ("n1", "n2")),
        (tie("n1", "n2"), None, WITHOUT, ("n1", "n2")),
        (tie("n1", "n2"), 8, WITHOUT, ("n1", "n2")),
        (tie("n1", "n2"), 4, RESTART, ()),
        (tie("n1", "n2", "n3"), 64, RESTART, ()),
        (tie("n1", score=0.3), 64, WITHOUT, ("n1",)),
        (tie("n1", score=0.1), 64, RESTART, ()),
        (tie(None), 64, RESTART, ()),
        ([], 64, RESTART, ()),
    ],
    ids=[
        "a pair of 64", "a pair of nobody knows how many", "a pair of 8", "a pair of 4", "three",
        "a single one", "hardly believed", "a rank without a node", "nobody",
    ],
)  # fmt: skip
def test_both_of_a_tie_are_left_out_where_that_is_cheap(suspects, num_nodes, decision, exclude):
    found = decided(Category.NETWORK, suspects, num_nodes=num_nodes, confidence=0.45)

    assert (found.decision, found.exclude) == (decision, exclude)


def test_a_name_that_no_host_can_have_is_not_left_out():
    found = decided(Category.GPU, [suspect("n3 --nodelist=all"), suspect("-x"), suspect("n3")])

    assert found.exclude == ("n3",)


def test_a_switch_is_waited_for():
    behind = [suspect(f"n{one}", Category.NETWORK, Role.AFFECTED) for one in range(16)]

    found = decided(Category.NETWORK, behind, cause=StopCause(outside=True))

    assert (found.decision, found.exclude) == (WAIT, ())


@pytest.mark.parametrize(
    ("num", "num_nodes", "decision"), [(1, 64, WITHOUT), (1, 1, WITHOUT), (2, 8, WITHOUT),
    (40, 64, STOP)],
)  # fmt: skip
def test_a_driver_that_fits_nowhere_is_no_nodes_fault(num, num_nodes, decision):
    suspects = [suspect(f"n{one}", Category.DEPENDENCY) for one in range(num)]
    cause = StopCause(("nvidia.version_mismatch",))

    found = decided(Category.DEPENDENCY, suspects, num_nodes=num_nodes, cause=cause)

    assert found.decision is decision


def test_software_leaves_nobody_out():
    found = decided(Category.SOFTWARE_USER, [suspect("n3", Category.SOFTWARE_USER)])

    assert (found.decision, found.exclude, found.retries_left) == (STOP, (), 0)


@pytest.mark.parametrize(("confidence", "decision"), [(0.45, RESTART), (0.69, RESTART),
    (0.7, STOP), (1.0, STOP)])  # fmt: skip
def test_a_stop_is_advised_where_its_cause_is_believed(confidence, decision):
    assert decided(Category.GPU_OOM, confidence=confidence).decision is decision


@pytest.mark.parametrize(("confidence", "decision"), [(0.45, RESTART), (0.9, WAIT)])
def test_and_so_is_a_wait(confidence, decision):
    assert decided(Category.STORAGE, confidence=confidence).decision is decision


def test_what_was_not_sure_is_when_it_comes_again():
    starts = ended(Category.GPU_OOM, 5)

    assert decided(Category.GPU_OOM, confidence=0.45, starts=starts).decision is STOP


@pytest.mark.parametrize("category", list(Category))
def test_inconclusive_is_a_restart_or_two(category):
    if category is Category.STRAGGLER:
        return
    found = decided(category, kind=VerdictKind.INCONCLUSIVE)

    assert (found.decision, found.retries_left) == (RESTART, 2)


def test_a_healthy_job_has_no_restart():
    healthy = verdict(Category.NONE, VerdictKind.HEALTHY)

    assert decide_restart(healthy, (), 8, StopCause(), ended(Category.GPU, 1, 1, 1)) is None


def test_a_slow_job_starts_without_a_convicted_node_alone():
    slow = verdict(Category.STRAGGLER, VerdictKind.STRAGGLER)
    guilty = suspect("n3", Category.STRAGGLER)
    possible = replace(guilty, role=Role.POSSIBLE)

    found = decide_restart(slow, [guilty], 8, StopCause())

    assert found is not None
    assert (found.decision, found.exclude, found.retries_left) == (WITHOUT, ("n3",), 1)
    assert decide_restart(slow, [possible], 8, StopCause()) is None


@pytest.mark.parametrize(
    ("starts", "decision", "left"),
    [
        (ended(Category.NCCL_TIMEOUT), RESTART, 3),
        (ended(Category.NCCL_TIMEOUT, 30), RESTART, 2),
        (ended(Category.NCCL_TIMEOUT, 30, 30, now=30), RESTART, 1),
        (ended(Category.NCCL_TIMEOUT, 30, 30, 30, now=30), STOP, 0),
        (ended(Category.NCCL_TIMEOUT, 2, 600), STOP, 0),
        (ended(Category.NCCL_TIMEOUT, 2, 2, now=90), RESTART, 3),
        (ended(Category.NCCL_TIMEOUT, 2, None), STOP, 0),
        (ended(Category.NCCL_TIMEOUT, None, 2), RESTART, 1),
        (ended(Category.NCCL_TIMEOUT, 2, 2, now=None), RESTART, 1),
        (ended(Category.GPU, 2, 2, 2), RESTART, 3),
        (ended(None, 2, 2, 2), RESTART, 3),
    ],
    ids=[
        "the first", "the second", "the third", "three restarts did not help", "two at once",
        "it lasted this time", "how long the first ran does not matter", "a length is not known",
        "this length is not known", "another cause", "causes that nobody knows",
    ],
)  # fmt: skip
def test_the_record_lowers_what_is_left_and_ends_it(starts, decision, left):
    found = decided(Category.NCCL_TIMEOUT, starts=starts)

    assert (found.decision, found.retries_left) == (decision, left)


def test_the_sentence_says_how_often_and_how_soon():
    starts = ended(Category.HOST_STALL, 3, 2, 2.5, 400, now=1)

    found = decided(Category.HOST_STALL, starts=starts)

    assert found.decision is STOP
    assert "This cause has ended 4 of 4 restarts within 3 minutes." in found.why


def test_of_other_causes_before_the_sentence_counts_the_last_ones():
    starts = ended(Category.HOST_STALL, 3, 2)
    starts = replace(starts, ends=(*starts.ends, EarlierEnd(Category.NIC, ("n1",), 7200.0)))

    assert (
        "the last 2 of 3 restarts within 3 minutes"
        in decided(Category.HOST_STALL, starts=starts).why
    )


def test_a_part_that_was_not_left_out_still_is_to_be():
    starts = ended(Category.GPU, 2, 2, 2, nodes=("n3",))

    found = decided(Category.GPU, [suspect("n3")], starts)

    assert (found.decision, found.exclude, found.retries_left) == (WITHOUT, ("n3",), 3)
    assert "n3 was in each of them" in found.why


def test_parts_of_other_nodes_each_time_are_hardly_parts():
    starts = ended(Category.GPU, 2, 2, nodes=("n9",))

    assert decided(Category.GPU, [suspect("n3")], starts).decision is STOP


def test_a_stall_on_the_same_node_again_leaves_it_out():
    starts = ended(Category.HOST_STALL, 30, nodes=("n3", "n4"), now=30)

    found = decided(Category.HOST_STALL, [suspect("n3", Category.HOST_STALL)], starts)

    assert (found.decision, found.exclude, found.retries_left) == (WITHOUT, ("n3",), 1)


def test_who_is_taken_down_at_once_waits():
    starts = ended(Category.HOST_MAINTENANCE, 2, 2)

    assert decided(Category.HOST_MAINTENANCE, starts=starts).decision is WAIT


def test_storage_is_waited_for_however_often():
    starts = ended(Category.STORAGE, 2, 2, 2, 2)

    found = decided(Category.STORAGE, starts=starts)

    assert (found.decision, found.retries_left) == (WAIT, 1)
    assert "4 of 4 restarts within 2 minutes" in found.why


@pytest.mark.parametrize(("restarts", "left"), [(0, 3), (1, 2), (2, 1), (3, 1), (10_000, 1)])
def test_a_number_of_restarts_alone_lowers_and_never_stops(restarts, left):
    found = decided(Category.NCCL_TIMEOUT, starts=EarlierStarts(restarts))

    assert (found.decision, found.retries_left) == (RESTART, left)
    assert ("no record says" in found.why) is bool(restarts)


ENDS = st.builds(
    EarlierEnd,
    st.none() | st.sampled_from(Category),
    st.lists(st.sampled_from(["n1", "n2", "n3"])).map(tuple),
    st.none() | st.floats(0, 1e7),
)


@given(
    st.sampled_from(Category), st.sampled_from(VerdictKind), st.floats(0, 1),
    st.lists(st.tuples(st.sampled_from(["n1", "n2", None]), st.sampled_from(Role))),
    st.none() | st.integers(1, 100), st.none() | st.integers(0, 10_000),
    st.none() | st.floats(0, 1e7), st.lists(ENDS, max_size=6),
)  # fmt: skip
def test_whatever_is_known_the_decision_keeps_its_form(
    category, kind, confidence, named, num_nodes, restarts, ran_s, ends
):
    suspects = [suspect(node, category, role) for node, role in named]
    starts = EarlierStarts(restarts, ran_s, tuple(ends))

    found = decide_restart(
        verdict(category, kind, confidence), suspects, num_nodes, StopCause(), starts
    )

    if found is None:
        assert VerdictKind.HEALTHY is kind or "straggler" in (kind, category)
        return
    assert bool(found.exclude) is (found.decision is WITHOUT)
    assert set(found.exclude) <= {node for node, role in named if role is not Role.AFFECTED}
    assert (found.retries_left == 0) is (found.decision is STOP)
    assert 0 <= found.retries_left <= 5


def test_the_same_files_say_the_same_and_the_record_moves_no_verdict(tmp_path):
    folder = INCIDENTS / "logs-hbm-w8" / "files"
    plain = triage.analyze(folder).to_dict()
    job = tmp_path / "job.json"
    told = (folder / "job.json").read_text() if (folder / "job.json").is_file() else "{}"
    job.write_text(told.rstrip().removesuffix("}") + (", " if '"' in told else "")
                   + '"attempt": 2}')  # fmt: skip
    counted = triage.analyze(folder, job=job).to_dict()

    assert plain["restart"]["decision"] == "restart_without"
    assert plain["restart"]["exclude"] == plain["verdict"]["cordon"]
    assert (plain["restart"]["retries_left"], counted["restart"]["retries_left"]) == (3, 1)
    assert {**plain, "restart": None} == {**counted, "restart": None}


@pytest.mark.parametrize(
    "name", ["logs-nic-w16", "logs-traceback-w16", "logs-storage-many-nodes-w16"]
)
def test_an_explanation_says_of_the_restart_what_the_answer_says(name):
    folder = INCIDENTS / name / "files"

    assert explain(folder).restart == triage.analyze(folder).restart
