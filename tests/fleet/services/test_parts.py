"""Where a part was: in a node's history, and by its identity."""

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
from triage.errors import Unprocessable
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


def moved(ctx: Context) -> None:
    """The GPU fails twice in n12, sits in m7 from hour 120 on, and fails once there."""
    for job, node, hour in (("1", "n12", 48), ("2", "n12", 96), ("3", "m7", 200)):
        failure(ctx, job, node, hour)
    hardware(ctx, ("n12", 30), ("n12", 72), ("m7", 120))


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
