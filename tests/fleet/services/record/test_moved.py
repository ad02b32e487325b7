"""Parts that were in several nodes of a record."""

from collections.abc import Iterator

import pytest

from tests.fleet.services.fleets import (
    at,
    imported,
    record,
    row,
    service_on,
    told,
)
from triage.services.context import Context

HEADER = "node,kind,identity,slot,seen_at,cluster"
GPU = "GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b{:02d}"


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def hardware(ctx: Context, *rows: tuple[str, str, str, float], cluster: str = "a") -> None:
    """(node, kind, identity, hour) of each."""
    lines = [
        f"{node},{kind},{identity},,{at(hour):%Y-%m-%dT%H:%M:%SZ},{cluster}"
        for node, kind, identity, hour in rows
    ]
    assert imported(ctx, "\n".join([HEADER, *lines])).num_skipped == 0


def test_a_part_that_moved_is_in_the_record_with_its_stays(ctx: Context) -> None:
    for node in ("n12", "m7"):
        told(ctx, row(node, 0, 100, "completed", nodes=node, gpus=8))
    hardware(ctx, ("n12", "gpu", GPU.format(1), 1), ("m7", "gpu", GPU.format(1), 45))
    found = record(ctx)
    [moved] = found.moved
    assert moved.part.identity == GPU.format(1)
    assert [found.nodes[stay.node] for stay in moved.stays] == ["n12", "m7"]
    assert moved.stays[0].gone_ns == moved.stays[1].first_ns
    assert moved.stays[1].gone_ns is None


def test_what_is_told_later_or_of_another_cluster_has_not_moved_in_it(ctx: Context) -> None:
    for node in ("n12", "m7"):
        told(ctx, row(node, 0, 100, "completed", nodes=node, gpus=8))
    hardware(ctx, ("n12", "gpu", GPU.format(1), 1), ("m7", "gpu", GPU.format(1), 400))
    hardware(ctx, ("n12", "gpu", GPU.format(2), 1))
    hardware(ctx, ("m7", "gpu", GPU.format(2), 45), cluster="b")
    assert record(ctx, cluster="a", until=200).moved == ()
