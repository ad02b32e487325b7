"""A NaN of one rank is its GPU's, a NaN of many nodes is the model's."""

import pytest

from triage.analysis.facts.on_one_clock import with_spread
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind


def local_nan(rank: int | None, node: str | None) -> Evidence:
    return Evidence(
        artifact="job.log",
        line=1,
        signature="numerics.rank_nan",
        kind=Kind.NUMERICS,
        role=EvidenceRole.ROOT,
        text="found NaN in local grad norm",
        category=Category.SDC,
        node=node,
        rank=rank,
        fields={"before_reduction": "1"},
    )


@pytest.mark.parametrize(
    ("placement", "category"),
    [
        ([(3, "n0")], Category.SDC),
        ([(0, "n0"), (1, "n0"), (2, "n0"), (3, "n0")], Category.SDC),
        ([(3, "n0"), (11, "n1")], Category.SDC),
        ([(3, "n0"), (11, "n1"), (19, "n2")], Category.NUMERICAL),
        ([(None, None)], Category.SDC),
    ],
    ids=["one rank", "one node", "two ranks", "three nodes", "nobody named"],
)
def test_who_has_the_nan(
    placement: list[tuple[int | None, str | None]], category: Category
) -> None:
    rows = with_spread(local_nan(rank, node) for rank, node in placement)

    assert {row.category for row in rows} == {category}


def test_other_rows_stay_as_they_are() -> None:
    other = Evidence("a", 1, "cuda.x", Kind.CUDA, EvidenceRole.ROOT, "x", Category.GPU)
    rows = [other, *(local_nan(rank, f"n{rank}") for rank in range(4))]

    assert with_spread(rows)[0] == other
