"""A node that is renamed goes on in the record under its new name; a replaced one begins."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.fleet.services.fleets import (
    CULPRIT,
    answered,
    at,
    failed,
    imported,
    node_hours,
    record,
    row,
    service_on,
    told,
)
from triage.fleet.record.columns import FleetRecord
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


def outage(ctx: Context, node: str, begin: float, end: float) -> None:
    times = f"{at(begin):%Y-%m-%dT%H:%M:%SZ},{at(end):%Y-%m-%dT%H:%M:%SZ}"
    imported(ctx, f"node,from,to,reason,cluster\n{node},{times},xid 79,a")


def accused(found: FleetRecord) -> Counter[str]:
    return Counter(found.nodes[place] for place in found.accusations.node.tolist())


def out(found: FleetRecord) -> Counter[str]:
    return Counter(found.nodes[place] for place in found.outages.node.tolist())


def two_failures(ctx: Context, first: str, second: str) -> None:
    """A run until hour 10 on the first node, one from 50 to 60 on the second, both fail there."""
    for job, node, hour in (("1", first, 10), ("2", second, 60)):
        told(ctx, row(job, hour - 10, hour, nodes=node, gpus=8))
        answered(ctx, failed(ctx, job, hour), "crash", "gpu", (node, CULPRIT, 0.9))
        outage(ctx, node, hour, hour + 5)


def test_a_renamed_node_goes_on_under_its_new_name(ctx: Context) -> None:
    two_failures(ctx, "n12", "m7")
    before = record(ctx)
    assert accused(before) == {"n12": 1, "m7": 1}
    hardware(ctx, ("n12", "chassis", "J3009X4K", 1), ("m7", "chassis", "J3009X4K", 45))
    found = record(ctx)
    assert found.nodes == ("m7",)
    assert accused(found) == out(found) == {"m7": 2}
    assert node_hours(found) == {"m7": 20}
    assert "n12 is called m7 since 2026-11-02 (same chassis serial)" in found.notes


def test_a_replaced_node_begins_a_new_history(ctx: Context) -> None:
    two_failures(ctx, "n12", "n12")
    hardware(ctx, ("n12", "chassis", "J3009X4K", 1), ("n12", "chassis", "K4410Y5L", 45))
    found = record(ctx)
    assert found.nodes == ("n12", "n12 (until 2026-11-02)")
    assert accused(found) == out(found) == {"n12": 1, "n12 (until 2026-11-02)": 1}
    assert node_hours(found) == {"n12": 10, "n12 (until 2026-11-02)": 10}


def test_names_that_are_swapped_swap_histories(ctx: Context) -> None:
    two_failures(ctx, "n1", "n1")
    told(ctx, row("3", 0, 10, "completed", nodes="n2", gpus=8))
    hardware(ctx, ("n1", "chassis", "J3009X4K", 1), ("n2", "chassis", "K4410Y5L", 1))
    hardware(ctx, ("n2", "chassis", "J3009X4K", 45), ("n1", "chassis", "K4410Y5L", 45))
    found = record(ctx)
    assert found.nodes == ("n1", "n2")
    assert accused(found) == {"n2": 1, "n1": 1}
    assert node_hours(found) == {"n1": 20, "n2": 10}


def test_a_name_that_is_used_on_is_a_node_again(ctx: Context) -> None:
    two_failures(ctx, "n12", "n12")
    hardware(ctx, ("n12", "chassis", "J3009X4K", 1), ("m7", "chassis", "J3009X4K", 45))
    found = record(ctx)
    assert found.nodes == ("m7", "n12")
    assert accused(found) == {"m7": 1, "n12": 1}


def test_a_cloud_instance_is_known_by_its_gpus(ctx: Context) -> None:
    two_failures(ctx, "ip-10-0-0-4", "ip-10-0-9-9")
    for node, hour in (("ip-10-0-0-4", 1), ("ip-10-0-9-9", 45)):
        hardware(ctx, *((node, "gpu", GPU.format(gpu), hour) for gpu in range(8)))
    assert accused(record(ctx)) == {"ip-10-0-9-9": 2}


def test_two_records_that_contradict_each_other_change_nothing(ctx: Context) -> None:
    two_failures(ctx, "n12", "m7")
    for hour in (1, 30, 45):
        hardware(ctx, ("n12", "chassis", "J3009X4K", hour), ("m7", "chassis", "J3009X4K", hour))
    found = record(ctx)
    assert accused(found) == {"n12": 1, "m7": 1}
    assert "m7 and n12 both claim chassis J3009X4K at the same time: it counts for neither" in (
        found.notes
    )


def test_another_cluster_renames_nobody(ctx: Context) -> None:
    two_failures(ctx, "n12", "m7")
    hardware(ctx, ("n12", "chassis", "J3009X4K", 1))
    hardware(ctx, ("m7", "chassis", "J3009X4K", 45), cluster="b")
    assert accused(record(ctx, cluster="a")) == {"n12": 1, "m7": 1}


def test_what_is_told_later_than_the_record_is_not_known_in_it(ctx: Context) -> None:
    two_failures(ctx, "n12", "m7")
    hardware(ctx, ("n12", "chassis", "J3009X4K", 1), ("m7", "chassis", "J3009X4K", 400))
    assert accused(record(ctx, until=200)) == {"n12": 1, "m7": 1}


def test_a_part_that_moved_is_in_the_record_with_its_stays(ctx: Context) -> None:
    two_failures(ctx, "n12", "m7")
    hardware(ctx, ("n12", "gpu", GPU.format(1), 1), ("m7", "gpu", GPU.format(1), 45))
    found = record(ctx)
    [moved] = found.moved
    assert moved.part.identity == GPU.format(1)
    assert [found.nodes[stay.node] for stay in moved.stays] == ["n12", "m7"]
    assert moved.stays[0].gone_ns == moved.stays[1].first_ns
    assert moved.stays[1].gone_ns is None
