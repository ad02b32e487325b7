"""Monitors' lines held against the other GPUs of the job."""

from triage.analysis.facts.on_one_clock import compare_monitors
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind

ROOT, ADVICE, NOISE = EvidenceRole.ROOT, EvidenceRole.ADVICE, EvidenceRole.NOISE


def row(
    name: str, rank: int, temp: float, clock: float, category: Category = Category.GPU_THERMAL
) -> Evidence:
    role = {"slowed": ROOT, "hot": ADVICE}.get(name, NOISE)
    return Evidence(
        artifact="x", line=1, signature=f"gpu_monitor.{name}", kind=Kind.THERMAL, role=role,
        text="", node=f"n{rank // 4}", rank=rank,
        category=None if role is NOISE else category, weak=name == "hot",
        fields={"temperature_c": f"{temp}", "clock_mhz": f"{clock}"},
    )  # fmt: skip


def calm(first: int, stop: int) -> list[Evidence]:
    return [row("reading", rank, 60 + rank % 3, 1900 + rank) for rank in range(first, stop)]


def roles(rows: list[Evidence]) -> list[EvidenceRole]:
    return [one.role for one in compare_monitors(rows)]


def test_one_that_is_slowed_and_slower_stays() -> None:
    found = compare_monitors([row("slowed", 0, 93, 800), *calm(1, 16)])

    assert found[0].role is ROOT
    assert float(found[0].fields["peers_clock_mhz"]) > 1900
    assert [one.role for one in found[1:]] == [NOISE] * 15


def test_one_that_is_as_fast_and_cool_as_its_peers_slowed_nobody_down() -> None:
    assert roles([row("slowed", 0, 63, 1900), *calm(1, 16)])[0] is ADVICE


def test_power_that_is_cut_back_needs_no_heat() -> None:
    assert roles([row("slowed", 0, 55, 345, Category.POWER), *calm(1, 16)])[0] is ROOT


def test_what_a_quarter_of_the_job_says_has_its_reason_outside() -> None:
    slowed = [row("slowed", rank, 88, 1200) for rank in range(6)]

    assert roles([*slowed, *calm(6, 16)])[:6] == [ADVICE] * 6


def test_gpus_of_one_node_share_what_cools_it() -> None:
    slowed = [row("slowed", rank, 92, 1000) for rank in range(4)]

    assert roles([*slowed, *calm(4, 12)])[:4] == [ROOT] * 4


def test_one_far_hotter_and_slower_is_a_suspect_though_nothing_says_why() -> None:
    found = compare_monitors([row("hot", 0, 94, 800), *calm(1, 16)])

    assert (found[0].role, found[0].weak) == (ROOT, True)


def test_a_hot_gpu_at_full_clocks_is_a_notice() -> None:
    assert roles([row("hot", 0, 88, 1900), *calm(1, 16)])[0] is ADVICE


def test_without_peers_a_word_stands_and_heat_alone_does_not() -> None:
    assert roles([row("slowed", 0, 93, 800), *calm(1, 3)])[0] is ROOT
    assert roles([row("hot", 0, 93, 800), *calm(1, 3)])[0] is ADVICE


def test_other_rows_stay_as_they_are() -> None:
    others = calm(0, 3)

    assert compare_monitors(others) == others
