"""Subscriptions over HTTP: made, listed, removed; messages listed and sent again."""

import pytest

from tests.api.service import Service

URL = "http://127.0.0.1:9/hook"


def test_a_secret_is_shown_once(service: Service) -> None:
    made = service.post("/v1/subscriptions", {"kind": "generic", "url": URL})
    assert made.status == 201
    found = made.json()
    assert found["secret"].startswith("whsec_")
    assert found["events"] == [
        "incident.ready", "incident.revised", "incident.resolved", "incident.failed",
    ]  # fmt: skip
    listed = service.get("/v1/subscriptions?limit=500")
    assert found["secret"] not in listed.body.decode()
    assert found["id"] in {one["id"] for one in listed.json()["items"]}
    assert service.call("DELETE", f"/v1/subscriptions/{found['id']}").status == 204
    assert service.call("DELETE", f"/v1/subscriptions/{found['id']}").status == 404


def test_pages_of_receivers(service: Service) -> None:
    made = [
        service.post("/v1/subscriptions", {"kind": "generic", "url": f"{URL}/{i}"}).json()["id"]
        for i in range(5)
    ]
    seen, cursor = [], ""
    while True:
        page = service.get(f"/v1/subscriptions?limit=2{cursor}").json()
        seen += [one["id"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert [one for one in seen if one in made] == made
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "#/kind"),
        ({"kind": "teams"}, "#/kind"),
        ({"kind": 5}, "#/kind"),
        ({"kind": "generic"}, "#/url"),
        ({"kind": "generic", "url": 5}, "#/url"),
        ({"kind": "generic", "url": "http://example.com/"}, "#/url"),
        ({"kind": "generic", "url": "https://169.254.169.254/latest"}, "#/url"),
        ({"kind": "generic", "url": "https://[::1]/"}, "#/url"),
        ({"kind": "generic", "url": "file:///etc/passwd"}, "#/url"),
        ({"kind": "pagerduty"}, "#/routing_key"),
        ({"kind": "generic", "url": URL, "events": "incident.ready"}, "#/events"),
        ({"kind": "generic", "url": URL, "events": [1]}, "#/events/0"),
        ({"kind": "generic", "url": URL, "events": ["incident.read"]}, "#/events/0"),
        ({"kind": "generic", "url": URL, "secret": "short"}, "#/secret"),
        ({"kind": "generic", "url": URL, "secrets": []}, "#/secrets"),
    ],
    ids=str,
)
def test_a_wrong_subscription_says_where(service: Service, body: dict, place: str) -> None:
    answer = service.post("/v1/subscriptions", body)
    assert answer.status == 422, answer.body
    assert place in {one.get("pointer") for one in answer.problem()["errors"]}


def test_a_message_is_listed_and_sent_again(service: Service) -> None:
    made = service.post("/v1/subscriptions", {"kind": "generic", "url": URL}).json()
    for number in range(3):
        incident = service.opened(f"told-{number}")
        said = service.post(f"/v1/incidents/{incident}/resolution", {"category": "nic"})
        assert said.status == 201
    path = f"/v1/subscriptions/{made['id']}/deliveries"
    first = service.get(f"{path}?limit=2").json()
    rest = service.get(f"{path}?limit=2&cursor={first['next_cursor']}").json()
    rows = first["items"] + rest["items"]
    assert [one["type"] for one in rows] == ["incident.resolved"] * 3
    assert rest["next_cursor"] is None
    again = service.post(f"/v1/deliveries/{rows[0]['id']}/resend")
    assert again.status == 202
    assert (again.json()["id"], again.json()["state"]) == (rows[0]["id"], "pending")
    assert service.get("/v1/subscriptions/sub_0/deliveries").status == 404
