"""``Link: <...>; rel="next"`` (RFC 8288): followed to the end, it is the whole list."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.api.service import Answer, Service
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.work import ReadersHere, do_all
from triage.domain.states import WorkKind

NEXT = re.compile(r'<([^<>"\s]+)>; rel="next"', re.ASCII)
JOB = files_of(GPU_LOST)


@pytest.fixture(scope="module")
def ready(service: Service) -> str:
    """The id of an incident with its final answer."""
    incident = service.opened("links", expected_artifacts=len(JOB))
    path = f"/v1/jobs/links/bundle?incident={incident}"
    assert service.post(path, tar_of(JOB), token="ingest").status == 201
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
    return incident


def followed(service: Service, path: str) -> list[Answer]:
    """The page at this path, and all that its links lead to."""
    found = [service.get(path)]
    while "link" in found[-1].headers:
        assert len(found) < 100
        match = NEXT.fullmatch(found[-1].headers["link"])
        assert match, found[-1].headers["link"]
        found.append(service.get(match[1]))
    assert [page.status for page in found] == [200] * len(found)
    return found


def items_of(pages: list[Answer]) -> list[dict]:
    return [one for page in pages for one in page.json()["items"]]


@pytest.mark.parametrize("part", ["artifacts", "evidence", "collectives"])
def test_the_parts_of_an_incident(service: Service, ready: str, part: str) -> None:
    path = f"/v1/incidents/{ready}/{part}"

    pages = followed(service, f"{path}?limit=1")

    assert len(pages) > 1 or part == "collectives"
    assert items_of(pages) == service.get(f"{path}?limit=500").json()["items"]
    for page in pages:
        assert ("link" in page.headers) == (page.json()["next_cursor"] is not None)


def test_incidents_receivers_and_messages(service: Service, ready: str) -> None:
    for k in range(3):
        service.opened(f"links-{k}")
        url = f"http://127.0.0.1:9/{k}"
        made = service.post("/v1/subscriptions", {"kind": "generic", "url": url})
    path = f"/v1/incidents/{ready}/resolution"
    for category in ("gpu", "nic"):
        assert service.post(path, {"category": category}).status == 201
    for path, least in (
        ("/v1/incidents", 4), ("/v1/subscriptions", 3),
        (f"/v1/subscriptions/{made.json()['id']}/deliveries", 1),
    ):  # fmt: skip
        pages = followed(service, f"{path}?limit=1")
        assert len(pages) >= least
        assert items_of(pages) == service.get(f"{path}?limit=500").json()["items"]


@pytest.mark.parametrize(
    "query",
    [
        "job_id=a%26b%3Dc%23d&limit=1",
        "limit=1&job_id=a%26b%3Dc%23d&state=collecting&since=2020-01-01T00%3A00%3A00Z",
        "job_id=a%26b=c%23d&limit=1",
        "job_id=a%26b=c%23d&%6Cimit=1",
    ],
)
def test_filters_stay_as_they_were(service: Service, query: str) -> None:
    job_id = "a&b=c#d"
    for k in range(3):
        service.opened(job_id, failed_at=f"2026-11-21T0{k}:00:00Z")
    wanted = dict(parse_qsl(query))

    pages = followed(service, f"/v1/incidents?{query}")

    assert len(pages) == 3
    assert {one["job_id"] for one in items_of(pages)} == {job_id}
    for page in pages[:-1]:
        parts = urlsplit(NEXT.fullmatch(page.headers["link"])[1])
        said = dict(parse_qsl(parts.query, strict_parsing=True))
        assert said == {**wanted, "cursor": page.json()["next_cursor"]}


def test_what_an_address_may_not_hold_is_encoded(service: Service) -> None:
    name = "x>;y\"'"
    for k in range(2):
        service.opened(name, failed_at=f"2026-11-21T0{k}:00:00Z")

    pages = followed(service, f"/v1/incidents?job_id={name}&limit=1")

    assert [one["job_id"] for one in items_of(pages)] == [name, name]


def test_the_last_page_and_what_is_no_list_have_none(service: Service, ready: str) -> None:
    for path in ("/v1/incidents?job_id=nobody", f"/v1/incidents/{ready}", "/healthz"):
        assert "link" not in service.get(path).headers
