"""Bandwidth beside other nodes': a clearly slow one is warned of, in whatever order they come."""

import io
import itertools
from collections.abc import Iterator

import pytest

from tests.fleet.services.fleets import service_on
from tests.formats.health import samples
from triage.domain.health import Outcome
from triage.fleet.services.health.due_list import map_newest_results
from triage.fleet.services.health.ingest import (
    CheckTarget,
    find_slow_nodes,
    take_checks,
)
from triage.services.context import Context

USUAL = [480.0, 482.0, 478.5, 481.0, 479.0]


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def send(ctx: Context, node: str, gbps: float, cluster: str = "a", text: str | None = None) -> None:
    body = text or samples.nccl(node, busbw=gbps)
    take_checks(ctx, CheckTarget(cluster=cluster), io.BytesIO(body.encode()).read, None)


def outcomes(ctx: Context, cluster: str = "a") -> dict[str, tuple[Outcome, str]]:
    with ctx.database.reading() as session:
        return {
            node: (one.outcome, one.detail)
            for node, found in map_newest_results(session, cluster=cluster).items()
            for one in found
            if one.check == "nccl.busbw"
        }


def fleet(ctx: Context) -> None:
    for number, gbps in enumerate(USUAL):
        send(ctx, f"n{number}", gbps)


def test_a_slow_node_is_warned_of_and_the_reason_names_the_others(ctx: Context) -> None:
    fleet(ctx)
    send(ctx, "slow", 300)

    found = outcomes(ctx)
    assert found.pop("slow") == (
        Outcome.WARN,
        "bus bandwidth 300.0 GB/s, the median of 6 nodes is 479.5 GB/s (all_reduce, 8 GiB,"
        " 8 ranks)",
    )
    assert {outcome for outcome, _ in found.values()} == {Outcome.PASS}


def test_the_order_in_which_they_come_does_not_matter(ctx: Context) -> None:
    given = [*enumerate(USUAL), (9, 300.0)]
    seen = []
    for number, order in enumerate(itertools.islice(itertools.permutations(given), 0, 720, 180)):
        for place, gbps in order:
            send(ctx, f"n{place}", gbps, cluster=f"c{number}")
        seen.append(outcomes(ctx, f"c{number}"))

    assert seen[0]["n9"][0] is Outcome.WARN
    assert all(one == seen[0] for one in seen)


def test_a_node_that_measures_well_again_is_not_warned_of_any_more(ctx: Context) -> None:
    fleet(ctx)
    send(ctx, "n9", 300)
    send(ctx, "n9", 300)
    assert outcomes(ctx)["n9"][0] is Outcome.WARN
    send(ctx, "n9", 479)

    assert outcomes(ctx)["n9"] == (
        Outcome.PASS, "bus bandwidth 479.0 GB/s, nothing to compare it with",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        samples.nccl("n9", busbw=440),
        samples.nccl("n9", busbw=300).replace("H100", "A100"),
        samples.nccl("n9", busbw=300).replace("8589934592 ", "4294967296 ").replace(
            "2147483648", "1073741824"
        ),
        samples.nccl("n9", busbw=300).replace("Rank  7", "Rang  7"),
        samples.nccl("n9", busbw=300, ended=False),
        samples.nccl("n9", busbw=300).replace("sum      -1", "none     -1"),
        samples.nccl("n9", "n8", busbw=300),
        "# Collective test starting: all_gather_perf\n" + samples.nccl("n9", busbw=300),
    ],
    ids=["close", "other-gpu", "other-size", "fewer-ranks", "cut", "unknown-test", "two-nodes",
         "other-test"],
)  # fmt: skip
def test_what_cannot_be_compared_is_not(ctx: Context, text: str) -> None:
    fleet(ctx)
    send(ctx, "", 0, text=text)

    assert "the median of" not in outcomes(ctx)["n9"][1]


@pytest.mark.parametrize("name", ["all_reduce_perf", "./build/all_reduce_perf_mpi"])
def test_a_test_that_is_named_is_that_test(ctx: Context, name: str) -> None:
    fleet(ctx)
    send(ctx, "", 0, text=f"# Collective test starting: {name}\n" + samples.nccl("n9", busbw=300))

    assert outcomes(ctx)["n9"][0] is Outcome.WARN


def test_another_cluster_says_nothing(ctx: Context) -> None:
    fleet(ctx)
    send(ctx, "n9", 300, cluster="b")

    assert outcomes(ctx, "b")["n9"][0] is Outcome.PASS


def test_what_its_own_report_says_stands(ctx: Context) -> None:
    fleet(ctx)
    body = io.BytesIO(samples.nccl("n9", busbw=300).encode())
    take_checks(ctx, CheckTarget(cluster="a", busbw_gbps=480), body.read, None)

    assert outcomes(ctx)["n9"] == (
        Outcome.FAIL, "bus bandwidth 300.0 GB/s, 480.0 GB/s is usual",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "slow"),
    [
        ([480] * 5 + [300], {5}),
        ([480] * 4 + [300], set()),  # too few others
        ([480] * 5 + [433], set()),  # runs differ by so much
        ([480] * 6 + [300] * 3, set()),  # two kinds of nodes
        ([480] * 8 + [300] * 2, {8, 9}),
        ([300, 350, 400, 450, 500, 550, 260], set()),  # they differ anyway
        ([0.0] * 6, set()),
        ([480] * 5 + [0.0], {5}),
        ([], set()),
    ],
)
def test_only_what_stands_out_is_slow(values, slow) -> None:
    assert set(find_slow_nodes(dict(enumerate(values)))) == slow  # type: ignore[arg-type]
