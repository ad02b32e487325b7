"""How people decide: routes, the command, pages and messages."""

import json
from collections.abc import Iterator

import pytest

from tests.actions.sites import NODE, Site
from tests.api.service import Service, context_at, serving
from tests.web.site import Visit
from triage.cli.main import main
from triage.errors import Unprocessable
from triage.notify.message import Kind, Target
from triage.notify.registry import check_takes
from triage.services.notifications.subscribe import subscribe
from triage.store.messages import deliveries


@pytest.fixture
def site(tmp_path) -> Iterator[Site]:
    ctx = context_at(tmp_path / "data", act_mode="approve", act_system="slurm", act_cluster="a",
                     public_url="http://127.0.0.1:1")  # fmt: skip
    found = Site(ctx, act_mode="approve")
    yield found
    ctx.close()


@pytest.fixture
def service(site: Site) -> Iterator[Service]:
    with serving(site.ctx) as found:
        yield found


def waiting(site: Site):
    return next(one for one in site.acts() if str(one.state) == "proposed")


def test_routes_list_ask_approve_and_undo(service: Service, site: Site) -> None:
    incident = site.incident()
    [listed] = service.get("/v1/actions?state=proposed", token="read").json()["items"]
    path = f"/v1/actions/{listed['id']}"
    assert service.post(f"{path}/approve", token="read").status == 403
    assert service.post(f"{path}/approve").json()["state"] == "approved"
    assert service.post(f"{path}/approve").status == 409
    site.work()
    found = service.get(path, token="read").json()
    assert (found["state"], found["node"], found["incident_id"]) == ("done", NODE, incident)
    assert found["after"]["drained"] is True

    asked = service.post(f"/v1/incidents/{incident}/actions", {"verb": "drain"})
    assert asked.status == 409
    assert "rule once" in asked.problem()["detail"]
    for body, status in (
        ({"verb": "shutdown"}, 422),
        ({"verb": "drain", "node": 3}, 422),
        ({}, 422),
    ):
        assert service.post(f"/v1/incidents/{incident}/actions", body).status == status
    assert service.post("/v1/incidents/inc_none/actions", {"verb": "drain"}).status == 404

    assert service.post(f"{path}/undo").json()["verb"] == "undrain"
    site.work()
    assert site.drained == []


def test_the_command(service: Service, site: Site, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TRIAGE_URL", f"http://127.0.0.1:{service.port}")
    monkeypatch.setenv("TRIAGE_TOKEN", service.tokens["admin"])
    monkeypatch.delenv("TRIAGE_TOKEN_FILE", raising=False)
    incident = site.incident()
    act = waiting(site)

    assert main(["act", "list"]) == 0
    said = capsys.readouterr().out
    assert f"{act.id} proposed" in said
    assert main(["act", "drain", incident, "--dry-run"]) == 0
    assert f"would drain {NODE}" in capsys.readouterr().out
    assert main(["act", "drain", incident, "--node", "gpu-0103"]) == 2
    assert (
        "not convicted by this answer (rule convicted) (those that are" in capsys.readouterr().err
    )
    assert main(["act", "approve", act.id, "--wait", "0"]) == 0
    site.work()
    assert main(["act", "undo", incident, "--wait", "0"]) == 0
    site.work()
    assert site.drained == []
    assert main(["act", "undo", incident]) == 2


def test_the_page_of_an_incident_says_how_its_acts_stand(service: Service, site: Site) -> None:
    incident = site.incident()
    act = waiting(site)
    reader = Visit(service)
    reader.log_in("read")
    page = reader.read(f"/incidents/{incident}")
    assert f"drain {NODE}: proposed" in page.words
    assert f"triage act approve {act.id}" in page.words
    assert page.all("li", id=act.id)
    assert "1 to approve" in reader.read("/overview").words
    assert f"/incidents/{incident}#{act.id}" in reader.read("/overview").links()
    site.decide("approve", act.id)
    site.work()
    page = reader.read(f"/incidents/{incident}")
    assert f"drain {NODE}: done" in page.words
    assert f"triage act undo {act.id}" in page.words
    for path in ("/actions", f"/actions/{act.id}", f"/actions/{act.id}/approve"):
        assert reader.get(path).status == 404


def test_who_wants_to_know_is_told_with_the_page(site: Site) -> None:
    target = Target(Kind.GENERIC, "http://127.0.0.1:9/x")
    events = ["action.proposed", "action.done"]
    receiving = subscribe(site.ctx, target, None, events, "test")
    slack = subscribe(site.ctx, Target(Kind.SLACK, "http://127.0.0.1:9/y"), None, events, "test")
    silent = subscribe(site.ctx, target, None, None, "test")
    site.incident()
    with site.ctx.database.reading() as session:
        [message] = deliveries.list_pending(session, receiving.id)
        [words] = deliveries.list_pending(session, slack.id)
        told = {one.event for one in deliveries.list_pending(session, silent.id)}
    body = json.loads(message.body)
    assert body["type"] == "action.proposed"
    act = waiting(site)
    assert body["data"]["url"] == f"http://127.0.0.1:1/incidents/{act.incident_id}#{act.id}"
    assert b"Approve? drain gpu-0102" in words.body
    assert told == {"incident.ready"}


@pytest.mark.parametrize("kind", [Kind.PAGERDUTY, Kind.ALERTMANAGER])
def test_an_act_is_no_alarm(kind: Kind) -> None:
    with pytest.raises(Unprocessable, match="an act on a node is none"):
        check_takes(kind, ["incident.ready", "action.proposed"])
