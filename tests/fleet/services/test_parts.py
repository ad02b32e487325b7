"""What a part did in another node: in standings, priors, a node's history, and by its identity."""

from collections.abc import Iterator

import pytest

from models import Suspect
from tests.fleet.services.fleets import (
    CULPRIT,
    answered,
    at,
    failed,
    imported,
    row,
    service_on,
    told,
)
from triage.domain.standing import FleetStandings, Grade, PartKind
from triage.errors import Unprocessable
from triage.fleet.services.answers import look_at_standings
from triage.fleet.services.hooks import select_priors
from triage.fleet.services.parts import answer_hardware
from triage.services.context import Context
from triage.store import nodes

GPU = "GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14"
SLOT = "0000:5d:00"
HEADER = "node,kind,identity,slot,seen_at,cluster"


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def hardware(ctx: Context, *rows: tuple[str, float], slot: str = SLOT, kind: str = "gpu") -> None:
    lines = [f"{node},{kind},{GPU},{slot},{at(hour):%Y-%m-%dT%H:%M:%SZ},a" for node, hour in rows]
    assert imported(ctx, "\n".join([HEADER, *lines])).num_skipped == 0


def failure(ctx: Context, job: str, node: str, hour: float, gpu: str = SLOT) -> None:
    """A run of a day that fails at that hour, with this GPU of the node as the culprit."""
    told(ctx, row(job, hour - 24, hour, nodes=node, gpus=8))
    incident = failed(ctx, job, hour)
    answered(ctx, incident, "crash", "gpu", (node, CULPRIT, 0.9))
    with ctx.database.writing() as session:
        found = session.query(Suspect).filter_by(incident_id=incident).one()
        found.row = {**found.row, "gpus": [gpu]}


def standings(ctx: Context) -> FleetStandings:
    return look_at_standings(ctx, until=at(700), cluster="a")


def moved(ctx: Context) -> None:
    """The GPU fails twice in n12, sits in m7 from hour 120 on, and fails once there."""
    for job, node, hour in (("1", "n12", 48), ("2", "n12", 96), ("3", "m7", 200)):
        failure(ctx, job, node, hour)
    hardware(ctx, ("n12", 30), ("n12", 72), ("m7", 120))


def test_a_part_that_failed_elsewhere_is_said_of_the_node_that_has_it(ctx: Context) -> None:
    moved(ctx)
    found = standings(ctx)
    [m7] = [one for one in found.nodes if one.node == "m7"]
    text = (
        f"its {GPU} in slot {SLOT} sat in n12 until 2026-11-04, and was named there in"
        " 2 interruptions"
    )
    assert m7.hardware == (text,)
    assert m7.reasons[-1] == text
    assert [one.hardware for one in found.nodes if one.node == "n12"] == [()]


def test_it_is_among_the_parts_that_are_named_again(ctx: Context) -> None:
    moved(ctx)
    [part] = [one for one in standings(ctx).parts if len(one.nodes) > 1]
    assert (part.kind, part.node, part.nodes, part.interruptions) == (
        PartKind.PART, "m7", ("n12", "m7"), 3,
    )  # fmt: skip
    assert "in n12 until 2026-11-04 (2), in m7 since 2026-11-06 (1)" in part.text


def test_it_is_a_prior_and_changes_no_grade(ctx: Context) -> None:
    moved(ctx)
    before = {one.node: one.grade for one in standings(ctx).nodes}
    prior = select_priors(standings(ctx), {"m7"})["m7"]
    assert prior.grade is Grade.WATCH
    assert before["m7"] not in (Grade.LEMON, Grade.WATCH)
    assert prior.text.startswith(f"before this incident its {GPU}")
    assert prior.text.endswith("(a prior, no evidence)")


@pytest.mark.parametrize(
    ("gpu", "hour"),
    [
        ("0000:1b:00", 48),  # another slot
        (SLOT, 160),  # behind the move
        (SLOT, 25),  # long before it was seen there
    ],
)
def test_what_another_part_did_is_not_said_of_it(ctx: Context, gpu: str, hour: float) -> None:
    failure(ctx, "1", "n12", hour, gpu)
    told(ctx, row("2", 130, 150, "completed", nodes="m7", gpus=8))
    hardware(ctx, ("n12", 72), ("m7", 120))
    found = standings(ctx)
    assert not any(one.hardware for one in found.nodes)
    assert all(len(part.nodes) == 1 for part in found.parts)


def test_a_part_that_went_back_is_said_of_nobody_else(ctx: Context) -> None:
    failure(ctx, "1", "n12", 48)
    failure(ctx, "2", "n12", 300)
    hardware(ctx, ("n12", 30), ("m7", 120), ("n12", 240))
    assert not any(one.hardware for one in standings(ctx).nodes)


def test_a_part_that_two_nodes_claim_convicts_neither(ctx: Context) -> None:
    failure(ctx, "1", "n12", 48)
    for hour in (24, 72, 120):
        hardware(ctx, ("n12", hour), ("m7", hour))
    assert not any(one.hardware for one in standings(ctx).nodes)


def test_the_history_of_a_node_has_its_parts_and_where_each_was(ctx: Context) -> None:
    moved(ctx)
    with ctx.database.reading() as session:
        here = nodes.read_history(session, "m7", cluster="a")
        there = nodes.read_history(session, "n12")
        nowhere = nodes.read_history(session, "m7", cluster="b")
    assert here is not None
    assert there is not None
    assert nowhere is None
    [part] = here["parts"]
    assert (part["identity"], part["slot"]) == (GPU, SLOT)
    [other] = part["elsewhere"]
    assert (other["node"], other["incidents"]) == ("n12", 2)
    assert [one["node"] for one in there["parts"][0]["elsewhere"]] == ["m7"]


@pytest.mark.parametrize("text", [GPU, GPU.lower(), GPU.upper(), GPU.removeprefix("GPU-")])
def test_a_part_is_found_in_any_spelling(ctx: Context, text: str) -> None:
    moved(ctx)
    found = answer_hardware(ctx, identity=text, cluster="a")
    assert [(stay.node, stay.slot) for stay in found.stays] == [("m7", SLOT), ("n12", SLOT)]
    assert not found.more
    assert answer_hardware(ctx, node="n12").stays == found.stays[1:]
    assert answer_hardware(ctx, identity=text, limit=1).more
    assert answer_hardware(ctx, identity=text, cluster="b").stays == ()


@pytest.mark.parametrize("text", [None, "", "N/A", "%", "' or 1=1 --", "x" * 300, "\x00"])
def test_what_is_no_identity_is_refused(ctx: Context, text: str | None) -> None:
    with pytest.raises(Unprocessable):
        answer_hardware(ctx, identity=text)
