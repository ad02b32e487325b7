"""Who sees pages, and whose forms count."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from tests.api.service import Service
from tests.web.site import Reading, Visit
from triage.server.application import PAGES
from triage.services import tokens
from triage.services.tokens import create_token, revoke_token
from triage.web.routers.login import place_to_go

OPEN_TO_ALL = {"/login"}
GETS = sorted(
    {
        route.path
        for router in PAGES
        for route in router.routes
        if "GET" in route.methods and route.path not in OPEN_TO_ALL
    }
)
POSTS = sorted(
    {
        route.path
        for router in PAGES
        for route in router.routes
        # What programs ask, with a token of their own, has no login to go to: it answers 401.
        if "POST" in route.methods and route.path != "/mcp"
    }
)


def filled(path: str) -> str:
    return re.sub(r"\{[a-z]+\}", "x", path)


def test_the_routes_are_those_that_are_meant() -> None:
    assert len(GETS) == 22, GETS
    assert POSTS == [
        "/incidents/{id}/resolution", "/login", "/logout",
        "/queue/deliveries/{id}/resend", "/upload/bundle",
    ]  # fmt: skip


@pytest.mark.parametrize("path", GETS)
def test_without_a_login_every_page_asks_for_one_and_says_nothing(
    service: Service, path: str
) -> None:
    answer = Visit(service).get(filled(path) + "?a=b")
    assert answer.status == 303
    assert answer.headers["location"] == "/login?next=" + quote(filled(path) + "?a=b", safe="")
    assert answer.body == b""


@pytest.mark.parametrize("path", [path for path in POSTS if path != "/login"])
def test_without_a_login_nothing_can_be_sent(service: Service, path: str) -> None:
    answer = Visit(service).submit(filled(path), {"category": "gpu"})
    # A script reads the answer of the one, a person that of the others.
    assert (answer.status, answer.headers.get("location")) == (303, "/login")


def test_a_login_gives_a_cookie_that_no_script_and_no_other_site_gets(service: Service) -> None:
    visit = Visit(service)
    answer = visit.submit("/login", {"token": service.tokens["read"], "next": "/queue"})
    assert (answer.status, answer.headers["location"]) == (303, "/queue")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert service.tokens["read"] not in cookie
    assert service.tokens["read"].split("_", 2)[2] not in cookie
    assert "Incidents" in visit.read("/incidents").words


def test_the_secret_is_not_in_the_database(service: Service) -> None:
    visit = Visit(service)
    visit.log_in("read")
    secret = visit.cookie.partition("=")[2].encode()
    folder = service.ctx.settings.data_dir
    assert all(secret not in path.read_bytes() for path in folder.glob("triage.db*"))


def test_the_cookie_is_secure_where_people_come_over_tls(service: Service) -> None:
    visit = Visit(service)
    token = service.tokens["read"]
    object.__setattr__(service.ctx.settings, "public_url", "https://triage.example")
    try:
        answer = visit.submit("/login", {"token": token}, Origin="https://triage.example")
        assert answer.status == 303
        said = answer.headers["set-cookie"].split("; ")
        assert {"Secure", "Path=/"} <= set(said)
        assert not any(part.startswith("Domain") for part in said)
        assert said[0].startswith("__Host-triage_session=")
        # What came over plain http, where others may have set it, opens nothing over TLS.
        secret = said[0].partition("=")[2]
        assert Visit(service, f"triage_session={secret}").get("/incidents").status == 303
        assert Visit(service, said[0]).get("/incidents").status == 200
    finally:
        object.__setattr__(service.ctx.settings, "public_url", "")


@pytest.mark.parametrize("token", ["", "x", "triage_" + "0" * 20 + "_" + "A" * 43, "\u202e" * 600])
def test_a_wrong_token_is_said_to_be_wrong_and_not_said_again(service: Service, token: str) -> None:
    visit = Visit(service)
    answer = visit.submit("/login", {"token": token})
    assert answer.status == 401
    assert not visit.cookie
    page = Reading(answer.body.decode())
    assert "not known" in page.words
    [field] = page.all("input", name="token")
    assert "value" not in field


@pytest.mark.parametrize(
    ("wanted", "goes"),
    [
        ("/queue", "/queue"),
        ("/incidents?node=n3&category=gpu", "/incidents?node=n3&category=gpu"),
        ("/nodes/a%2Fb", "/nodes/a%2Fb"),
        ("//evil.example", "/incidents"),
        ("/\\evil.example", "/incidents"),
        ("https://evil.example/", "/incidents"),
        ("javascript:alert(1)", "/incidents"),
        ("/a\r\nSet-Cookie: x=y", "/incidents"),
        ("/" + "a" * 5000, "/incidents"),
        ("", "/incidents"),
        (None, "/incidents"),
    ],
)
def test_a_login_leads_to_places_of_ours_alone(wanted: str | None, goes: str) -> None:
    assert place_to_go(wanted) == goes


@pytest.mark.parametrize("end", ["revoked", "expired", "log out", "old"])
def test_a_session_ends_everywhere_at_once(
    service: Service, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    key, token = create_token(service.ctx, end, ["read"], "test", later)
    visit = Visit(service)
    visit.submit("/login", {"token": token})
    copied = Visit(service, visit.cookie)
    assert copied.get("/incidents").status == 200
    if end == "revoked":
        revoke_token(service.ctx, key.id, "test")
    elif end == "log out":
        word = visit.read("/incidents").all("input", name="word")[0]["value"]
        assert visit.submit("/logout", {"word": word}).headers["location"] == "/login"
        assert not visit.cookie
    else:
        hours = 13 if end == "old" else 2
        moment = datetime.now(UTC) + timedelta(hours=hours)
        monkeypatch.setattr(tokens, "read_utc_now", lambda: moment)
    assert copied.get("/incidents").status == 303


def test_a_form_of_another_session_counts_for_nothing(service: Service) -> None:
    first, second = Visit(service), Visit(service)
    first.log_in("admin")
    second.log_in("admin")
    path = f"/incidents/{service.opened('forms')}/resolution"
    fields = {"category": "gpu"}
    for word in (None, "", second.word(), first.word()[:-1], "é"):
        sent = fields if word is None else {**fields, "word": word}
        assert first.submit(path, sent).status == 403, word
    assert first.submit(path, {**fields, "word": first.word()}).status == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://[::"},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("path", ["/login", "/logout", "/upload/bundle", "resolution"])
def test_a_form_of_another_origin_counts_for_nothing(
    service: Service, headers: dict[str, str], path: str
) -> None:
    visit = Visit(service)
    visit.log_in("admin")
    word, cookie = visit.word(), visit.cookie
    if path == "resolution":
        path = f"/incidents/{service.opened('origins')}/resolution"
    fields = {"word": word, "token": service.tokens["admin"], "category": "gpu"}
    answer = visit.submit(path, fields, **headers, X_Triage_Word=word)
    assert answer.status == 403
    assert visit.cookie == cookie
    assert Visit(service, cookie).get("/incidents").status == 200


@pytest.mark.parametrize(
    ("scope", "path", "status"),
    [
        ("read", "/incidents", 200), ("read", "/queue", 200), ("read", "/upload", 403),
        ("ingest", "/incidents", 403), ("ingest", "/queue", 403), ("ingest", "/upload", 200),
        ("admin", "/incidents", 200), ("admin", "/queue", 200), ("admin", "/upload", 200),
    ],
)  # fmt: skip
def test_a_token_shows_as_far_as_it_reaches(
    service: Service, scope: str, path: str, status: int
) -> None:
    visit = Visit(service)
    visit.log_in(scope)
    assert visit.get(path).status == status
    bearer = {"Authorization": f"Bearer {service.tokens[scope]}"}
    assert Visit(service).get(path, **bearer).status == status


def test_messages_are_shown_to_an_admin_alone(service: Service) -> None:
    for scope, shown in (("read", False), ("admin", True)):
        visit = Visit(service)
        visit.log_in(scope)
        words = visit.read("/queue").words
        assert ("A token with the scope admin shows each" in words) is not shown


def test_a_wrong_bearer_token_gets_a_problem_and_no_page(service: Service) -> None:
    answer = Visit(service).get("/incidents", Authorization="Bearer x")
    assert answer.status == 401
    answer.problem()


def test_a_part_of_a_page_makes_the_whole_of_it_come_again(service: Service) -> None:
    answer = Visit(service).get("/incidents/x/answer", HX_Request="true")
    assert (answer.status, answer.headers["hx-refresh"]) == (204, "true")


@pytest.mark.parametrize("cookie", ["x", "A" * 43, "é" * 43, "A" * 5000, '"' * 43])
def test_a_made_up_cookie_opens_nothing(service: Service, cookie: str) -> None:
    answer = Visit(service, f"triage_session={cookie.encode().decode('latin-1')}").get("/incidents")
    assert answer.status == 303


def test_an_open_service_needs_no_login_and_serves_no_foreign_name(opened: Service) -> None:
    visit = Visit(opened)
    assert visit.get("/login").headers["location"] == "/incidents"
    assert visit.get("/").headers["location"] == "/incidents"
    assert visit.get("/incidents", Host="evil.example").status == 403
    path = f"/incidents/{opened.post('/v1/hooks/job-failed', {'job_id': '1'}, token=None).json()['incident']['id']}/resolution"  # noqa: E501
    word = visit.word()
    assert visit.submit(path, {"category": "gpu"}).status == 403
    foreign = visit.submit(path, {"category": "gpu", "word": word}, Origin="https://evil.example")
    assert foreign.status == 403
    assert visit.submit(path, {"category": "gpu", "word": word}).status == 303
