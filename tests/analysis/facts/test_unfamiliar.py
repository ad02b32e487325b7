"""What the trained reader says of a stop is heard where signatures are silent, and not beyond."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.support.weighing import STOP, T, answer, claim, culprits, of, row, stalled
from triage.analysis.facts.on_one_clock import DatedEvidence
from triage.analysis.facts.stop import SECOND
from triage.analysis.facts.unfamiliar import select_unfamiliar, select_unread
from triage.analysis.placement.attribution import attribute
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import Category
from triage.domain.evidence import BY_FILE, LEARNED, UNREAD, Evidence, EvidenceRole, Kind, Trait
from triage.parsers.logs.logset import LogSet

FLEET = JobPlacement(
    {rank: f"n{rank // 8}" for rank in range(64)},
    nodes=tuple(f"n{k}" for k in range(8)),
    seated=frozenset(f"n{k}" for k in range(8)),
    aliases={f"n{k}": f"n{k}" for k in range(8)},
)


def read(
    node: str | None, at_s: float | None = 0.0, category: Category = Category.NIC,
    signature: str = LEARNED,
) -> Evidence:  # fmt: skip
    role = EvidenceRole.NOISE if signature == UNREAD else EvidenceRole.ROOT
    made = of(category, Kind.NIC, node, at_s, weak=True, role=role)
    return replace(
        made, signature=signature, text="the card is out of its wits", fields={"score": "0.80"},
        traits=frozenset({Trait.UNFAMILIAR}),
    )  # fmt: skip


def heard(
    *rows: Evidence, known: tuple[Evidence, ...] = (), claims: tuple[object, ...] = ()
) -> list[str | None]:
    stop = replace(STOP, given_up_ns=STOP.end_ns)
    chosen = select_unfamiliar(date(rows, known), claims, stop, frozenset())  # type: ignore[arg-type]
    return [one.node for one in chosen]


def date(rows: Sequence[Evidence], known: Sequence[Evidence] = ()) -> DatedEvidence:
    return DatedEvidence(tuple(known), LogSet(), FLEET, (), {}, tuple(rows))


def test_a_line_at_the_stop_is_heard() -> None:
    assert heard(read("n3")) == ["n3"]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(read("n3", -7 * 86400), id="of last week"),
        pytest.param(read("n3", None), id="of no time"),
        pytest.param(read("n3", 700.0), id="after the job was given up"),
        pytest.param(read("n3", signature=UNREAD), id="that nobody can place"),
    ],
)
def test_other_lines_are_not(one: Evidence) -> None:
    assert heard(one) == []


def test_what_the_job_outlived_is_not_heard() -> None:
    outlived = replace(read("n3"), traits=frozenset({Trait.UNFAMILIAR, Trait.OUTLIVED}))
    assert heard(outlived) == []


@pytest.mark.parametrize(
    ("known", "nodes"),
    [
        (row("n3", weak=True), []),
        (row("n5"), []),
        (row("n5", weak=True), []),
        (row(None, weak=True), []),
        (row("n3", -7 * 86400), ["n3", "n4"]),
        (row("n3", role=EvidenceRole.CONSEQUENCE), ["n3", "n4"]),
    ],
    ids=["there", "elsewhere", "weak elsewhere", "of no node", "last week", "a consequence"],
)
def test_a_signature_that_tells_a_cause_silences_the_reader(
    known: Evidence, nodes: list[str]
) -> None:
    assert heard(read("n3"), read("n4"), known=(known,)) == nodes


@pytest.mark.parametrize(("weak", "nodes"), [(True, ["n4"]), (False, [])])
def test_what_many_share_is_heard_beside_a_weak_line_of_another_node(
    weak: bool, nodes: list[str]
) -> None:
    shared = (read("n3", category=Category.STORAGE), read("n4", category=Category.STORAGE))
    assert heard(*shared, known=(row("n3", weak=weak),)) == nodes


def test_beside_an_accused_place_only_its_part_is_asked_for() -> None:
    """The GPU of rank 29, on n3, stands; what is said there minutes later is of its part."""
    stands = claim(29, "fr.device_stall", Category.GPU, 0.85)
    late = read("n3", 400.0, Category.GPU_HBM)
    elsewhere = (read("n4", 0.0, Category.GPU_HBM), read(None, category=Category.NETWORK))
    assert heard(*elsewhere, late, claims=(stands,)) == [None, "n3"]
    assert heard(*elsewhere, late, known=(row("n5"),), claims=(stands,)) == ["n3"]


@pytest.mark.parametrize(
    ("category", "nodes"),
    [(Category.HOST_STALL, []), (Category.NCCL_TIMEOUT, ["n3"]), (Category.GPU, [])],
)
def test_a_claim_that_names_a_part_keeps_it(category: Category, nodes: list[str]) -> None:
    assert heard(read("n3"), claims=(claim(29, category=category),)) == nodes


def test_what_cannot_explain_the_claim_is_not_heard() -> None:
    assert heard(read("n3", category=Category.COLLECTIVE_MISMATCH), claims=(claim(29),)) == []


def test_what_many_nodes_say_is_of_none_of_them() -> None:
    assert heard(*(read(f"n{k}") for k in range(3))) == []
    assert heard(*(read(f"n{k}") for k in range(2))) == ["n0", "n1"]
    shared = [read(f"n{k}", category=Category.STORAGE) for k in range(3)]
    assert heard(*shared) == ["n0", "n1", "n2"]


@pytest.mark.parametrize(
    ("node", "text", "place"),
    [
        (None, "alert: the card of n6 is out of its wits", "n6"),
        (None, "cards of n6 and n7 are out of their wits", None),
        (None, "the card of n66 is out of its wits", None),
        ("n3", "its peer n6 is out of its wits", "n3"),
        ("controller", "drained n6: card out of its wits", "n6"),
    ],
)
def test_a_line_is_of_the_one_node_that_it_names(
    node: str | None, text: str, place: str | None
) -> None:
    assert heard(replace(read(node), text=text)) == [place]


@pytest.mark.parametrize(
    ("text", "kind", "node"),
    [
        ("oob=n6-xcc sev=CRITICAL power supply 2 failed", Kind.POWER, "n6"),
        ("power supply 2 of n6 failed, n7 feeds it", Kind.POWER, None),
        ("power supply 2 failed", Kind.POWER, None),
        ("lost the connection to n6", Kind.NCCL, None),
    ],
)
def test_what_no_process_says_is_of_the_one_node_that_it_names(
    text: str, kind: Kind, node: str | None
) -> None:
    told = replace(of(Category.POWER, kind, None), text=text)
    assert [one.node for one in attribute([told], FLEET)] == [node]


def test_in_a_folder_of_a_node_its_name_counts() -> None:
    one = replace(read("n3"), text="ask n6", fields={"score": "0.8", BY_FILE: "1"})
    assert heard(one) == ["n3"]


def test_of_a_node_the_likeliest_lines_are_heard() -> None:
    rows = [replace(read("n3"), line=k, fields={"score": f"0.{50 + k}"}) for k in range(20)]
    chosen = select_unfamiliar(date(rows), (), STOP, frozenset())
    assert [one.line for one in chosen] == list(range(19, 11, -1))


def test_lines_about_the_stop_that_nobody_can_place_are_told() -> None:
    unread = read("n3", signature=UNREAD)
    assert select_unread([unread, read("n4")], STOP) == [unread]
    early = replace(unread, at_ns=T - 86400 * SECOND, last_at_ns=T - 86400 * SECOND)
    assert select_unread([early], STOP) == []


def test_nodes_that_are_not_the_jobs_are_not_heard() -> None:
    assert select_unfamiliar(date([read("n3")]), (), STOP, {"n3"}) == []


def test_a_check_that_compares_results_tells_of_the_node_that_it_names() -> None:
    told = replace(read("n3", category=Category.SDC), text="only rank 9 (n6) computed other sums")
    assert heard(told) == ["n6"]


def test_a_sure_line_is_heard_beside_a_signature_that_needs_another_source() -> None:
    weak = replace(row("n3"), weak=True)
    unsure, sure = (replace(read("n3"), fields={"score": score}) for score in ("0.89", "0.90"))
    assert heard(unsure, known=(weak,)) == []
    assert heard(sure, known=(weak,)) == ["n3"]
    assert heard(sure, known=(row("n3"),)) == []


def test_a_whole_node_is_heard_where_its_parts_fail_after_it() -> None:
    tells = replace(read("n3", -2.0, Category.CHASSIS), fields={"score": "0.95"})
    assert heard(tells, known=(row("n3"),)) == ["n3"]
    assert heard(replace(tells, fields={"score": "0.85"}), known=(row("n3"),)) == []
    assert heard(replace(tells, category=Category.NIC), known=(row("n3"),)) == []
    assert heard(replace(tells, node="n4"), known=(row("n3"),)) == []
    assert heard(replace(tells, at_ns=(tells.at_ns or 0) + 9 * SECOND), known=(row("n3"),)) == []


@pytest.mark.parametrize(
    ("category", "score", "nodes", "expected"),
    [
        (Category.STORAGE, "0.95", ["n4", "n5"], ["n4", "n5"]),
        (Category.STORAGE, "0.85", ["n4", "n5"], []),
        (Category.STORAGE, "0.55", ["n4", "n5", "n6"], ["n4", "n5", "n6"]),
        (Category.STORAGE, "0.95", ["n4"], []),
        (Category.NIC, "0.95", ["n4", "n5"], []),
    ],
    ids=["surely", "not surely", "by many nodes", "by one node", "of a part of a node"],
)
def test_what_nodes_tell_together_is_heard_whomever_dumps_accuse(
    category: Category, score: str, nodes: list[str], expected: list[str]
) -> None:
    """Rank 29, on n3, stopped issuing work while other nodes lose the file server."""
    rows = [replace(read(one, category=category), fields={"score": score}) for one in nodes]
    assert heard(*rows, claims=(claim(29),)) == expected


def test_a_part_that_a_signature_leaves_open_is_heard() -> None:
    ecc = of(Category.GPU_HBM, Kind.CUDA, also=(Category.GPU_SRAM,))
    told = replace(read("n3", 3.0, Category.GPU_SRAM), fields={"score": "0.95"})
    assert heard(told, known=(ecc,)) == ["n3"]
    assert heard(replace(told, fields={"score": "0.85"}), known=(ecc,)) == []
    assert heard(replace(told, category=Category.GPU_THERMAL), known=(ecc,)) == []
    assert heard(told, known=(replace(ecc, also=()),)) == []


def test_several_gpus_that_fail_are_another_source_of_a_whole_node() -> None:
    tells = replace(read("n3", -2.0, Category.POWER), fields={"score": "0.75"})
    lost = [replace(row("n3"), gpu=f"0000:{k}0:00") for k in range(2)]
    assert heard(tells, known=(lost[0],)) == []
    assert heard(tells, known=tuple(lost)) == ["n3"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("loader: shard 3 has not answered rank=50", "n6"),
        ("loader: shard 3 has not answered rank=50, asked by rank=9", None),
        ("probe of ring 0: 0.0 Gb/s on 3 rails", None),
    ],
)
def test_a_line_is_of_the_one_rank_that_it_names_and_no_number_is_a_node(
    text: str, place: str | None
) -> None:
    numbered = replace(FLEET, aliases={**FLEET.aliases, "0": "n1", "0.0": "n1", "3": "n2"})
    rows = [replace(read(None), text=text)]
    dated = replace(date(rows), fleet=numbered)
    assert [one.node for one in select_unfamiliar(dated, (), STOP, frozenset())] == [place]


def test_a_column_of_a_list_of_events_dates_its_line() -> None:
    at = datetime.fromtimestamp(T // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    one = replace(read("n3", None), text=f"SramThreshold node/n3 {at} GPU:2 3 errors")
    assert heard(one) == ["n3"]
    assert heard(replace(one, text=f"{one.text}, first at 2026-01-01T00:00:00Z")) == []
    assert heard(replace(one, text="SramThreshold node/n3 2026-13-40T09:41:49Z GPU:2")) == []


@pytest.mark.parametrize(
    ("rank", "category", "score", "nodes"),
    [
        (29, Category.SOFTWARE_USER, "0.55", ["n3"]),
        (28, Category.SOFTWARE_USER, "0.55", []),
        (None, Category.HOST_OOM, "0.80", ["n3"]),
        (None, Category.HOST_OOM, "0.70", []),
        (None, Category.NIC, "0.95", []),
    ],
    ids=["its own error", "of another rank", "of its host", "perhaps", "of no process"],
)
def test_who_issues_nothing_says_why(
    rank: int | None, category: Category, score: str, nodes: list[str]
) -> None:
    stands = claim(29, "fr.host_stall", Category.HOST_STALL)
    stands = replace(stands, explained_by=frozenset({*Category}))
    told = replace(read("n3", category=category), rank=rank, fields={"score": score})
    assert heard(told, claims=(stands,)) == nodes
    undated = replace(told, at_ns=None, last_at_ns=None)
    assert heard(undated, claims=(stands,)) == (nodes if rank == 29 else [])


def test_an_alert_without_a_time_is_of_the_node_that_it_names() -> None:
    assert heard(replace(read(None, None), text="the card of n6 is out of its wits")) == ["n6"]
    assert heard(replace(read(None, None), text="the card is out of its wits")) == []


def test_the_part_of_a_place_may_be_found_after_the_stop() -> None:
    ecc = of(Category.GPU_HBM, Kind.CUDA, also=(Category.GPU_SRAM,))
    told = replace(read("n3", 640.0, Category.GPU_SRAM), fields={"score": "0.95"})
    assert heard(told, known=(ecc,)) == ["n3"]
    assert heard(told) == []


def tell(text: str, node: str | None, at_s: float | None, category: Category) -> Evidence:
    return replace(read(node, at_s, category), text=text, fields={"score": "0.80"})


@pytest.mark.parametrize(
    ("text", "at_s", "nodes"),
    [
        ("found it: the cold plate of gpu 0 on n3 is dry", 1500.0, ["n3"]),
        ("found it: the cold plate of gpu 0 on n3 is dry", None, ["n3"]),
        ("found it: the cold plate of gpu 0 on n3 is dry", 9 * 86400.0, []),
        ("found it: the cold plate of gpu 0 is dry", 1500.0, []),
        ("found it: the cold plates of n3 and n4 are dry", 1500.0, []),
    ],
    ids=["after the stop", "without a time", "of another week", "of no node", "of two nodes"],
)
def test_who_looked_into_the_stop_tells_of_one_node(
    text: str, at_s: float | None, nodes: list[str]
) -> None:
    node = "n3" if nodes or "n3" in text else None
    assert heard(tell(text, node, at_s, Category.GPU_THERMAL)) == nodes


def test_where_an_error_that_no_line_places_was_is_found_out_later() -> None:
    fatal = of(Category.HOST_OOM, Kind.PYTHON, None, also=(Category.HOST_MEMORY,))
    told = tell("n3: uncorrectable in a dimm, swap it", "n3", 1500.0, Category.HOST_MEMORY)
    sure = replace(told, fields={"score": "0.95"})
    assert heard(sure, known=(fatal,)) == ["n3"]
    assert heard(told, known=(fatal,)) == []
    assert heard(replace(sure, category=Category.NIC), known=(fatal,)) == []


def test_what_a_node_prints_itself_after_the_stop_is_not_found_out() -> None:
    own = tell("n3: the card is out of its wits", "n3", 1500.0, Category.NIC)
    assert heard(replace(own, fields={**own.fields, BY_FILE: "1"})) == []


def test_what_nodes_share_may_be_told_later_without_a_node() -> None:
    told = "the file system lost a rack of its servers, every mount hung"
    assert heard(tell(told, None, 1500.0, Category.STORAGE)) == [None]
    assert heard(tell(told, None, 1500.0, Category.SSD)) == []


def guess(node: str, score: str = "0.70", count: int = 1, text: str = "it is odd") -> Evidence:
    made = replace(read(node, signature=UNREAD), also=(Category.NIC,), count=count, text=text)
    return replace(made, fields={"score": score})


@pytest.mark.parametrize(
    ("rows", "nodes"),
    [
        ((guess("n3"),), ["n3"]),
        ((guess("n3", score="0.40"),), []),
        ((guess("n3", count=2),), []),
        ((guess("n3"), guess("n4")), []),
        ((guess("n3"), guess("n4", text="so is this")), []),
        ((guess("n3"), read("n5")), ["n5"]),
    ],
    ids=["alone", "hardly", "twice", "elsewhere too", "several nodes", "beside a reading"],
)
def test_what_may_tell_nothing_is_guessed_at_where_nobody_tells_more(
    rows: tuple[Evidence, ...], nodes: list[str]
) -> None:
    assert heard(*rows) == nodes


def test_no_guess_beside_a_cause_that_a_signature_tells() -> None:
    assert heard(guess("n3"), known=(row("n5", weak=True),)) == []


def test_a_cause_that_no_line_places_is_where_a_sure_reading_tells_it() -> None:
    sure = replace(read("n3", category=Category.HOST_OOM), fields={"score": "0.95"})
    unplaced = replace(row(None, weak=True), category=Category.HOST_OOM)
    assert heard(sure, known=(unplaced,)) == ["n3"]
    assert heard(replace(sure, category=Category.NIC), known=(unplaced,)) == []


@pytest.mark.parametrize(("found_out", "category"), [(True, "nic"), (False, "nccl_timeout")])
def test_what_was_found_out_explains_that_nobody_gets_through(
    found_out: bool, category: str
) -> None:
    """The card of n3 was found dead later: that names the place, and convicts nobody."""
    traits = {Trait.UNFAMILIAR, *([Trait.FOUND_OUT] if found_out else [])}
    fields = {"score": "0.80", "like": "monitor"}
    one = replace(read("n3", None), traits=frozenset(traits), fields=fields)
    told = answer(one, findings=(stalled(),))
    assert str(told.verdict.category) == category
    assert culprits(told) == []
