"""Who went first and left no word: named by all others, or the only one that did not wait."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import triage
from tests.support.spent import spent_s
from tests.support.weighing import Placement, T, answer, culprits, row, watchdog
from triage.analysis.facts.stop import SECOND
from triage.analysis.joining.silent_peer import find_silent_peer
from triage.domain.category import Category, Role
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind

SEATS = Placement(nodes=2)


def lost(teller: str | None, peer: str, **more: object) -> Evidence:
    base = Evidence(
        artifact="job.log", line=9, signature="nccl.peer_closed", kind=Kind.NCCL,
        role=EvidenceRole.CONSEQUENCE, text=f"Connection closed by remote peer {peer}",
        node=teller, peer=peer, blame=Blame.PEER, at_ns=T, last_at_ns=T, error_ns=SECOND // 1000,
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def placed(*rows: Evidence, placement: Placement = SEATS) -> list[tuple[str | None, int | None]]:
    return [(one.node, one.rank) for one in find_silent_peer(rows, placement)]


def test_the_one_node_that_all_others_lose_is_named_and_not_convicted() -> None:
    said = answer(lost("n1", "n3"), lost("n2", "n3"))
    assert [(one.node, one.role) for one in said.suspects] == [("n3", Role.POSSIBLE)]
    assert said.verdict.category is Category.NCCL_TIMEOUT
    assert said.verdict.cordon == ()


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([lost("n1", "n3")], id="one line alone"),
        pytest.param([lost("n1", "n3"), lost("n2", "n4")], id="two are lost"),
        pytest.param([lost("n1", "n3"), lost("n2", "10.9.9.9")], id="somebody unknown is lost too"),
        pytest.param([lost("n1", "n3"), lost("n3", "n3")], id="it says so itself"),
        pytest.param([replace(lost(None, "n3"), role=EvidenceRole.NOISE, count=9)], id="noise"),
    ],
)
def test_others_are_not(rows: list[Evidence]) -> None:
    assert placed(*rows) == []


def test_who_lost_somebody_itself_went_down_with_that_one() -> None:
    assert placed(lost("n1", "n3"), lost("n2", "n3"), lost("n4", "n1")) == [("n3", None)] * 2


def test_the_word_of_a_service_is_enough() -> None:
    dead = lost(None, "n3", signature="xla.task_lost", kind=Kind.SCHEDULER)
    assert placed(dead) == [("n3", None)]
    assert placed(dead, replace(dead, peer="n4")) == []


GLOO = (
    "[rank{0}]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81]"
    " Timed out waiting 1800000ms for recv operation to complete"
)
STORE = (
    "[rank{0}]: RuntimeError: Timed out initializing process group in store based barrier on rank:"
    " {0}, for key: store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)"
)
UNIQUE_ID = (
    "[rank{0}]: RuntimeError: [{0}] is setting up NCCL communicator and retrieving ncclUniqueId"
    " from [6] via c10d key-value store by key '0', but store->get('0') got error: wait timeout"
)


@pytest.mark.parametrize("words", [GLOO, STORE, UNIQUE_ID], ids=["gloo", "store", "unique id"])
@pytest.mark.parametrize("silent", [{6}, {5, 6}])
def test_who_all_others_wait_for_is_named_where_it_is_one(
    silent: set[int], words: str, tmp_path: Path
) -> None:
    facts = {"world_size": 8, "nodes": ["n1", "n2"], "gpus_per_node": 4}
    (tmp_path / "job.json").write_text(json.dumps(facts))
    (tmp_path / "train.log").write_text(
        "".join(f"{words.format(rank)}\n" for rank in set(range(8)) - silent)
    )
    told = triage.analyze(tmp_path).answer
    assert words != GLOO or str(told.verdict.kind) == "hang"
    assert not culprits(told)
    named = [(one.node, list(one.ranks), one.role) for one in told.suspects]
    assert named == ([("n2", [6], Role.POSSIBLE)] if silent == {6} else [])


REACHED = (
    "[rank{0}]: RuntimeError: Rank {0} successfully reached monitoredBarrier, but received errors"
    " while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n"
)


@pytest.mark.parametrize(
    ("absent", "others", "named"),
    [
        ("Rank 6", "", [6]),
        ("Rank 6", "".join(map(REACHED.format, (1, 2, 3, 4, 5, 7))), [6]),
        ("Ranks 5, 6, 7", "", []),
    ],
)
def test_who_a_barrier_waited_for_is_named_where_it_is_one(
    absent: str, others: str, named: list[int], tmp_path: Path
) -> None:
    facts = {"world_size": 8, "nodes": ["n1", "n2"], "gpus_per_node": 4}
    (tmp_path / "job.json").write_text(json.dumps(facts))
    waited = f"[rank0]: RuntimeError: {absent} failed to pass monitoredBarrier in 1800000 ms\n"
    (tmp_path / "train.log").write_text(waited + others)
    told = triage.analyze(tmp_path).answer
    assert [rank for one in told.suspects for rank in one.ranks] == named
    assert not culprits(told)


def ended(rank: int, code: str) -> Evidence:
    base = lost(f"n{rank // 8}", "", blame=Blame.NOBODY, kind=Kind.ELASTIC, rank=rank)
    return replace(base, peer=None, fields={"exit_code": code})


def test_its_launcher_says_which_of_its_ranks_ended() -> None:
    two = (lost("n0", "n1"), lost("n0", "n1"))
    assert placed(*two, ended(13, "-6"), ended(12, "-15")) == [("n1", 13)] * 2
    assert placed(*two, ended(13, "-6"), ended(12, "1")) == [("n1", None)] * 2


def test_old_noise_hides_nobody_who_left_no_word() -> None:
    stale = row("n6", at_s=-7 * 86400.0)
    said = answer(stale, lost("n1", "n3"), lost("n2", "n3"))
    assert [one.node for one in said.suspects] == ["n3"]


def test_lines_that_were_counted_together_are_several() -> None:
    assert placed(lost(None, "n3", count=3)) == [("n3", None)]


def test_where_a_cause_is_told_nobody_asks_who_was_silent() -> None:
    said = answer(row("n5"), lost("n1", "n3"), lost("n2", "n3"))
    assert culprits(said) == ["n5"]


def desync(peer: str, **fields: str) -> Evidence:
    return lost("n0", peer, signature="c10d.desync_report", fields=fields, rank=1)


def test_the_report_of_a_desync_names_the_rank_that_did_not_join() -> None:
    told = desync("rank 7", done="11", missed="12")
    assert placed(told, told) == [("n0", 7)] * 2


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(desync("rank 7", stuck="12"), id="who joined waits itself"),
        pytest.param(desync("rank 0, 2", missed="12"), id="several"),
    ],
)
def test_a_report_of_others_names_nobody(told: Evidence) -> None:
    assert placed(told, told) == []


def test_the_only_rank_that_does_not_say_it_waited_is_named() -> None:
    waits = [watchdog(rank) for rank in range(16) if rank != 5]
    [one] = find_silent_peer(waits, SEATS)
    assert (one.node, one.rank, one.weak) == ("n0", 5, True)
    assert one.text == "15 of 16 ranks gave up waiting; rank 5 says nothing"


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param(range(16), id="all waited"),
        pytest.param(range(14), id="two did not"),
        pytest.param([0, 1], id="a log cut short"),
    ],
)
def test_where_not_just_one_is_silent_nobody_is_named(ranks: range) -> None:
    assert placed(*(watchdog(rank) for rank in ranks)) == []


def test_a_rank_that_says_something_else_is_not_silent() -> None:
    waits = [watchdog(rank) for rank in range(16) if rank != 5]
    other = replace(watchdog(5), traits=frozenset(), signature="nccl.result_remote")
    assert placed(*waits, other) == []


def test_without_the_size_of_the_world_nobody_is_missing() -> None:
    class Unknown(Placement):
        @property
        def world_size(self) -> int | None:
            return None

    assert placed(*(watchdog(rank) for rank in range(15)), placement=Unknown(nodes=2)) == []


def test_a_crash_of_many_ranks_is_read_in_one_pass() -> None:
    """Each of 20,000 nodes loses the next, which complains itself: half a second, not minutes."""
    placement = Placement(nodes=20_000)
    rows = [lost(f"n{k}", f"n{k + 1}") for k in range(19_999)]
    assert spent_s(lambda: find_silent_peer(rows, placement), 2.0) < 2.0


def lost_by(ranks: tuple[int, ...], tmp_path: Path) -> triage.Report:
    """The answer where those ranks of 0 to 11 on m1, m2 and m3 lose an unknown address."""
    facts = {"job_id": "5", "nodes": ["m1", "m2", "m3"], "world_size": 12, "gpus_per_node": 4}
    seats = {str(rank): f"m{1 + rank // 4}" for rank in range(12)}
    (tmp_path / "job.json").write_text(json.dumps({**facts, "rank_to_node": seats}))
    (tmp_path / "job.log").write_text(
        "".join(
            f"2026-11-20T09:59:02Z [rank{rank}]: RuntimeError: [gloo/transport/tcp/pair.cc:534]"
            f" Connection closed by peer [10.0.0.2]:4410{rank}\n"
            for rank in ranks
        )
    )
    return triage.analyze(tmp_path)


def test_an_address_that_all_others_lose_is_the_nodes_that_is_left(tmp_path: Path) -> None:
    (suspect,) = lost_by((0, 1, 8, 9), tmp_path).answer.suspects
    assert (suspect.node, suspect.role) == ("m2", "possible")


def test_an_address_that_one_of_three_loses_is_nobodys(tmp_path: Path) -> None:
    assert not lost_by((0, 1, 2, 3), tmp_path).answer.suspects
