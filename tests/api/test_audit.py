"""Who did what: acts are written down, listed and filtered; tokens show when they were used."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import pytest
from sqlalchemy import event

from tests.api.service import Service
from tests.support.waiting import eventually
from triage.api.limits.token_lookup import LastUse
from triage.clock import read_utc_now
from triage.services.tokens import create_token, list_tokens, revoke_token

LOG = b"<6>[ 1.0] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"
RUNS = b"job_id,start,end,state,nodes\n1,2026-11-01T00:00:00Z,2026-11-01T01:00:00Z,FAILED,n1\n"


@pytest.fixture(scope="module")
def keys(service: Service) -> Mapping[str, str]:
    return {key.name: key.id for key in list_tokens(service.ctx)}


def acts(service: Service, query: str = "") -> list[tuple[str, str, str]]:
    answer = service.get(f"/v1/audit?limit=500{query}")
    assert answer.status == 200, answer.body
    return [(one["actor"], one["action"], one["subject"]) for one in answer.json()["items"]]


def test_what_opens_or_changes_something_is_written_down_with_its_token(
    service: Service, keys: Mapping[str, str]
) -> None:
    mine = keys["ingest"]
    hooked = service.opened("hooked")
    file = service.post("/v1/jobs/sent/artifacts?node=n", LOG, token="ingest").json()
    service.post("/v1/fleet/import", RUNS, token="ingest")
    told = {"job_id": "ran", "started_at": 1793500000, "ended_at": 1793503600, "state": "FAILED"}
    service.post("/v1/hooks/job-ended", told, token="ingest")
    made = service.post("/v1/subscriptions", {"kind": "generic", "url": "http://127.0.0.1:1/"})
    service.post(f"/v1/incidents/{hooked}/resolution", {"category": "gpu"}, token="read")

    found = acts(service)
    assert {
        (mine, "open incident", hooked),
        (mine, "open incident", file["incident_id"]),
        (mine, "import", "fleet"),
        (mine, "end job", "ran"),
        (keys["admin"], "subscribe", made.json()["id"]),
        (keys["read"], "resolve", hooked),
        ("test", "create token", mine),
    } <= set(found)


def test_what_is_said_again_adds_no_act(service: Service) -> None:
    incident = service.opened("again")
    service.opened("again")
    number = len(acts(service))
    for _ in range(3):
        service.opened("again")
        service.post(f"/v1/jobs/again/artifacts?incident={incident}&node=n", LOG, token="ingest")
        service.post("/v1/fleet/import", RUNS, token="ingest")
    assert len(acts(service)) == number


def test_acts_are_filtered_and_paged(service: Service, keys: Mapping[str, str]) -> None:
    incident = service.opened("filtered")
    everything = acts(service)
    assert acts(service, f"&subject={incident}") == [(keys["ingest"], "open incident", incident)]
    for query, place, value in (
        (f"&actor={keys['ingest']}", 0, keys["ingest"]),
        ("&action=create%20token", 1, "create token"),
    ):
        assert acts(service, query) == [one for one in everything if one[place] == value] != []
    later = (read_utc_now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert acts(service, f"&since={later}") == []
    paged, cursor = [], ""
    while True:
        answer = service.get(f"/v1/audit?limit=2{cursor}").json()
        paged += [(one["actor"], one["action"], one["subject"]) for one in answer["items"]]
        if answer["next_cursor"] is None:
            break
        cursor = f"&cursor={answer['next_cursor']}"
    assert paged == everything
    assert service.get("/v1/audit?cursor=nonsense").status == 422


def test_a_token_shows_when_it_was_used_last(service: Service) -> None:
    key, token = create_token(service.ctx, "used", ["read"], "test")
    for _ in range(3):
        assert service.get("/v1/incidents", token=token).status == 200

    def used() -> bool:
        return any(
            one.last_used_at is not None for one in list_tokens(service.ctx) if one.id == key.id
        )

    assert eventually(used)


def test_the_last_use_is_written_once_a_minute_and_beside_requests(service: Service) -> None:
    keys = [create_token(service.ctx, f"busy {n}", ["read"], "test")[0].id for n in range(20)]
    writes: list[str] = []

    def count(_conn, _cursor, statement, *_rest) -> None:
        writes.extend([statement] * statement.startswith("UPDATE api_key"))

    async def burst() -> None:
        last_use = LastUse(service.ctx, gather_s=0.0)
        for _ in range(1000):
            for key in keys:
                last_use.note(key)
        assert writes == []
        assert last_use.writing is not None
        await last_use.writing
        for key in keys:
            last_use.note(key)
        await asyncio.sleep(0)
        assert last_use.waiting == set()

    event.listen(service.ctx.database.engine, "before_cursor_execute", count)
    try:
        asyncio.run(burst())
    finally:
        event.remove(service.ctx.database.engine, "before_cursor_execute", count)
    assert len(writes) == 1
    shown = {one.id: one.last_used_at for one in list_tokens(service.ctx)}
    assert all(shown[key] is not None for key in keys)


def test_tokens_that_end_soon_warn(service: Service) -> None:
    readiness = service.app.state.triage.readiness
    assert readiness.tokens() == ("ok", "")
    soon, late = read_utc_now() + timedelta(days=13), read_utc_now() + timedelta(days=15)
    key, _ = create_token(service.ctx, "soon", ["read"], "test", soon)
    create_token(service.ctx, "late", ["read"], "test", late)
    create_token(service.ctx, "over", ["read"], "test", read_utc_now() - timedelta(days=1))
    state, why = readiness.tokens()
    assert (state, why) == (
        "warn",
        "1 will have ended within 14 days: `triage token list` names them",
    )
    revoke_token(service.ctx, key.id, "test")
    assert readiness.tokens() == ("ok", "")
