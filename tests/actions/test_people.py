"""How people decide: routes, the command, pages, and the link of a message."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from models import Action
from tests.actions.sites import NODE, Site
from tests.api.service import Service, context_at, serving
from tests.web.site import Reading, Visit
from triage import clock
from triage.actions.names import describe_decider, parse_link_name
from triage.actions.services import decide
from triage.actions.services.links import make_decide_url
from triage.cli.main import main
from triage.clock import read_utc_now
from triage.errors import Unprocessable
from triage.notify.registry import check_takes
from triage.notify.request import Kind, Target
from triage.services.notifications.subscribe import subscribe
from triage.store.access import audit
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


def link(site: Site) -> str:
    one = waiting(site)
    with site.ctx.database.reading() as session:
        return make_decide_url(session, site.ctx.settings, one).removeprefix("http://127.0.0.1:1")


def fields(path: str, **more: str) -> dict[str, str]:
    until, proof = (pair.partition("=")[2] for pair in path.partition("?")[2].split("&"))
    return {"until": until, "proof": proof, "name": "Ann", "decision": "approve", **more}


def test_routes_list_ask_approve_undo_and_stop(service: Service, site: Site) -> None:
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
    halted = service.post("/v1/actuator/halt", {"reason": "enough"}).json()
    assert halted["halted"]["reason"] == "enough"
    ready = service.get("/readyz", token=None).json()
    assert "halted" in json.dumps(ready)
    assert b"triage_actuator_halted 1.0" in service.get("/metrics", token=None).body
    assert service.post("/v1/actuator/resume").json()["halted"] is None


def test_the_command(service: Service, site: Site, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TRIAGE_URL", f"http://127.0.0.1:{service.port}")
    monkeypatch.setenv("TRIAGE_TOKEN", service.tokens["admin"])
    monkeypatch.delenv("TRIAGE_TOKEN_FILE", raising=False)
    incident = site.incident()
    act = waiting(site)

    assert main(["act", "list"]) == 0
    said = capsys.readouterr().out
    assert "mode approve, slurm, cluster a" in said
    assert f"{act.id} proposed" in said
    assert main(["act", "drain", incident, "--dry-run"]) == 0
    assert f"would drain {NODE}" in capsys.readouterr().out
    assert main(["act", "drain", incident, "--node", "gpu-0103"]) == 2
    assert (
        "not convicted by this answer (rule convicted); those that are" in capsys.readouterr().err
    )
    assert main(["act", "approve", act.id, "--wait", "0"]) == 0
    site.work()
    assert main(["act", "undo", incident, "--wait", "0"]) == 0
    site.work()
    assert site.drained == []
    assert main(["act", "undo", incident]) == 2
    assert main(["act", "halt", "--reason", "enough"]) == 0
    assert "halted since" in capsys.readouterr().out
    assert main(["act", "resume"]) == 0


def test_a_link_shows_a_page_and_decides_nothing(service: Service, site: Site) -> None:
    site.incident()
    visit = Visit(service)
    path = link(site)
    for _ in range(3):  # previews of links
        page = visit.read(path)
    assert NODE in page.words
    assert site.states() == [("drain", "proposed")]

    answer = visit.submit(path.partition("?")[0], fields(path))
    assert answer.status == 200
    said = 'approved, by somebody with the link, said to be "Ann"'
    assert said in Reading(answer.body.decode()).words
    with site.ctx.database.reading() as session:
        [step] = audit.list_acts(session, 9, action="act approved")
    assert step.actor == "link:Ann"
    site.work()
    assert site.drained == [NODE]
    again = visit.submit(path.partition("?")[0], fields(path))
    assert again.status == 409
    shown = Reading(again.body.decode()).words
    assert 'is done by somebody with the link, said to be "Ann"' in shown
    assert visit.get(path).status == 409


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"name": ""}, 422),
        ({"name": "A\x07"}, 422),
        ({"decision": "undo"}, 422),
        ({"proof": "A" * 43}, 404),
        ({"proof": ""}, 404),
        ({"until": "9999999999"}, 404),
        ({"until": "x"}, 404),
        ({"until": "0"}, 404),
    ],
)
def test_a_link_that_is_none_decides_nothing(
    service: Service, site: Site, change: dict[str, str], status: int
) -> None:
    site.incident()
    path = link(site)
    answer = Visit(service).submit(path.partition("?")[0], fields(path, **change))
    assert answer.status == status
    assert site.states() == [("drain", "proposed")]


def test_a_link_is_of_one_act_and_of_our_own_pages(service: Service, site: Site) -> None:
    site.incident()
    first = link(site)
    site.incident(node="gpu-0121")
    other = next(one for one in site.acts() if one.node == "gpu-0121")
    assert Visit(service).submit(f"/actions/{other.id}/decide", fields(first)).status == 404
    foreign = Visit(service).submit(
        first.partition("?")[0], fields(first), Origin="https://evil.example"
    )
    assert foreign.status == 403
    with site.ctx.database.writing() as session:
        session.execute(update(Action).values(expires_at=read_utc_now() + timedelta(hours=1)))
    assert Visit(service).get(first).status == 404  # its end is another one by now
    assert {state for _, state in site.states()} == {"proposed"}


def test_a_link_ends_with_the_time_that_it_names(
    service: Service, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.incident()
    path = link(site)
    monkeypatch.setattr(clock, "read", lambda: datetime.now(UTC) + timedelta(days=30))
    assert Visit(service).get(path).status == 404
    monkeypatch.setattr(clock, "read", lambda: datetime.now(UTC) - timedelta(days=30))
    assert Visit(service).get(path).status == 200


def test_a_refusal_by_link(service: Service, site: Site) -> None:
    site.incident()
    path = link(site)
    Visit(service).submit(path.partition("?")[0], fields(path, decision="refuse"))
    site.again()
    assert (site.states(), site.drained) == ([("drain", "refused")], [])


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
    decide.approve(site.ctx, act.id, "key_ann")
    site.work()
    page = reader.read(f"/incidents/{incident}")
    assert f"drain {NODE}: done" in page.words
    assert f"triage act undo {act.id}" in page.words
    decide.halt(site.ctx, "key_ann", "<b>stop")
    assert "<b>stop" in reader.read("/overview").words
    for path in ("/actions", f"/actions/{act.id}", f"/actions/{act.id}/approve"):
        assert reader.get(path).status == 404


def test_who_wants_to_know_is_told_with_the_link(site: Site) -> None:
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
        address = make_decide_url(session, site.ctx.settings, waiting(site))
    body = json.loads(message.body)
    assert body["type"] == "action.proposed"
    assert body["data"]["url"] == address
    assert "/decide?until=" in address
    assert b"Approve? drain gpu-0102" in words.body
    assert told == {"incident.ready"}


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Ann", "link:Ann"),
        ("  Ann \n Lee ", "link:Ann Lee"),
        ("Zoe\u0308 O'Neill-Ruiz, ops@x (night)", "link:Zo\u00eb O'Neill-Ruiz, ops@x (night)"),
        ("\u674e\u96f7", "link:\u674e\u96f7"),
        ("\u0905\u0928\u0940", "link:\u0905\u0928\u0940"),
        ("A" * 100, "link:" + "A" * 100),
        ("A" * 101, None),
        ("", None),
        (" ,. ", None),
        ("\u0301", None),
        ("Ann\x07", None),
        ("Ann\u202e", None),
        ("An\u200bn", None),
        ("Ann\ud800", None),
        ('Ann", decided by "key_1', None),
        ("key_01:approved", None),
        ("<b>Ann</b>", None),
        ("Ann \U0001f600", None),
    ],
)
def test_names_that_are_typed_on_a_link(typed: str, kept: str | None) -> None:
    assert parse_link_name(typed) == kept


def test_only_a_link_is_said_to_be_somebody() -> None:
    assert describe_decider("link:Ann") == 'somebody with the link, said to be "Ann"'
    assert [describe_decider(by) for by in ("key_1", "triage")] == ["key_1", "triage"]


@pytest.mark.parametrize("kind", [Kind.PAGERDUTY, Kind.ALERTMANAGER])
def test_an_act_is_no_alarm(kind: Kind) -> None:
    with pytest.raises(Unprocessable, match="an act on a node is none"):
        check_takes(kind, ["incident.ready", "action.proposed"])
