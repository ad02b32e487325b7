"""The overview: what is open, what is due, what was done, and who sees which of it."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.api.service import Service
from tests.web.fleet_site import fleet_service
from tests.web.site import Visit
from triage.actions.services.acts import ActingOnNodes
from triage.domain.acting import ActionState, Verb
from triage.services.context import ShownActs
from triage.services.tokens import create_token

ACT = SimpleNamespace(
    id="act_1", node="n<7>", verb=Verb.DRAIN, state=ActionState.PROPOSED, incident_id="inc_1",
    at=datetime(2026, 11, 21, tzinfo=UTC),
)  # fmt: skip


def board(service: Service, **headers: str):
    return Visit(service).get("/overview/board", **headers)


def test_an_incident_stands_there_until_somebody_says_what_it_was(
    opened: Service, ready: str
) -> None:
    page = Visit(opened).read("/overview")
    assert f"/incidents/{ready}" in page.links()
    assert "/nodes/gpu-0102" in page.links()
    for words in ("Open incidents 1", "culprit gpu-0102", "confidence 0.9", "fallen off the bus"):
        assert words in page.words

    opened.post(f"/v1/incidents/{ready}/resolution", {"category": "gpu"}, token=None)

    page = Visit(opened).read("/overview")
    assert "Open incidents 0" in page.words
    assert f"/incidents/{ready}" not in page.links()


def test_the_part_comes_again_only_where_something_has_changed(opened: Service, ready: str) -> None:
    first = board(opened)
    assert first.headers["etag"] in first.body.decode().replace("&#34;", '"').replace("\\", "")
    assert board(opened, if_none_match=first.headers["etag"]).status == 304
    opened.post("/v1/hooks/job-failed", {"job_id": "one more"}, token=None)
    again = board(opened, if_none_match=first.headers["etag"])
    assert again.status == 200
    assert "one more" in again.body.decode()


def test_acts_that_wait_come_first(opened: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Acts on nodes" not in Visit(opened).read("/overview").words
    done = SimpleNamespace(**{**vars(ACT), "id": "act_2", "state": ActionState.DONE, "node": "n8"})
    acts = ShownActs([ACT], [done])
    monkeypatch.setattr(ActingOnNodes, "list_shown", lambda *_: acts)

    page = Visit(opened).read("/overview")

    words = page.words
    assert "Acts on nodes 1 to approve" in words
    places = [words.index(part) for part in ("drain n<7> waits", "drain n8")]
    assert places == sorted(places)
    assert "/nodes/n%3C7%3E" in page.links()


def test_a_token_of_a_cluster_sees_its_incidents_and_no_queue(service: Service) -> None:
    for name in ("east", "west"):
        _, token = create_token(service.ctx, name, ["read", "ingest"], "test", cluster=name)
        service.post("/v1/hooks/job-failed", {"job_id": f"job-{name}"}, token=token)
    page = service.get("/overview", token=token).body.decode()
    assert "job-west" in page
    assert "job-east" not in page
    assert 'href="/queue">Queue</a>:' not in page
    assert service.get("/overview?cluster=east", token=token).status == 404
    everything = service.get("/overview", token="read").body.decode()
    assert "job-east" in everything
    assert 'href="/queue">Queue</a>:' in everything
    of_east = service.get("/overview?cluster=east", token="read").body.decode()
    assert "job-east" in of_east
    assert "job-west" not in of_east
    assert "/overview/board?cluster=east" in of_east


def test_nodes_of_a_fleet_and_their_checks(tmp_path: Path) -> None:
    with fleet_service(tmp_path) as service:
        page = Visit(service).read("/overview")
        rows = service.get("/v1/fleet/checks?state=due", token=None).json()["items"]
    assert rows
    assert f"{rows[0]['node']} {rows[0]['check']} due" in page.words
    assert "Nodes on probation" in page.words
